"""Match proposals with gold spans: the assignment of least cost.

The assignment is found on the host by SciPy, a window at a time, on one copy of the
costs of the batch.
"""

from typing import Optional

import numpy as np

from ...spans.table import Bools, Floats, Ints

NOBODY = -1


def match(costs: Floats, taught: Bools, repeats: Optional[int] = None) -> Ints:
    """Give each gold span the proposals that cost least; a proposal has one gold span.

    costs (Floats): Shape: (batch, span, gold)
    taught (Bools): gold spans that take part. Shape: (batch, gold)
    repeats (Optional[int]): largest number of proposals for each gold span; if None,
        every proposal of a window with gold is matched.
    RETURNS (Ints): the gold span of each proposal, or `NOBODY`. Shape: (batch, span)
    """
    # Needed in training only, and slow to import.
    from scipy.optimize import linear_sum_assignment

    n_windows, n_spans, _ = costs.shape
    # SciPy rejects NaN. The loss is NaN, too, and is reported elsewhere.
    costs = np.nan_to_num(costs)
    matched = np.full((n_windows, n_spans), NOBODY, dtype=np.int64)
    for window in range(n_windows):
        (gold,) = np.nonzero(taught[window])
        if len(gold):
            columns = gold[repeated(len(gold), n_spans, repeats)]
            rows, chosen = linear_sum_assignment(costs[window][:, columns])
            matched[window, rows] = columns[chosen]
    return matched


def repeated(n_gold: int, n_spans: int, repeats: Optional[int]) -> Ints:
    """List gold spans in turns until there is one for each proposal.

    RETURNS (Ints): indices of gold spans, each at most `repeats` times, but each at
        least once.
    """
    size = n_spans if repeats is None else min(n_spans, repeats * n_gold)
    return np.arange(max(size, n_gold)) % n_gold
