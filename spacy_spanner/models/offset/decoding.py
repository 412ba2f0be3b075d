"""Decode entities from cells: centers, and votes of the cells around them.

Every cell whose probability of a class reaches the threshold points at one span. The
pointers at a span form a row: its own cell ("center"), and the cells around it by
distance, side and sign. By the paper's rules, an offset counts if it points at a
predicted center, or if the ordered run of its neighbours confirms it. A run consists of
the cells at distances 1, 2, ... from the span on one side and in one direction that all
point at it; the runs of a side in both directions must have at least S cells together.
"""

from typing import NamedTuple

from torch import Tensor

from ...spans.table import Ints
from ..blocks.padded_rows import rows_of, to_device
from ..scored_spans import Candidates
from .offsets import OffsetClasses

DECODINGS = ("centers_only", "votes", "all_votes")


class Pointers(NamedTuple):
    """Spans that cells point at; `span` columns `(span,)`.

    votes (Tensor): the probability with which each cell points at the span: first its
        own cell, then the offsets in the order of their classes; 0 below the threshold.
        Shape: (span, class - 1)
    """

    window: Tensor
    start: Tensor
    last: Tensor
    label: Tensor
    votes: Tensor


def collect_pointers(
    probabilities: Tensor,
    window: Tensor,
    start: Tensor,
    last: Tensor,
    *,
    lengths: Ints,
    thresholds: Tensor,
    classes: OffsetClasses,
) -> Pointers:
    """Group the cells of a batch by the span that they point at.

    probabilities (Tensor): of the classes from the center on.
        Shape: (cell, label, class - 1)
    window, start, last (Tensor): the cells. Shapes: (cell,)
    lengths (Ints): tokens per window, on the host. Shape: (batch,)
    thresholds (Tensor): less probable classes are ignored, by label. Shape: (label,)
    classes (OffsetClasses): the offsets of the classes.
    RETURNS (Pointers): one row for each span and label that anything points at.
    """
    reaches = probabilities >= thresholds[:, None]
    cell, label, offset = reaches.nonzero(as_tuple=True)
    sizes, *moves = to_device([lengths, *classes.moves], start.device)
    move_start, move_last = (move.index_select(0, offset) for move in moves)
    window, start, last = window[cell], start[cell] - move_start, last[cell] - move_last
    end_of_window = sizes.index_select(0, window)
    inside = (start >= 0) & (start <= last) & (last < end_of_window)
    # One number for each span: sorting these is much faster than sorting tuples.
    size, n_labels = int(lengths.max()), probabilities.shape[1]
    key = ((window * size + start) * size + last) * n_labels + label
    kept = rows_of(inside)
    spans, row = key[kept].unique(return_inverse=True)
    votes = probabilities.new_zeros(len(spans), probabilities.shape[2])
    cell, label, offset = cell[kept], label[kept], offset[kept]
    votes[row, offset] = probabilities[cell, label, offset]
    cell, label = spans // n_labels, spans % n_labels
    return Pointers(cell // size**2, cell // size % size, cell % size, label, votes)


def decode_all_votes(pointers: Pointers) -> Candidates:
    """RETURNS (Candidates): every span with a pointer, scored by the most probable."""
    return _scored(pointers, pointers.votes.amax(dim=1))


def decode_votes(pointers: Pointers, classes: OffsetClasses) -> Candidates:
    """Apply the two rules.

    RETURNS (Candidates): predicted centers with their probability, and spans that are
        confirmed by votes, with the mean probability of the confirming votes.
    """
    center, votes = pointers.votes[:, 0], pointers.votes[:, 1:]
    shape = (classes.max_offset, len(classes.used_sides), 2)
    votes = votes.unflatten(1, shape)  # (span, distance, side, sign)
    run = (votes > 0).cumprod(dim=1)
    size = run.sum(dim=(1, 3))  # (span, side)
    mean = (votes * run).sum(dim=(1, 3)) / size.clamp(min=1)
    confirmed = mean.where(size >= classes.max_offset, 0.0).amax(dim=1)
    return _scored(pointers, center.where(center > 0, confirmed))


def _scored(pointers: Pointers, score: Tensor) -> Candidates:
    """RETURNS (Candidates): the spans whose score is not 0."""
    found = rows_of(score > 0)
    window, start, last, label = (column[found] for column in pointers[:4])
    return Candidates(window, start, last + 1, label, score[found])
