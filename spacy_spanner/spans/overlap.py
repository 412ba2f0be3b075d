"""Overlap policies: which spans are kept together, and in which order they come."""

from typing import Tuple

import numpy as np

from .conflicts import conflict_with_any
from .table import Bools, Floats, Ints, SpanTable

OVERLAP_POLICIES = ("flat", "nested", "any")

# Spans that are visited one by one before all others are compared with those kept.
BLOCK = 1024


def in_document_order(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): sorted by start, then longer first, then label."""
    return spans.take(np.lexsort((spans.label, -spans.end, spans.start)))


def by_preference(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): sorted by score (best first), then start, end, label."""
    return spans.take(preference_order(spans))


def preference_order(spans: SpanTable) -> Ints:
    """RETURNS (Ints): rows by score (best first), then start, end, label. (span,)"""
    score = without_noise(spans.score)
    return np.lexsort((spans.label, spans.end, spans.start, -score))


def by_length(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): longest first, then by score, then start, label."""
    width, score = spans.end - spans.start, without_noise(spans.score)
    return spans.take(np.lexsort((spans.label, spans.start, -score, -width)))


def without_noise(score: Floats) -> Floats:
    """RETURNS (Floats): scores rounded to four digits. In another batch, the same text
    gets scores that differ in the seventh digit; this must not decide which of two
    spans is kept.
    """
    return np.round(score, 4)


def repeats(spans: SpanTable) -> Bools:
    """RETURNS (Bools): True for spans with the boundaries of an earlier one. (span,)"""
    # One number for each pair of boundaries: sorting pairs takes ten times as long.
    key = spans.start * (spans.end.max(initial=0) + 1) + spans.end
    order = key.argsort(kind="stable")
    repeated = np.zeros(spans.n_spans, dtype=bool)
    repeated[order[1:]] = key[order[1:]] == key[order[:-1]]
    return repeated


def first_labels(spans: SpanTable) -> SpanTable:
    """RETURNS (SpanTable): the first span of each pair of boundaries, in the order
    given.
    """
    return spans.take(~repeats(spans))


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
    """Choose spans that may be kept together; the higher score wins.

    Ties go to the earlier start, then the earlier end, then the lower label.

    spans (SpanTable): candidates, in any order.
    policy (str): "flat", "nested" or "any".
    RETURNS (SpanTable): the chosen spans without duplicates, in document order.
    """
    spans = by_preference(merge_duplicates(spans))
    return in_document_order(choose_in_order(spans, policy))


def choose_in_order(spans: SpanTable, policy: str) -> SpanTable:
    """Keep each span that conflicts with none kept before it.

    spans (SpanTable): candidates, the preferred first.
    policy (str): "flat", "nested" or "any".
    RETURNS (SpanTable): the kept spans in the same order.
    """
    if policy == "any" or spans.n_spans < 2:
        return spans
    first, same = _boundaries(spans)
    kept = np.zeros(spans.n_spans, dtype=bool)
    kept[first[_choose(spans.start[first], spans.end[first], policy)]] = True
    # Of equal spans, which do not cross, all or none are kept.
    return spans.take(kept if policy == "flat" else kept[same])


def _boundaries(spans: SpanTable) -> Tuple[Ints, Ints]:
    """RETURNS (Tuple[Ints, Ints]): the first row of each pair of boundaries, in their
    order, and for each row the first with its boundaries. Shapes: (pair,), (span,)
    """
    keys = spans.start * (spans.end.max(initial=0) + 1) + spans.end
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.sort(first), first[group]


def _choose(starts: Ints, ends: Ints, policy: str) -> Ints:
    """Visit distinct spans in blocks of growing size. After each, all that conflict
    with the spans kept in it are dropped at once, so most are never visited.

    RETURNS (Ints): the rows that are kept. (kept,)
    """
    visit = _visit_flat if policy == "flat" else _visit_nested
    left, size = np.arange(len(starts)), BLOCK
    kept = []
    while len(left):
        block, left = left[:size], left[size:]
        new = block[visit(starts[block], ends[block])]
        known = starts[new], ends[new]
        left = left[~conflict_with_any(starts[left], ends[left], *known, policy)]
        kept.append(new)
        size *= 2  # so that the number of blocks is logarithmic
    return np.concatenate(kept)


def _visit_flat(starts: Ints, ends: Ints) -> Bools:
    """RETURNS (Bools): spans that share no token with one kept before. (span,)"""
    kept = np.zeros(len(starts), dtype=bool)
    taken = np.zeros(int(ends.max()), dtype=bool)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        if not taken[start:end].any():
            kept[index] = True
            taken[start:end] = True
    return kept


def _visit_nested(starts: Ints, ends: Ints) -> Bools:
    """Keep spans that cross none kept before, in time linear in their widths.

    A kept span crosses (start, end) if it starts inside and ends after `end`, or ends
    inside and starts before `start`. So the last end of the kept spans by their start,
    and the first start by their end, are enough to find a crossing.

    RETURNS (Bools): (span,)
    """
    kept = np.zeros(len(starts), dtype=bool)
    size = int(ends.max()) + 1
    last_end = np.full(size, -1)
    first_start = np.full(size, size)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        inside = slice(start + 1, end)
        crossed = (last_end[inside] > end).any()
        if crossed or (first_start[inside] < start).any():
            continue
        kept[index] = True
        last_end[start] = max(last_end[start], end)
        first_start[end] = min(first_start[end], start)
    return kept
