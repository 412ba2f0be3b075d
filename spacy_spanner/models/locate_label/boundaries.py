"""Spans on the device: the gold that they fit best, and moving their boundaries."""

from typing import NamedTuple, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ..blocks.padded_rows import GoldTensors, to_device
from .assignment import SeedTargets
from .module import Spans


def overlap(start: Tensor, end: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Compute the overlap of Equation 15: shared tokens as a share of the hull.

    For spans that overlap, this is the intersection over union; for others it is
    negative and falls with their distance. Boundaries may be fractions; shapes must
    broadcast.

    start, end, starts, ends (Tensor): spans with exclusive ends.
    RETURNS (Tensor): 1 for equal spans.
    """
    shared = torch.minimum(end, ends) - torch.maximum(start, starts)
    hull = torch.maximum(end, ends) - torch.minimum(start, starts)
    return shared / hull.clamp(min=1)


def soft_weights(iou: Tensor, positive: Tensor, eta: float) -> Tensor:
    """Weigh examples by how clear they are (Equation 11).

    iou (Tensor): of each span with the gold span that it fits best. Shape: (span,)
    positive (Tensor): whether it counts as an entity. Shape: (span,)
    eta (float): η; 0 gives every example the weight 1.
    RETURNS (Tensor): IoU^η for positives, (1 - IoU)^η for negatives. Shape: (span,)
    """
    return iou.where(positive, 1 - iou) ** eta


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


def place_examples(
    targets: SeedTargets, device: torch.device, eta: float
) -> Tuple[GoldTensors, Examples]:
    """Pair the seeds of training with the gold that they fit best.

    device (torch.device): where to compare them, to which all is copied at once.
    eta (float): see `soft_weights`.
    RETURNS (Tuple[GoldTensors, Examples]): the gold, and an example for each seed.
    """
    columns = to_device([*targets.grid, *targets.seeds, *targets[1:4]], device)
    gold, spans = GoldTensors(*columns[:4]), Spans(*columns[4:7])
    best, iou, positive = columns[7:]
    row = spans.window, best
    weight = soft_weights(iou, positive, eta)
    return gold, Examples(spans, gold.start[row], gold.end[row], positive, weight)


def adjust(spans: Spans, offsets: Tensor, lengths: Tensor) -> Spans:
    """Move boundaries by offsets, to the nearest token inside the window (Equation 8).

    offsets (Tensor): of start and last, in tokens. Shape: (span, 2)
    lengths (Tensor): tokens per window. Shape: (batch,)
    RETURNS (Spans): the moved spans; a span that would be empty is not moved.
    """
    length = lengths[spans.window]
    offsets = offsets.float().nan_to_num()  # bfloat16 is exact up to 256 only
    start, last = (
        # Clamped, because large offsets do not fit into an integer.
        torch.minimum((place + offset + 0.5).floor().clamp(min=-1), length).long()
        for place, offset in zip(spans[1:], offsets.unbind(dim=1))
    )
    start, last = start.clamp(min=0), torch.minimum(last, length - 1)
    possible = start <= last
    return Spans(
        spans.window,
        start.where(possible, spans.start),
        last.where(possible, spans.last),
    )


def distinct(spans: Spans, n_tokens: int) -> Spans:
    """RETURNS (Spans): each once, in the order window, start, last."""
    key = torch.unique((spans.window * n_tokens + spans.start) * n_tokens + spans.last)
    first = key.div(n_tokens, rounding_mode="floor")
    return Spans(
        first.div(n_tokens, rounding_mode="floor"), first % n_tokens, key % n_tokens
    )


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
