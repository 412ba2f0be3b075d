"""Temperature scaling: scores that say how often spans are right.

After Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017), on the
log-odds of a score: that is the same for every model, and keeps the order of spans.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from ..spans.table import Bools, Floats

LOWEST, HIGHEST = 0.05, 20.0
# Keeps the log-odds of a score of 0 or 1 finite.
TINY = 1e-6


def temper(score: Floats, temperature: float) -> Floats:
    """Divide the log-odds of scores by the temperature.

    score (Floats): in [0, 1]. (span,)
    temperature (float): above 1 moves scores towards one half, below 1 away from it.
    RETURNS (Floats): in [0, 1]; 0, one half and 1 stay. (span,)
    """
    if temperature == 1.0:
        return score
    log_odds = logit(np.asarray(score, dtype=np.float64))
    return expit(log_odds / temperature).astype(np.float32)


def calibrate(score: Floats, temperature: float) -> Floats:
    """Temper the scores of spans, as the fit sees them.

    A score that was rounded to 0 or 1 counts as very close to it; otherwise no
    temperature could move it.

    score (Floats), temperature (float): see `temper`. (span,)
    RETURNS (Floats): in [0, 1]. (span,)
    """
    if temperature == 1.0:
        return score
    return temper(np.clip(score, TINY, 1 - TINY), temperature)


def fit_temperature(score: Floats, right: Bools) -> float:
    """Find the temperature under which the scores are most likely.

    score (Floats): scores of predicted spans, also of those with a low one. (span,)
    right (Bools): whether the span is in the gold. (span,)
    RETURNS (float): between 0.05 and 20; 1 if all spans are right, all are wrong, or
        there are none, because then nothing can be fitted.
    """
    if not right.any() or right.all():
        return 1.0
    log_odds = logit(np.clip(score.astype(np.float64), TINY, 1 - TINY))
    sign = np.where(right, 1.0, -1.0)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -sign * log_odds / np.exp(log_temperature)).mean())

    # The loss has one minimum: it is convex in one over the temperature.
    bounds = (np.log(LOWEST), np.log(HIGHEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
