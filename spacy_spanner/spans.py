"""The mathematics of spans: enumeration, order, conflicts, selection. Numpy only.

This is the one place where inclusive and exclusive ends meet: a grid cell is
`(start, last)`, a span `(start, end)` with `end = last + 1`.
"""

from typing import NamedTuple, Optional, Union

import numpy as np

from .types import Bools, Floats, Ints, SpanTable

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
    position = np.arange(longest)
    width = position[None, :] - position[:, None]  # (start, last)
    wanted = width >= 0
    if max_width is not None:
        wanted &= width < max_width
    inside = position[None, :] < lengths[:, None]  # (batch, last)
    return SpanCells(*np.nonzero(wanted[None] & inside[:, None, :]))


def overlaps(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): which of the spans share a token with `(start, end)`."""
    return (starts < end) & (start < ends)


def crosses(start: IntLike, end: IntLike, starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): which of the spans overlap `(start, end)` without nesting."""
    return ((starts < start) & (start < ends) & (ends < end)) | (
        (start < starts) & (starts < end) & (end < ends)
    )


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
    score = _without_noise(spans.score)
    return spans.take(np.lexsort((spans.label, spans.end, spans.start, -score)))


def by_length(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): longest first, then by score, then start, label."""
    width, score = spans.end - spans.start, _without_noise(spans.score)
    return spans.take(np.lexsort((spans.label, spans.start, -score, -width)))


def _without_noise(score: Floats) -> Floats:
    """Round, so that ties are ties: the same text in another batch scores otherwise in
    the seventh digit, and that must not decide which of two spans stays.
    """
    return np.round(score, 4)


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
    kept = np.ones(spans.n_spans, dtype=bool)
    cluster = _overlap_clusters(spans)
    by_cluster = np.argsort(cluster, kind="stable")
    sizes = np.bincount(cluster)
    ends = np.cumsum(sizes)
    # Most clusters are one span, which nothing can conflict with.
    for index in np.nonzero(sizes > 1)[0]:
        members = by_cluster[ends[index] - sizes[index] : ends[index]]
        kept[members] = _greedy(spans.start[members], spans.end[members], policy)
    return spans.take(kept)


def _overlap_clusters(spans: SpanTable) -> Ints:
    """Number the groups of spans that hang together by shared tokens: `(span,)`."""
    order = np.lexsort((spans.end, spans.start))
    start, end = spans.start[order], spans.end[order]
    reach = np.maximum.accumulate(end)
    begins = np.zeros(len(order), dtype=np.int64)
    begins[1:] = start[1:] >= reach[:-1]
    cluster = np.empty(len(order), dtype=np.int64)
    cluster[order] = np.cumsum(begins)
    return cluster


def _greedy(starts: Ints, ends: Ints, policy: str) -> Bools:
    """Decide within one cluster; spans come best first. RETURNS: kept, `(span,)`."""
    kept = np.zeros(len(starts), dtype=bool)
    kept_starts, kept_ends = np.empty_like(starts), np.empty_like(ends)
    n_kept = 0
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        rivals = kept_starts[:n_kept], kept_ends[:n_kept]
        if not conflicts(start, end, *rivals, policy).any():
            kept[index] = True
            kept_starts[n_kept], kept_ends[n_kept] = start, end
            n_kept += 1
    return kept
