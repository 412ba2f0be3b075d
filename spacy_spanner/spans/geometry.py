"""The geometry of spans: which spans a window has, and how two spans lie. Numpy only.

A cell is `(start, last)` with both ends inclusive, a span `(start, end)` with
`end = last + 1`.
"""

from typing import NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from .table import Ints

IntLike = Union[int, Ints]


class SpanCells(NamedTuple):
    """The spans of a batch of windows that a model scores, each column `(cell,)`."""

    window: Ints
    start: Ints
    last: Ints


def enumerate_spans(lengths: Ints, max_width: Optional[int] = None) -> SpanCells:
    """List every span of every window, in the order window, start, last.

    lengths (Ints): tokens per window. Shape: (batch,)
    max_width (Optional[int]): leave out spans of more tokens.
    RETURNS (SpanCells): the upper triangle (or band) of each window.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    longest = int(lengths.max(initial=0))
    widest = longest if max_width is None else min(max_width, longest)
    # By width rather than by end: a table of starts and ends would be mostly empty.
    last = np.arange(longest)[:, None] + np.arange(widest)  # (start, width)
    window, start, further = np.nonzero(last[None] < lengths[:, None, None])
    return SpanCells(window, start, start + further)


def enumerate_grid(lengths: Ints) -> SpanCells:
    """List every pair of tokens of every window, in the order window, start, last.

    lengths (Ints): tokens per window. Shape: (batch,)
    RETURNS (SpanCells): both triangles of each window; those with start > last are no
        spans.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    token = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    return SpanCells(*np.nonzero(token[:, :, None] & token[:, None, :]))


def find_cells(cells: SpanCells, window: Ints, start: Ints, last: Ints) -> Ints:
    """Find spans among enumerated cells.

    cells (SpanCells): in the order of `enumerate_spans`.
    window, start, last (Ints): spans, each of which is one of the cells. Shape: (span,)
    RETURNS (Ints): the index of the cell of each span. Shape: (span,)
    """
    size = int(cells.last.max(initial=0)) + 1

    def key(window: Ints, start: Ints, last: Ints) -> Ints:
        return (window * size + start) * size + last

    return np.searchsorted(key(*cells), key(window, start, last))


def diamond(distance: int) -> Tuple[Ints, Ints]:
    """List the boundary moves of exactly this Manhattan distance.

    RETURNS (Tuple[Ints, Ints]): moves of start and of last, 4 × distance of each.
    """
    step = np.arange(distance)
    start = np.concatenate([step, distance - step, -step, step - distance])
    last = np.concatenate([distance - step, -step, step - distance, step])
    return start, last


def iou(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> NDArray:
    """RETURNS (NDArray): intersection over union of `(start, end)` and each span."""
    hull = np.maximum(end, ends) - np.minimum(start, starts)
    shared = np.minimum(end, ends) - np.maximum(start, starts)
    return np.maximum(shared, 0) / np.maximum(hull, 1)
