"""Losses on the scores of cells, with targets that are mostly "no entity"."""

from typing import Optional

from torch import Tensor
from torch.nn import functional as F


def sparse_soft_cross_entropy(
    logits: Tensor,
    cell: Tensor,
    label: Tensor,
    mass: Tensor,
    smoothing: float = 0.0,
    weight: Optional[Tensor] = None,
) -> Tensor:
    """Cross entropy with soft targets that are mostly "no entity".

    A cell's targets are the masses of its labels, and the rest is "no entity", so
    -Σ_c y_c log p_c = -log p_0 - Σ_labels mass (log p_label - log p_0).

    logits (Tensor): class 0 is "no entity". Shape: (cell, class)
    cell, label (Tensor): entries with mass; labels start at 0. Shape: (entry,)
    mass (Tensor): target probability of each entry. Shape: (entry,)
    smoothing (float): share of each cell's target that is spread over all classes.
    weight (Optional[Tensor]): of each cell, 1 if None. Shape: (cell,)
    RETURNS (Tensor): the sum over cells, a scalar.
    """
    log_p = logits.log_softmax(dim=-1)
    if weight is not None:
        log_p = log_p * weight[:, None]
    gain = log_p[cell, label + 1] - log_p[cell, 0]
    loss = -log_p[:, 0].sum() - (mass * gain).sum()
    if smoothing:
        uniform = -log_p.mean(dim=-1).sum()
        loss = (1 - smoothing) * loss + smoothing * uniform
    return loss


def sparse_binary_cross_entropy(
    logits: Tensor, cell: Tensor, label: Tensor, mass: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Binary cross entropy of every (cell, label), with targets that are mostly 0.

    -y log σ(s) - (1 - y) log σ(-s) = softplus(s) - y s.

    logits (Tensor): Shape: (cell, label)
    cell, label, mass (Tensor): the targets that are not 0. Shape: (entry,)
    smoothing (float): targets are moved this far towards 1/2.
    RETURNS (Tensor): the sum over cells and labels, a scalar.
    """
    loss = (
        F.softplus(logits).sum() - (1 - smoothing) * (mass * logits[cell, label]).sum()
    )
    if smoothing:
        loss = loss - smoothing / 2 * logits.sum()
    return loss


def focal_binary_cross_entropy(
    logits: Tensor, positive: Tensor, weight: Tensor, gamma: float = 0.0
) -> Tensor:
    """Binary cross entropy with less weight on easy examples (Lin et al. 2017).

    logits, positive, weight (Tensor): scores, targets, weights. Shape: (span,)
    gamma (float): γ; 0 gives the plain cross entropy.
    RETURNS (Tensor): Σ weight (1 - p)^γ (-log p), p the probability of the target.
    """
    return _focal(F.logsigmoid(logits.where(positive, -logits)), weight, gamma)


def focal_cross_entropy(
    logits: Tensor, target: Tensor, weight: Tensor, gamma: float = 0.0
) -> Tensor:
    """Cross entropy with less weight on easy examples (Lin et al. 2017).

    logits (Tensor): (span, class)
    target, weight (Tensor): the right class, and a weight. Shape: (span,)
    gamma (float): γ; 0 gives the plain cross entropy.
    RETURNS (Tensor): Σ weight (1 - p)^γ (-log p), p the probability of the target.
    """
    log_p = logits.log_softmax(dim=-1).gather(-1, target[:, None])[:, 0]
    return _focal(log_p, weight, gamma)


def _focal(log_p: Tensor, weight: Tensor, gamma: float) -> Tensor:
    if gamma:
        # Above 0, where a power below 1 has an infinite slope.
        weight = weight * (1 - log_p.exp()).clamp(min=1e-6) ** gamma
    return -(weight * log_p).sum()
