"""Losses on the scores of cells, with targets that are mostly "no entity".

Where annotation is incomplete, a cell without annotation may be an entity that is
missing. If the share m of the entities of a label is missing, nothing is annotated with
the probability p_0 + Σ m p_label: its logarithm takes the place of log p_0, which is
the case m = 0. With m = 1, missing annotation says nothing.
"""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F


def sparse_soft_cross_entropy(
    logits: Tensor,
    cell: Tensor,
    label: Tensor,
    mass: Tensor,
    smoothing: float = 0.0,
    weight: Optional[Tensor] = None,
    missing: Optional[Tensor] = None,
) -> Tensor:
    """Cross entropy with soft targets that are mostly "no entity".

    A cell's targets are the masses of its labels, and the rest is "no entity", so
    -Σ_c y_c log p_c = -log p_0 - Σ_labels mass (log p_label - log p_0).

    logits (Tensor): class 0 is "no entity". Shape: (cell, class)
    cell, label (Tensor): entries with mass; labels start at 0. Shape: (entry,)
    mass (Tensor): target probability of each entry. Shape: (entry,)
    smoothing (float): share of each cell's target that is spread over all classes.
    weight (Optional[Tensor]): of each cell, 1 if None. Shape: (cell,)
    missing (Optional[Tensor]): share of entities without annotation, 0 if None. Shape:
        (cell, label), or (cell, 1) for all labels.
    RETURNS (Tensor): the sum over cells, a scalar.
    """
    if missing is None:
        loss: Tensor = SparseCrossEntropy.apply(
            logits, cell, label, mass, smoothing, weight
        )
        return loss
    log_p = logits.log_softmax(dim=-1)
    unsaid = log_unsaid(log_p, missing)
    if weight is not None:
        log_p, unsaid = log_p * weight[:, None], unsaid * weight
    gain = log_p[cell, label + 1] - unsaid[cell]
    loss = -unsaid.sum() - (mass * gain).sum()
    if smoothing:
        uniform = -log_p.mean(dim=-1).sum()
        loss = (1 - smoothing) * loss + smoothing * uniform
    return loss


def log_unsaid(log_p: Tensor, missing: Optional[Tensor]) -> Tensor:
    """Compute log(p_0 + Σ m p_label), the probability that nothing is annotated.

    log_p (Tensor): class 0 is "no entity". Shape: (cell, class)
    missing (Optional[Tensor]): m, 0 if None. Shape: (cell, label) or (cell, 1)
    RETURNS (Tensor): (cell,)
    """
    if missing is None:
        return log_p[:, 0]
    shared = log_p[:, 1:] + missing.log()
    return torch.cat([log_p[:, :1], shared], dim=1).logsumexp(dim=1)


def log_unsaid_binary(logits: Tensor, missing: Tensor) -> Tensor:
    """RETURNS (Tensor): log(1 - p + m p) of sigmoids, in the shape of the logits."""
    return F.softplus(logits + missing.log()) - F.softplus(logits)


