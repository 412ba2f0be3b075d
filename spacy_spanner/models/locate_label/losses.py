"""The losses of the two stages, and the weights of what they learn from."""

from typing import NamedTuple, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..blocks.cell_losses import focal_binary_cross_entropy
from ..blocks.padded_rows import to_device
from ..codec import WindowBatch
from .assignment import SeedTargets
from .boundaries import best_fit, overlap
from .module import Spans


class Examples(NamedTuple):
    """Seeds in training, with the gold span that each fits best.

    numbers (Tensor): window, start and last of the seed, start and end of the gold
        span, and whether that fits well enough. Shape: (6, seed)
    weight (Tensor): see `soft_weights`. Shape: (seed,)
    """

    numbers: Tensor
    weight: Tensor

    @property
    def spans(self) -> Spans:
        """The seeds."""
        return Spans(*self.numbers[:3])

    @property
    def positive(self) -> Tensor:
        """Whether the gold span fits well enough. Shape: (seed,)"""
        return self.numbers[5].bool()

    def take(self, rows: Tensor) -> "Examples":
        """RETURNS (Examples): the rows with these numbers."""
        numbers = self.numbers.index_select(1, rows)
        return Examples(numbers, self.weight.index_select(0, rows))


def place_examples(
    targets: SeedTargets, device: torch.device, eta: float
) -> Tuple[Tensor, Examples]:
    """Pair the seeds of training with the gold that they fit best.

    device (torch.device): where to compare them, to which all is copied at once.
    eta (float): see `soft_weights`.
    RETURNS (Tuple[Tensor, Examples]): the gold as in `best_fit`, and an example for
        each seed.
    """
    grid, seeds, positive = targets.grid, targets.seeds, targets.positive
    row = seeds.window, targets.gold
    numbers = np.stack([*seeds, grid.start[row], grid.end[row], positive])
    weight = soft_weights(torch.as_tensor(targets.iou), torch.as_tensor(positive), eta)
    gold = np.stack([grid.start, grid.end, grid.label])
    placed, *columns = to_device([gold, numbers, weight.numpy()], device)
    return placed, Examples(*columns)


def soft_weights(iou: Tensor, positive: Tensor, eta: float) -> Tensor:
    """Weigh examples by how clear they are (Equation 11).

    iou (Tensor): of each span with the gold span that it fits best. Shape: (span,)
    positive (Tensor): whether it counts as an entity. Shape: (span,)
    eta (float): η; 0 gives every example the weight 1.
    RETURNS (Tensor): IoU^η for positives, (1 - IoU)^η for negatives. Shape: (span,)
    """
    if not eta:
        return torch.ones_like(iou)
    return iou.where(positive, 1 - iou) ** eta


def filter_loss(
    logits: Tensor, examples: Examples, batch: WindowBatch, focus: float
) -> Tensor:
    """Compare the scores of the filter with whether seeds fit an entity.

    logits (Tensor): (seed,)
    focus (float): γ of the focal loss.
    RETURNS (Tensor): the weighted sum, a scalar.
    """
    missing = batch.missing_at(*examples.spans)
    if missing is not None:  # an entity of any label would be positive
        missing = missing.amax(dim=-1)
    return focal_binary_cross_entropy(
        logits, examples.positive, examples.weight, focus, missing
    )


def offset_loss(examples: Examples, offsets: Tensor, *, weigh: bool) -> Tensor:
    """Compare moved seeds with gold.

    offsets (Tensor): as predicted. Shape: (seed, 2)
    weigh (bool): whether the weights of the examples count.
    RETURNS (Tensor): the sum over positive seeds, a scalar.
    """
    # The others weigh nothing: a GPU would have to wait to leave them out.
    start, end, positive = examples.numbers[3:]
    weight = positive.float() * (examples.weight if weigh else 1)
    return regression_loss(examples.spans, offsets, start, end, weight)


def regression_loss(
    spans: Spans, offsets: Tensor, start: Tensor, end: Tensor, weight: Tensor
) -> Tensor:
    """Compare moved spans with gold: smooth L1 of both offsets, and 1 - overlap.

    spans (Spans): positive seeds. Columns: (span,)
    offsets (Tensor): as predicted, not rounded. Shape: (span, 2)
    start, end (Tensor): the gold span of each. Shape: (span,)
    weight (Tensor): (span,)
    RETURNS (Tensor): the weighted sum (Equations 14 and 15), a scalar.
    """
    moved_start = spans.start + offsets[:, 0]
    moved_end = spans.last + 1 + offsets[:, 1]
    distance = F.smooth_l1_loss(
        offsets,
        torch.stack([start - spans.start, end - spans.last - 1], 1).to(offsets),
        reduction="none",
    ).sum(dim=1)  # (span,)
    shared = overlap(moved_start, moved_end, start.to(offsets), end.to(offsets))
    return (weight * (distance + 1 - shared)).sum()


def class_targets(
    spans: Spans, gold: Tensor, entity_iou: float, eta: float
) -> Tuple[Tensor, Tensor]:
    """Find what the classifier should say about adjusted spans.

    gold (Tensor): see `best_fit`.
    entity_iou (float): α2, the intersection over union of an entity.
    eta (float): see `soft_weights`.
    RETURNS (Tuple[Tensor, Tensor]): classes, 0 for "no entity", and weights. (span,)
    """
    iou, label = best_fit(spans, gold)
    positive = (iou >= entity_iou) & (iou > 0)
    return (label + 1) * positive, soft_weights(iou, positive, eta)
