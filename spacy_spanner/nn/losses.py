"""Losses on the scores of cells, with targets that are mostly "no entity"."""

from torch import Tensor
from torch.nn import functional as F


def sparse_soft_cross_entropy(
    logits: Tensor, cell: Tensor, label: Tensor, mass: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Cross entropy against soft targets that are given by their entity part.

    A cell's targets are the masses of its labels, and the rest for "no entity", so
    -Σ_c y_c log p_c = -log p_0 - Σ_labels mass (log p_label - log p_0).

    logits (Tensor): class 0 is "no entity". Shape: (cell, class)
    cell, label (Tensor): where the mass lies; labels start at 0. Shape: (entry,)
    mass (Tensor): target probability there. Shape: (entry,)
    smoothing (float): share of each cell's target that is spread over all classes.
    RETURNS (Tensor): the sum over cells, a scalar.
    """
    log_p = logits.log_softmax(dim=-1)
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
