"""Curves of thresholds against scores of filtered predictions."""

from typing import Dict, List

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.evaluation.counts import Reading, SpanKey, by_nothing, count_groups
from spacy_spanner.evaluation.thresholds import (
    CurvePoint,
    ScoredSpans,
    best_point,
    curves_by_label,
    f_objective,
    near_best,
    recall_at_precision,
    scored_spans,
    threshold_curve,
)

from .test_counts import above

GOLD = {(0, 1, "A"), (1, 2, "A"), (2, 3, "B")}
SCORED: Dict[SpanKey, float] = {
    (0, 1, "A"): 0.9,
    (5, 6, "A"): 0.6,
    (2, 3, "B"): 0.5,
    (6, 7, "B"): 0.2,
}
READINGS = [Reading(GOLD, dict(SCORED), [])]


def test_curve_by_hand() -> None:
    curve = threshold_curve(scored_spans(READINGS), [0.1, 0.5, 0.7, 0.95])
    rounded = [[round(value, 3) for value in point] for point in curve]
    assert rounded == [
        [0.1, 0.5, 0.667, 0.571, 4],
        [0.5, 0.667, 0.667, 0.667, 3],
        [0.7, 1.0, 0.333, 0.5, 1],
        [0.95, 0.0, 0.0, 0.0, 0],
    ]


def test_curve_of_a_label_by_hand() -> None:
    (point,) = threshold_curve(scored_spans(READINGS, "B"), [0.3])
    assert (point.p, point.r, point.n_predicted) == (1.0, 1.0, 1)


def test_curve_takes_spans_without_score_for_certain() -> None:
    spans = scored_spans([Reading({(0, 1, "A")}, {(0, 1, "A"): None}, [])])
    assert threshold_curve(spans, [0.99])[0].f == 1.0


def test_near_best_keeps_a_default_that_is_good_enough() -> None:
    def point(threshold: float, f: float) -> CurvePoint:
        return CurvePoint(threshold, f, f, f, 1)

    curve = [point(0.2, 0.7), point(0.5, 0.795), point(0.6, 0.8), point(0.7, 0.79)]
    for f, expected in ((0.6, 0.5), (0.78, 0.5), (0.791, 0.31), (0.9, 0.31)):
        found = near_best(curve, point(0.31, f), f_objective())
        assert found.threshold == expected
    assert near_best(curve, point(0.9, 0.1), f_objective()).threshold == 0.7


def test_curve_without_spans() -> None:
    empty = ScoredSpans(np.zeros(0, "f"), np.zeros(0, bool), 0)
    assert threshold_curve(empty, [0.5]) == [CurvePoint(0.5, 0.0, 0.0, 0.0, 0)]


@given(st.lists(st.integers(1, 20), max_size=8), st.integers(0, 8))
def test_curve_equals_scoring_of_filtered_predictions(
    scores: List[int], n_right: int
) -> None:
    predicted = {(n, n + 1, "A"): score / 20 for n, score in enumerate(scores)}
    readings = [Reading({(n, n + 1, "A") for n in range(n_right)}, dict(predicted), [])]
    for point in threshold_curve(scored_spans(readings), [0.1, 0.5, 0.9]):
        kept = [above(reading, point.threshold) for reading in readings]
        counts = count_groups(kept, by_nothing)["all"]
        expected = (counts.precision, counts.recall, counts.f_score)
        assert (point.p, point.r, point.f) == pytest.approx(expected)


def points(*rows: tuple) -> List[CurvePoint]:
    return [CurvePoint(t, p, r, 2 * p * r / (p + r), 1) for t, p, r in rows]


CURVE = points((0.1, 0.4, 0.9), (0.2, 0.6, 0.8), (0.3, 0.8, 0.6), (0.4, 0.9, 0.3))


@pytest.mark.parametrize("beta,threshold", [(1.0, 0.2), (3.0, 0.1), (0.3, 0.3)])
def test_best_point_of_f_beta(beta: float, threshold: float) -> None:
    assert best_point(CURVE, f_objective(beta)).threshold == threshold


@pytest.mark.parametrize("minimum,threshold", [(0.7, 0.3), (0.5, 0.2), (0.95, 0.4)])
def test_best_point_of_recall_at_precision(minimum: float, threshold: float) -> None:
    assert best_point(CURVE, recall_at_precision(minimum)).threshold == threshold


def test_best_point_of_a_plateau_is_its_middle() -> None:
    same = [(place / 10, 0.5, 0.5) for place in range(1, 6)]
    assert best_point(points(*same), f_objective()).threshold == 0.3
    two_runs = points((0.1, 0.5, 0.5), (0.2, 0.1, 0.5), *same[2:])
    assert best_point(two_runs, f_objective()).threshold == 0.4


def test_curves_by_label_are_plain_data() -> None:
    curves = curves_by_label(READINGS, ["B"])
    assert list(curves) == ["all", "B"]
    assert curves["B"][0]["n_predicted"] == 2
