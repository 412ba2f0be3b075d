"""The seeds of training on the device, and the gold that they fit best."""

from typing import NamedTuple, Tuple

from torch import Tensor

from ..blocks.padded_gold import GoldTensors
from ..blocks.padded_rows import to_device
from .assignment import SeedTargets
from .boundaries import overlap, soft_weights
from .module import Spans


def best_fit(spans: Spans, gold: GoldTensors) -> Tuple[Tensor, Tensor]:
    """Pair spans with the gold span of their window that they overlap most.

    RETURNS (Tuple[Tensor, Tensor]): the intersection over union, 0 without any gold,
        and the label. Shapes: (span,)
    """
    start, end, label = (column[spans.window] for column in gold[:3])  # (span, gold)
    fit = overlap(spans.start[:, None], spans.last[:, None] + 1, start, end)
    iou, best = fit.clamp(min=0).max(dim=1)
    return iou, label.gather(1, best[:, None])[:, 0]


class Examples(NamedTuple):
    """Seeds in training, with the gold span that each fits best.

    spans (Spans): columns (seed,)
    start, end (Tensor): the gold span. Shape: (seed,)
    positive (Tensor): whether it fits well enough. Shape: (seed,)
    weight (Tensor): see `soft_weights`. Shape: (seed,)
    """

    spans: Spans
    start: Tensor
    end: Tensor
    positive: Tensor
    weight: Tensor

    def take(self, rows: Tensor) -> "Examples":
        """RETURNS (Examples): the rows with these numbers."""
        return Examples(self.spans.take(rows), *(column[rows] for column in self[1:]))


def place_examples(targets: SeedTargets, gold: GoldTensors, eta: float) -> Examples:
    """Pair the seeds of training with the gold that they fit best.

    gold (GoldTensors): the gold of the targets.
    eta (float): see `soft_weights`.
    RETURNS (Examples): one for each seed.
    """
    spans = Spans(*to_device(targets.seeds, gold.start.device))
    best, iou, positive = to_device(targets[1:4], gold.start.device)
    row = spans.window, best
    weight = soft_weights(iou, positive, eta)
    return Examples(spans, gold.start[row], gold.end[row], positive, weight)
