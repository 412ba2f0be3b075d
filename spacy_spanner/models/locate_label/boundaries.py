"""Spans on the device: the gold that they fit best, and moving their boundaries."""

from typing import Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...spans.table import Ints
from ..blocks.constants import constant
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
    hull = (end - start) + (ends - starts) - shared
    return shared / hull.clamp(min=1)


def best_fit(spans: Spans, gold: Tensor) -> Tuple[Tensor, Tensor]:
    """Pair spans with the gold span of their window that they overlap most.

    gold (Tensor): start, end and label of all gold spans. Shape: (3, batch, gold)
    RETURNS (Tuple[Tensor, Tensor]): the intersection over union, 0 without any gold,
        and the label. Shapes: (span,)
    """
    start, end, label = gold.index_select(1, spans.window)  # (span, gold)
    fit = overlap(spans.start[:, None], spans.last[:, None] + 1, start, end)
    iou, best = fit.clamp(min=0).max(dim=1)
    return iou, label.gather(1, best[:, None])[:, 0]


def adjust(spans: Spans, offsets: Tensor, lengths: Tensor) -> Spans:
    """Move boundaries by offsets, to the nearest token inside the window (Equation 8).

    offsets (Tensor): of start and last, in tokens. Shape: (span, 2)
    lengths (Tensor): tokens per window. Shape: (batch,)
    RETURNS (Spans): the moved spans; a span that would be empty is not moved.
    """
    edges = constant(_edges, device=offsets.device)
    length = lengths.index_select(0, spans.window) + edges  # (2, span)
    offsets = offsets.float().nan_to_num()  # bfloat16 is exact up to 256 only
    places = torch.stack(spans[1:])
    # Clamped, because large offsets do not fit into an integer.
    moved = (places + offsets.T + 0.5).floor().clamp(edges, length).long()
    moved = moved.where(moved[0] <= moved[1], places)
    return Spans(spans.window, *moved)


def _edges() -> Ints:
    """RETURNS (Ints): the lowest start, and last token of an empty span. (2, 1)"""
    return np.asarray([[0], [-1]])


def distinct(spans: Spans, n_tokens: int) -> Spans:
    """RETURNS (Spans): each once, in the order window, start, last."""
    key = torch.unique(_keys(spans, n_tokens))
    first = key.div(n_tokens, rounding_mode="floor")
    return Spans(
        first.div(n_tokens, rounding_mode="floor"), first % n_tokens, key % n_tokens
    )


def distinct_or_marked(spans: Spans, n_tokens: int) -> Tuple[Spans, Optional[Tensor]]:
    """Drop repeated spans; on a GPU, which would have to wait for their number, mark
    them.

    RETURNS (Tuple[Spans, Optional[Tensor]]): spans in the order window, start, last,
        and True for the first of equals, or None if there are none. Shape: (span,)
    """
    if spans.window.is_cpu:
        return distinct(spans, n_tokens), None
    key, order = _keys(spans, n_tokens).sort()
    is_first = F.pad(key[1:] != key[:-1], (1, 0), value=True)
    return spans.take(order), is_first[: len(key)]


def _keys(spans: Spans, n_tokens: int) -> Tensor:
    """RETURNS (Tensor): a number for each span, in their order. (span,)"""
    return (spans.window * n_tokens + spans.start) * n_tokens + spans.last
