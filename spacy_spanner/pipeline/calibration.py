"""Scores that say how often spans are right: a temperature and a bias.

Platt, "Probabilistic Outputs for Support Vector Machines" (1999), on the log-odds of a
score, which mean the same for every model. The order of the spans stays. Without a
bias, this is the temperature scaling of Guo et al. (ICML 2017): it cannot mend scores
that are wrong in one direction, as those of a model that finds too much.
"""

from typing import NamedTuple, Tuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from ..spans.table import Bools, Floats

LOWEST, HIGHEST = 0.05, 20.0
# Keeps the log-odds of a score of 0 or 1 finite.
TINY = 1e-6


class Calibration(NamedTuple):
    """How scores become probabilities.

    temperature (float): divides the log-odds of scores; above 1 moves them towards one
        half, below 1 away from it.
    bias (float): is added to the log-odds then.
    """

    temperature: float = 1.0
    bias: float = 0.0

    @property
    def is_none(self) -> bool:
        """Whether all scores stay as they are."""
        return self == Calibration()

    def of(self, score: Floats) -> Floats:
        """Calibrate the scores of spans, as the fit sees them: a score that was rounded
        to 0 or 1 counts as very close to it, because otherwise nothing could move it.

        score (Floats): in [0, 1]. (span,)
        RETURNS (Floats): in [0, 1]. (span,)
        """
        if self.is_none:
            return score
        log_odds = _log_odds(score) / self.temperature + self.bias
        return expit(log_odds).astype(np.float32)

    def undo(self, score: Floats) -> Floats:
        """RETURNS (Floats): scores that are `score` when they are calibrated; 0 and 1
        stay. (span,)
        """
        if self.is_none:
            return score
        log_odds = logit(np.asarray(score, dtype=np.float64))
        return expit((log_odds - self.bias) * self.temperature).astype(np.float32)


def fit_calibration(score: Floats, right: Bools) -> Calibration:
    """Find the calibration under which the scores are most likely.

    score (Floats): scores of predicted spans, also of those with a low one. (span,)
    right (Bools): whether the span is in the gold. (span,)
    RETURNS (Calibration): with a temperature between 0.05 and 20; none if all spans are
        right, all are wrong, or there are none, because then nothing can be fitted.
    """
    if not right.any() or right.all():
        return Calibration()
    log_odds = _log_odds(score)
    # Few spans never make it certain that all others are like them (Platt, 2.2).
    n_right, n_wrong = right.sum(), (~right).sum()
    target = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))

    def loss_and_gradient(slope_and_bias: Floats) -> Tuple[float, Floats]:
        slope, bias = slope_and_bias
        found = slope * log_odds + bias
        excess = expit(found) - target
        gradient = np.asarray([(excess * log_odds).mean(), excess.mean()])
        return float((np.logaddexp(0, found) - target * found).mean()), gradient

    # The loss is convex in the slope, which is one over the temperature, and the bias.
    bounds = [(1 / HIGHEST, 1 / LOWEST), (None, None)]
    start = np.asarray([1.0, 0.0])
    slope, bias = minimize(loss_and_gradient, start, jac=True, bounds=bounds).x
    return Calibration(round(float(1 / slope), 4), round(float(bias), 4))


def _log_odds(score: Floats) -> Floats:
    return logit(np.clip(np.asarray(score, dtype=np.float64), TINY, 1 - TINY))
