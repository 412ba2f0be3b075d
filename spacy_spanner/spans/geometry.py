"""The mathematics of spans: enumeration, order, conflicts, selection. Numpy only.

This is the one place where inclusive and exclusive ends meet: a grid cell is
`(start, last)`, a span `(start, end)` with `end = last + 1`.
"""

from typing import NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from .table import Bools, Floats, Ints, SpanTable

OVERLAP_POLICIES = ("flat", "nested", "any")

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
    # A table of starts and widths, for one of starts and ends is mostly no band.
    last = np.arange(longest)[:, None] + np.arange(widest)  # (start, width)
    window, start, further = np.nonzero(last[None] < lengths[:, None, None])
    return SpanCells(window, start, start + further)


def find_cells(cells: SpanCells, window: Ints, start: Ints, last: Ints) -> Ints:
    """Find spans among enumerated cells.

    cells (SpanCells): in the order of `enumerate_spans`.
    window, start, last (Ints): spans that are among them. Shape: (span,)
    RETURNS (Ints): the cell of each. Shape: (span,)
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


def overlaps(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): which of the spans share a token with `(start, end)`."""
    return (starts < end) & (start < ends)


def crosses(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): which of the spans overlap `(start, end)` without nesting."""
    return ((starts < start) & (start < ends) & (ends < end)) | (
        (start < starts) & (starts < end) & (end < ends)
    )


def iou(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> NDArray:
    """RETURNS (NDArray): shared tokens of two spans as a share of those of both."""
    hull = np.maximum(end, ends) - np.minimum(start, starts)
    shared = np.minimum(end, ends) - np.maximum(start, starts)
    return np.maximum(shared, 0) / np.maximum(hull, 1)


def conflicts(
    start: IntLike, end: IntLike, starts: Ints, ends: Ints, policy: str
) -> Bools:
    """Tell which spans may not stand beside `(start, end)`.

    policy (str): "flat" (no shared token), "nested" (no crossing) or "any".
    RETURNS (Bools): True where the policy forbids the pair.
    """
    if policy == "flat":
        return overlaps(start, end, starts, ends)
    if policy == "nested":
        return crosses(start, end, starts, ends)
    return np.zeros(np.shape(starts), dtype=bool)


def in_document_order(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): sorted by start, then longer first, then label."""
    return spans.take(np.lexsort((spans.label, -spans.end, spans.start)))


def by_preference(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): sorted by score (best first), then start, end, label."""
    return spans.take(preference_order(spans))


def preference_order(spans: SpanTable) -> Ints:
    """RETURNS (Ints): rows by score (best first), then start, end, label. (span,)"""
    score = _without_noise(spans.score)
    return np.lexsort((spans.label, spans.end, spans.start, -score))


def by_length(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): longest first, then by score, then start, label."""
    width, score = spans.end - spans.start, _without_noise(spans.score)
    return spans.take(np.lexsort((spans.label, spans.start, -score, -width)))


def _without_noise(score: Floats) -> Floats:
    """Round, so that ties are ties: the same text in another batch scores otherwise in
    the seventh digit, and that must not decide which of two spans stays.
    """
    return np.round(score, 4)


def repeats(spans: SpanTable) -> Bools:
    """RETURNS (Bools): spans whose boundaries an earlier one has. (span,)"""
    keys = np.stack([spans.start, spans.end])
    repeated = np.ones(spans.n_spans, dtype=bool)
    repeated[np.unique(keys, axis=1, return_index=True)[1]] = False
    return repeated


def merge_duplicates(spans: SpanTable) -> SpanTable:
    """Keep the best score of each (start, end, label).

    RETURNS (SpanTable): one row for each, sorted by start, end, label.
    """
    order = np.lexsort((-spans.score, spans.label, spans.end, spans.start))
    spans = spans.take(order)
    key = np.stack([spans.start, spans.end, spans.label])
    first = np.ones(spans.n_spans, dtype=bool)
    first[1:] = np.any(key[:, 1:] != key[:, :-1], axis=0)
    return spans.take(first)


def resolve_overlaps(spans: SpanTable, policy: str) -> SpanTable:
    """Choose the spans that may stand together; the higher score wins.

    Ties go to the earlier start, then the earlier end, then the lower label.

    spans (SpanTable): candidates, in any order.
    policy (str): "flat", "nested" or "any".
    RETURNS (SpanTable): the chosen spans without duplicates, in document order.
    """
    spans = by_preference(merge_duplicates(spans))
    return in_document_order(choose_in_order(spans, policy))


def choose_in_order(spans: SpanTable, policy: str) -> SpanTable:
    """Go through the spans and keep each that conflicts with none kept before it.

    spans (SpanTable): candidates, the preferred first.
    policy (str): "flat", "nested" or "any".
    RETURNS (SpanTable): the kept spans in the same order.
    """
    if policy == "any" or spans.n_spans < 2:
        return spans
    choose = _choose_flat if policy == "flat" else _choose_nested
    return spans.take(choose(spans.start, spans.end))


def _choose_flat(starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): spans that share no token with one kept before. (span,)"""
    kept = np.zeros(len(starts), dtype=bool)
    taken = np.zeros(int(ends.max()), dtype=bool)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        if not taken[start:end].any():
            kept[index] = True
            taken[start:end] = True
    return kept


def _choose_nested(starts: Ints, ends: Ints) -> Bools:
    """Keep what crosses nothing kept before, in time linear in the widths.

    A kept span crosses (start, end) from the right if it starts inside and ends behind,
    and from the left if it ends inside and starts in front: so it is enough to know the
    furthest end of the kept spans by start, and the furthest start by end.

    RETURNS (Bools): (span,)
    """
    kept = np.zeros(len(starts), dtype=bool)
    size = int(ends.max()) + 1
    furthest_end = np.full(size, -1)
    furthest_start = np.full(size, size)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        inside = slice(start + 1, end)
        from_right = (furthest_end[inside] > end).any()
        if from_right or (furthest_start[inside] < start).any():
            continue
        kept[index] = True
        furthest_end[start] = max(furthest_end[start], end)
        furthest_start[end] = min(furthest_start[end], start)
    return kept
