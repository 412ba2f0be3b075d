"""Temperature scaling: scores that are as high as spans are often right.

After Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017), on the
log-odds of a score: that is the same for every model, and keeps the order of spans.
"""

from typing import Callable

import numpy as np

from ..spans.table import Bools, Floats, SpanTable

LOWEST, HIGHEST = 0.05, 20.0
N_STEPS = 60
# Keeps the log-odds of a score of 0 or 1 finite.
TINY = 1e-6
ROUNDING = 1e-6  # of scores that are tempered there and back


def temper(score: Floats, temperature: float) -> Floats:
    """Divide the log-odds of scores by the temperature.

    score (Floats): in [0, 1]. (span,)
    temperature (float): above 1 moves scores towards one half, below 1 away from it.
    RETURNS (Floats): in [0, 1]; 0, one half and 1 stay. (span,)
    """
    if temperature == 1.0:
        return score
    exact = np.asarray(score, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        log_odds = (np.log(exact) - np.log1p(-exact)) / temperature
        tempered = 1.0 / (1.0 + np.exp(-log_odds))
    return tempered.astype(np.float32)


def calibrate(score: Floats, temperature: float) -> Floats:
    """Temper the scores of spans, as the fit sees them.

    A score that has been rounded to 0 or 1 counts as very near to it, for else no
    temperature could move it.

    score (Floats), temperature (float): see `temper`. (span,)
    RETURNS (Floats): in [0, 1]. (span,)
    """
    if temperature == 1.0:
        return score
    return temper(np.clip(score, TINY, 1 - TINY), temperature)


def calibrate_spans(spans: SpanTable, lowest: Floats, temperature: float) -> SpanTable:
    """Temper the scores of spans, and keep those that still reach their threshold.

    spans (SpanTable): spans that reach it where it is without temperature.
    lowest (Floats): thresholds by label. (label,)
    RETURNS (SpanTable): in the same order.
    """
    if temperature == 1.0:
        return spans
    score = calibrate(spans.score, temperature)
    return spans._replace(score=score).take(score >= lowest[spans.label] - ROUNDING)


def fit_temperature(score: Floats, right: Bools) -> float:
    """Find the temperature under which the scores are most likely.

    score (Floats): scores of predicted spans, also of those with a low one. (span,)
    right (Bools): whether the span is in the gold. (span,)
    RETURNS (float): between 0.05 and 20; 1 where spans are all right or all wrong, or
        none, because then there is nothing to learn.
    """
    if not right.any() or right.all():
        return 1.0
    inside = np.clip(score.astype(np.float64), TINY, 1 - TINY)
    log_odds = np.log(inside) - np.log1p(-inside)
    sign = np.where(right, 1.0, -1.0)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -sign * log_odds / np.exp(log_temperature)).mean())

    # The loss has one minimum: it is convex in one over the temperature.
    return float(np.exp(_golden_section(loss, np.log(LOWEST), np.log(HIGHEST))))


def _golden_section(
    function: Callable[[float], float], low: float, high: float
) -> float:
    ratio = (5**0.5 - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(N_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2