class SparseCrossEntropy(torch.autograd.Function):
    """The cross entropy of `sparse_soft_cross_entropy`.

    There are few classes: with the cells in a row for each class, a softmax takes a
    tenth of the time. The gradient is the softmax minus the targets, so that nothing
    else of the size of the scores is made.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        cell: Tensor,
        label: Tensor,
        mass: Tensor,
        smoothing: float,
        weight: Optional[Tensor],
    ) -> Tensor:
        """See `sparse_soft_cross_entropy`."""
        log_p = logits.T.log_softmax(dim=0)  # (class, cell)
        n_classes, n_cells = log_p.shape
        # The targets that differ from "no entity", in the flat scores.
        index = torch.cat([(label + 1) * n_cells + cell, cell])
        moved = torch.cat([mass, -mass]).to(log_p.dtype) * (1 - smoothing)
        spread = log_p.new_full((n_classes, 1), smoothing / n_classes)
        spread[0] += 1 - smoothing
        ctx.save_for_backward(log_p, index, moved, spread, weight)
        if weight is not None:
            log_p = log_p * weight
        gained = (moved * log_p.flatten()[index]).sum()
        return -(spread[:, 0] * log_p.sum(dim=1)).sum() - gained

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:  # type: ignore[override]  # torch types it as open
        """RETURNS (Tuple): the gradient of the scores, (cell, class)."""
        log_p, index, moved, spread, weight = ctx.saved_tensors
        d_logits = log_p.exp() - spread
        d_logits.view(-1).index_add_(0, index, -moved)
        d_logits *= gradient if weight is None else gradient * weight
        return d_logits.T, None, None, None, None, None


def sparse_binary_cross_entropy(
    logits: Tensor,
    cell: Tensor,
    label: Tensor,
    mass: Tensor,
    smoothing: float = 0.0,
    missing: Optional[Tensor] = None,
) -> Tensor:
    """Binary cross entropy of every (cell, label), with targets that are mostly 0.

    -y log σ(s) - (1 - y) log σ(-s) = softplus(s) - y s.

    logits (Tensor): Shape: (cell, label)
    cell, label, mass (Tensor): the targets that are not 0. Shape: (entry,)
    smoothing (float): targets are moved this far towards 1/2.
    missing (Optional[Tensor]): share of entities without annotation, 0 if None. Shape:
        (cell, label)
    RETURNS (Tensor): the sum over cells and labels, a scalar.
    """
    if missing is not None:
        unsaid = log_unsaid_binary(logits, missing)
        gain = F.logsigmoid(logits) - unsaid
        entities = (1 - smoothing) * (mass * gain[cell, label]).sum()
        return -unsaid.sum() - entities - smoothing / 2 * gain.sum()
    loss = (
        F.softplus(logits).sum() - (1 - smoothing) * (mass * logits[cell, label]).sum()
    )
    if smoothing:
        loss = loss - smoothing / 2 * logits.sum()
    return loss


def focal_binary_cross_entropy(
    logits: Tensor,
    positive: Tensor,
    weight: Tensor,
    gamma: float = 0.0,
    missing: Optional[Tensor] = None,
) -> Tensor:
    """Binary cross entropy with less weight on easy examples (Lin et al. 2017).

    logits, positive, weight (Tensor): scores, targets, weights. Shape: (span,)
    gamma (float): γ; 0 gives the plain cross entropy.
    missing (Optional[Tensor]): share of positives without annotation, 0 if None. Shape:
        (span,)
    RETURNS (Tensor): Σ weight (1 - p)^γ (-log p), p the probability of the target.
    """
    log_p = F.logsigmoid(logits.where(positive, -logits))
    if missing is not None:
        log_p = log_p.where(positive, log_unsaid_binary(logits, missing))
    return _focal(log_p, weight, gamma)


def focal_cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor,
    gamma: float = 0.0,
    missing: Optional[Tensor] = None,
) -> Tensor:
    """Cross entropy with less weight on easy examples (Lin et al. 2017).

    logits (Tensor): (span, class)
    target, weight (Tensor): the right class, and a weight. Shape: (span,)
    gamma (float): γ; 0 gives the plain cross entropy.
    missing (Optional[Tensor]): share of entities without annotation, 0 if None. Shape:
        (span, label)
    RETURNS (Tensor): Σ weight (1 - p)^γ (-log p), p the probability of the target.
    """
    classes = logits.log_softmax(dim=-1)
    log_p = classes.gather(-1, target[:, None])[:, 0]
    if missing is not None:
        log_p = log_p.where(target > 0, log_unsaid(classes, missing))
    return _focal(log_p, weight, gamma)


def _focal(log_p: Tensor, weight: Tensor, gamma: float) -> Tensor:
    if gamma:
        # Above 0, where a power below 1 has an infinite slope.
        weight = weight * (1 - log_p.exp()).clamp(min=1e-6) ** gamma
    return -(weight * log_p).sum()
