"""Soft suppression of spans that nearly repeat a better one (Section 3.6).

Spans are visited by descending score; the score of each later span whose intersection
over union with the visited one is at least k is multiplied by u. The order is that of
the scores before any decay, so the final score is s · u^n with n the number of better
neighbours, and all neighbours can be counted at once.
"""

import numpy as np

from ...spans.geometry import iou
from ...spans.overlap import preference_order
from ...spans.table import Floats, Ints, SpanTable


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
    order = np.lexsort((spans.start, window))
    start, end, rank_there = spans.start[order], spans.end[order], rank[order]
    window = window[order]
    # No span that starts further right overlaps enough; the rest is rounding.
    reach = end - threshold * (end - start) + 1e-6
    n_better = np.zeros(spans.n_spans, dtype=np.int64)
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
        left_wins = rank_there[left] < rank_there[right]
        worse = np.where(left_wins, right, left)[fit >= threshold]
        n_better += np.bincount(worse, minlength=spans.n_spans)
        distance += 1
    score = spans.score.copy()
    score[order] *= decay ** n_better.astype(np.float32)
    return score
