"""Precision, recall and F-score as functions of the threshold, and the best threshold.

Of conflicting spans, the one with the higher score wins. So the spans at a higher
threshold are those at a lower one that score high enough, and one prediction with a low
threshold gives the whole curve.
"""

from itertools import groupby
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

import numpy as np

from ..spans.table import Bools, Floats
from .counts import Counts, Reading, f_beta

# Lowest threshold of curves; below it, models predict nearly every possible span.
CURVE_FLOOR = 0.05
# How much the value of a threshold may be lower than that of the best one, if it is
# nearer to the default: the smallest loss on held-out halves of dev parts, see
# benchmarks/auto_threshold.py.
TOLERANCE = 0.01
GRID = [round(step / 100, 2) for step in range(5, 100)]


class CurvePoint(NamedTuple):
    """Scores at a threshold."""

    threshold: float
    p: float
    r: float
    f: float
    n_predicted: int


class ScoredSpans(NamedTuple):
    """Predicted spans of all documents and the number of gold spans, for one label or
    all labels.

    score (Floats): scores, 1 for spans without one. (span,)
    right (Bools): whether the span is correct. (span,)
    n_gold (int): number of gold spans.
    """

    score: Floats
    right: Bools
    n_gold: int


def scored_spans(
    readings: Iterable[Reading], label: Optional[str] = None
) -> ScoredSpans:
    """RETURNS (ScoredSpans): the spans for a curve, of one label or of all.

    readings (Iterable[Reading]): documents, predicted with a low threshold.
    """
    score: List[float] = []
    right: List[bool] = []
    n_gold = 0
    for gold, predicted, _ in readings:
        n_gold += sum(label in (None, span[2]) for span in gold)
        for span, value in predicted.items():
            if label in (None, span[2]):
                score.append(1.0 if value is None else value)
                right.append(span in gold)
    return ScoredSpans(np.asarray(score, dtype="f"), np.asarray(right, bool), n_gold)


def threshold_curve(
    spans: ScoredSpans, grid: Sequence[float] = GRID
) -> List[CurvePoint]:
    """RETURNS (List[CurvePoint]): scores for each threshold of an ascending grid.
    Precision is 0 if nothing is predicted, as in the scorer.
    """
    order = np.argsort(spans.score, kind="stable")
    score, right = spans.score[order], spans.right[order]
    # right_from[i]: number of correct spans from position i on.
    right_from = np.concatenate([np.cumsum(right[::-1])[::-1], [0]])
    first = np.searchsorted(score, np.asarray(grid, dtype="f"), side="left")
    points = []
    for threshold, place in zip(grid, first.tolist()):
        n_right, n_predicted = int(right_from[place]), len(score) - place
        one = Counts(n_right, spans.n_gold, n_right, n_predicted)
        scores = one.precision, one.recall, one.f_score
        points.append(CurvePoint(threshold, *scores, n_predicted))
    return points


Objective = Callable[[CurvePoint], float]


def f_objective(beta: float = 1.0) -> Objective:
    """RETURNS (Objective): F-beta."""
    return lambda point: f_beta(point.p, point.r, beta)


def recall_at_precision(minimum: float) -> Objective:
    """RETURNS (Objective): recall if precision is at least `minimum`, else precision
    minus 1, so that the most precise point wins if none reaches the minimum.
    """
    return lambda point: point.r if point.p >= minimum else point.p - 1.0


def best_point(curve: Sequence[CurvePoint], objective: Objective) -> CurvePoint:
    """RETURNS (CurvePoint): the best point of a curve; of equally good ones, the middle
    of the longest run, which is the safest choice for other data.
    """
    values = [objective(point) for point in curve]
    best = max(values)
    runs = groupby(zip(curve, values), key=lambda pair: best - pair[1] <= 1e-9)
    longest = max((list(run) for is_best, run in runs if is_best), key=len)
    return longest[(len(longest) - 1) // 2][0]


def best_threshold(
    readings: Iterable[Reading], objective: Objective, label: Optional[str] = None
) -> CurvePoint:
    """RETURNS (CurvePoint): the best threshold for all spans, or those of a label."""
    return best_point(threshold_curve(scored_spans(readings, label)), objective)


def near_best(
    curve: Sequence[CurvePoint], default: CurvePoint, objective: Objective
) -> CurvePoint:
    """Choose a threshold that is clearly better than a default, or the default.

    The highest point of a curve is in part an accident of the data. So the nearest of
    all good points is chosen: it loses least where the data are few or differ from
    those to come.

    default (CurvePoint): the scores at the default, which need not be in the curve.
    RETURNS (CurvePoint): of the points whose value is within `TOLERANCE` of the best
        one, the nearest to the default.
    """
    least = objective(best_point(curve, objective)) - TOLERANCE - 1e-9
    good = [one for one in (default, *curve) if objective(one) >= least]
    return min(good, key=lambda one: abs(one.threshold - default.threshold))


def curves_by_label(
    readings: Sequence[Reading], labels: Iterable[str]
) -> Dict[str, List[Dict[str, Any]]]:
    """RETURNS (Dict[str, List[Dict[str, Any]]]): curves as plain data, for all spans
    ("all") and for each label.
    """
    wanted: Dict[str, Optional[str]] = {"all": None, **{name: name for name in labels}}
    return {
        name: [p._asdict() for p in threshold_curve(scored_spans(readings, label))]
        for name, label in wanted.items()
    }
