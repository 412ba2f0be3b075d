"""Gold and the seeds of training on the device."""

from typing import List, NamedTuple, Sequence, Tuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from .assignment import SeedTargets
from .boundaries import overlap, soft_weights
from .module import Spans


class Gold(NamedTuple):
    """Padded gold of a batch, see `GoldGrid`. Columns: (batch, gold)"""

    start: Tensor
    end: Tensor
    label: Tensor

    def best_fit(self, spans: Spans) -> Tuple[Tensor, Tensor]:
        """Pair spans with the gold span of their window that they overlap most.

        RETURNS (Tuple[Tensor, Tensor]): the intersection over union, 0 without any,
            and the label. Shapes: (span,)
        """
        start, end, label = (column[spans.window] for column in self)  # (span, gold)
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


def place_examples(targets: SeedTargets, gold: Gold, eta: float) -> Examples:
    """Put the seeds of training beside the gold that they belong to.

    gold (Gold): the targets' gold, on the device.
    eta (float): see `soft_weights`.
    RETURNS (Examples): one for each seed.
    """
    spans = Spans(*to_device(targets.seeds, gold.start))
    best, iou, positive = to_device(targets[1:4], gold.start)
    row = spans.window, best
    weight = soft_weights(iou, positive, eta)
    return Examples(spans, gold.start[row], gold.end[row], positive, weight)


def to_device(columns: Sequence[NDArray], like: Tensor) -> List[Tensor]:
    """RETURNS (List[Tensor]): the columns on the device of another tensor."""
    return [torch.as_tensor(column, device=like.device) for column in columns]
