"""Soft suppression of spans that nearly repeat a better one (Section 3.6).

Spans are visited by descending score; the score of each later span whose intersection
over union with the visited one is at least k is multiplied by u. Two orders exist:

- `soft_nms` keeps the order of the first scores. The final score is s · u^n with n the
  number of better neighbours, and all neighbours can be counted at once.
- `queued_soft_nms` is the paper's Algorithm 1: a lowered span goes back into the queue
  and is visited later, by its new score.
"""

from typing import Iterator, NamedTuple

import numpy as np

from ...spans.geometry import iou
from ...spans.overlap import preference_order, without_noise
from ...spans.table import Bools, Floats, Ints, SpanTable
from ...spans.windows import batch_windows

# Spans that the queue compares at once.
CELLS_AT_ONCE = 50_000
VISITED = -1.0  # below all scores


class Neighbours(NamedTuple):
    """Pairs of spans of a window that nearly repeat each other. Shapes: (pair,)"""

    one: Ints
    two: Ints


def soft_nms(
    spans: SpanTable, window: Ints, *, threshold: float, decay: float
) -> Floats:
    """Multiply the score of each span by `decay` for each better neighbour.

    Scores are compared to four digits; of equal ones, the earlier start, the earlier
    end, then the lower label wins. Time and memory are linear in spans and neighbours.

    spans (SpanTable): distinct spans of all windows, in any order.
    window (Ints): the window of each span. Shape: (span,)
    threshold (float): k, the intersection over union that makes a neighbour.
    decay (float): u.
    RETURNS (Floats): the new scores. Shape: (span,)
    """
    rank = np.argsort(preference_order(spans))  # the inverse permutation
    n_better = np.zeros(spans.n_spans, dtype=np.int64)
    for one, two in find_neighbours(spans, window, threshold):
        worse = np.where(rank[one] < rank[two], two, one)
        n_better += np.bincount(worse, minlength=spans.n_spans)
    return spans.score * decay ** n_better.astype(np.float32)


def queued_soft_nms(
    spans: SpanTable, window: Ints, *, threshold: float, decay: float
) -> Floats:
    """Lower scores as `soft_nms` does, but visit spans by their lowered scores.

    Memory is linear in the spans. Time grows with the spans times those of a window.

    RETURNS (Floats): the new scores. Shape: (span,)
    """
    order = np.lexsort((spans.label, spans.end, spans.start, window))
    _, counts = np.unique(window, return_counts=True)
    first = np.cumsum(counts) - counts
    lowered = spans.score.copy()
    for group in batch_windows(counts, CELLS_AT_ONCE):
        place = np.arange(counts[group[0]])  # that with the most comes first
        mask = place < counts[group][:, None]  # (window, place)
        rows = order[np.where(mask, first[group][:, None] + place, 0)]
        columns = (spans.start[rows], spans.end[rows], spans.score[rows])
        lowered[rows[mask]] = _visit_by_score(*columns, mask, threshold, decay)[mask]
    return lowered


def _visit_by_score(
    start: Ints, end: Ints, score: Floats, mask: Bools, threshold: float, decay: float
) -> Floats:
    """Visit the best span of each window that is left, as often as there are spans.

    start, end, score: spans of each window, those that win ties first. Shape:
        (window, place)
    mask (Bools): False where padded. Shape: (window, place)
    RETURNS (Floats): the new scores. Shape: (window, place)
    """
    rank = np.where(mask, without_noise(score), VISITED)
    one = np.arange(len(rank))
    for _ in range(rank.shape[1]):
        best = one, rank.argmax(axis=1)
        rank[best] = VISITED
        fit = iou(start[best][:, None], end[best][:, None], start, end)
        near = (rank != VISITED) & (fit > 0) & (fit >= threshold)
        score[near] *= decay
        rank[near] = without_noise(score[near])
    return score


def find_neighbours(
    spans: SpanTable, window: Ints, threshold: float
) -> Iterator[Neighbours]:
    """Find the pairs whose intersection over union reaches a threshold.

    Time is linear in the spans and the pairs that may share enough tokens.

    spans (SpanTable): in any order.
    window (Ints): the window of each span. Shape: (span,)
    YIELDS (Neighbours): rows of the spans, each pair once; up to one for each span.
    """
    order = np.lexsort((spans.start, window))
    start, end, window = spans.start[order], spans.end[order], window[order]
    # No span that starts further right overlaps enough; the rest is rounding.
    reach = end - threshold * (end - start) + 1e-6
    left = np.arange(spans.n_spans)
    distance = 1
    while True:
        # Starts ascend: a span out of reach at one distance is so at larger ones.
        left = left[: np.searchsorted(left, spans.n_spans - distance)]
        right = left + distance
        near = (window[left] == window[right]) & (start[right] < end[left])
        near &= start[right] <= reach[left]
        left, right = left[near], right[near]
        if not len(left):
            break
        fit = iou(start[left], end[left], start[right], end[right])
        near = fit >= threshold
        yield Neighbours(order[left[near]], order[right[near]])
        distance += 1
