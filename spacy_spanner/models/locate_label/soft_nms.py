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
from ...spans.overlap import preference_order
from ...spans.table import Floats, Ints, SpanTable


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

    A span that is better than all its neighbours in the queue is visited before them,
    and nothing can lower its score any more. So all such spans are visited at once.

    RETURNS (Floats): the new scores. Shape: (span,)
    """
    nothing = np.zeros(0, dtype=np.int64)
    found = [Neighbours(nothing, nothing), *find_neighbours(spans, window, threshold)]
    pairs = Neighbours(*(np.concatenate(column) for column in zip(*found)))
    current = spans
    while len(pairs.one):
        rank = np.argsort(preference_order(current))
        one_wins = rank[pairs.one] < rank[pairs.two]
        worse = np.where(one_wins, pairs.two, pairs.one)
        better = np.where(one_wins, pairs.one, pairs.two)
        queued = np.ones(spans.n_spans, dtype=bool)
        queued[np.setdiff1d(better, worse)] = False
        lowered = np.bincount(worse[~queued[better]], minlength=spans.n_spans)
        score = current.score * decay ** lowered.astype(np.float32)
        current = current._replace(score=score)
        left = queued[pairs.one] & queued[pairs.two]
        pairs = Neighbours(pairs.one[left], pairs.two[left])
    return current.score


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
