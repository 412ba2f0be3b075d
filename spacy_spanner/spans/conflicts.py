"""Which spans conflict with any span of a set: in arrays, in n log n. Numpy only."""

import numpy as np

from .table import Bools, Ints

NOTHING = np.iinfo(np.int64).min  # the maximum of no numbers


def conflict_with_any(
    starts: Ints, ends: Ints, other_starts: Ints, other_ends: Ints, policy: str
) -> Bools:
    """Compare spans with a set of other spans under an overlap policy.

    starts, ends (Ints): spans of at least one token. Shapes: (span,)
    other_starts, other_ends (Ints): the set, as well. Shapes: (other,)
    policy (str): "flat" (no shared token), "nested" (no crossing) or "any".
    RETURNS (Bools): spans that may not be kept together with all others. (span,)
    """
    others = other_starts, other_ends
    if policy == "any":
        return np.zeros(len(starts), dtype=bool)
    if policy == "flat":
        return count_overlaps(starts, ends, *others) > 0
    return cross_any(starts, ends, *others)


def count_overlaps(
    starts: Ints, ends: Ints, other_starts: Ints, other_ends: Ints
) -> Ints:
    """RETURNS (Ints): how many others share a token with each span: those that start
    before its end, without those that end before it starts. (span,)
    """
    begun = np.searchsorted(np.sort(other_starts), ends, "left")
    return begun - np.searchsorted(np.sort(other_ends), starts, "right")


def cross_any(starts: Ints, ends: Ints, other_starts: Ints, other_ends: Ints) -> Bools:
    """RETURNS (Bools): spans that some other overlaps without nesting. (span,)

    Such another starts inside the span and ends after it, or, seen from the other end
    of the text, the same.
    """
    return _cross_right(starts, ends, other_starts, other_ends) | _cross_right(
        -ends, -starts, -other_ends, -other_starts
    )


def _cross_right(
    starts: Ints, ends: Ints, other_starts: Ints, other_ends: Ints
) -> Bools:
    """RETURNS (Bools): spans inside which another starts that ends after them."""
    order = np.argsort(other_starts, kind="stable")
    sorted_starts = other_starts[order]
    low = np.searchsorted(sorted_starts, starts, "right")
    high = np.searchsorted(sorted_starts, ends, "left")
    return np.asarray(range_maxima(other_ends[order], low, high) > ends)


def range_maxima(values: Ints, low: Ints, high: Ints) -> Ints:
    """Find the maximum of each range, which two runs of 2^k values cover.

    Time is n log n. Only the maxima of the runs of one length exist at a time, so
    memory is linear.

    values (Ints): (value,)
    low, high (Ints): ranges; `high` is exclusive. Shapes: (range,)
    RETURNS (Ints): `NOTHING` for empty ranges. Shape: (range,)
    """
    found = np.full(len(low), NOTHING, dtype=np.int64)
    # The exponent of the largest power of two that fits into the range.
    level = np.frexp(np.maximum(high - low, 0))[1] - 1
    run = 1
    for one in range(int(level.max(initial=-1)) + 1):
        (rows,) = np.nonzero(level == one)
        found[rows] = np.maximum(values[low[rows]], values[high[rows] - run])
        values = np.maximum(values[:-run], values[run:])
        run *= 2
    return found
