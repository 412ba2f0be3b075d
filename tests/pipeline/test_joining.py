"""Averages of members, and the weights that make them most likely."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_spanner.pipeline.calibration import Calibration
from spacy_spanner.pipeline.joining import (
    average,
    calibrated,
    collect_votes,
    fit_weights,
    join,
)

ONE = {(0, 2, "A"): 0.8, (3, 4, "B"): 0.6}
OTHER = {(0, 2, "A"): 0.4, (1, 3, "A"): 0.9}
LABELS = ["A", "B"]


def test_span_that_a_member_has_not_found_counts_as_0() -> None:
    votes = collect_votes([ONE, OTHER])
    assert votes.rows == [(0, 2, "A"), (1, 3, "A"), (3, 4, "B")]
    scores = calibrated(votes, [Calibration(), Calibration()])
    assert np.allclose(scores, [[0.8, 0.4], [0.0, 0.9], [0.6, 0.0]])
    assert np.allclose(average(scores, [1, 1]), [0.6, 0.45, 0.3])
    assert np.allclose(average(scores, [3, 1]), [0.7, 0.225, 0.45])


def test_calibration_moves_the_scores_of_its_member_only() -> None:
    votes = collect_votes([ONE, OTHER])
    scores = calibrated(votes, [Calibration(), Calibration(temperature=2.0)])
    assert np.allclose(scores[:, 0], [0.8, 0.0, 0.6])
    assert 0.4 < scores[0, 1] < 0.5 < scores[1, 1] < 0.9
    assert scores[2, 1] == 0  # not found, whatever the temperature
    raised = calibrated(votes, [Calibration(), Calibration(2.0, bias=0.5)])
    assert (raised[:2, 1] > scores[:2, 1]).all() and raised[2, 1] == 0


def test_spans_are_chosen_by_joint_score_threshold_of_label_and_overlap() -> None:
    votes = collect_votes([ONE, OTHER])
    score = np.asarray([0.6, 0.45, 0.3], dtype=np.float32)
    low = {"A": 0.2, "B": 0.2}

    def chosen(lowest: dict, overlap: str) -> list:
        return [row[:3] for row in join(votes, score, LABELS, lowest, overlap).rows()]

    assert chosen(low, "any") == [(0, 2, 0), (1, 3, 0), (3, 4, 1)]
    assert chosen(low, "nested") == [(0, 2, 0), (3, 4, 1)]
    assert chosen({**low, "B": 0.31}, "flat") == [(0, 2, 0)]


def test_nothing_is_joined_where_nothing_was_found() -> None:
    votes = collect_votes([{}, {}])
    score = average(calibrated(votes, [Calibration(), Calibration(2.0)]), [1, 1])
    assert join(votes, score, [], {}, "flat").n_spans == 0


probability = st.floats(0, 1, width=32)


@given(
    arrays(np.float64, (30, 3), elements=probability),
    arrays(np.bool_, 30),
)
def test_fitted_weights_are_at_least_as_likely_as_equal_ones(
    scores: np.ndarray, right: np.ndarray
) -> None:
    weights = fit_weights(scores, right)
    assert abs(sum(weights) - 1) < 1e-12 and min(weights) >= 0

    def loss(chosen: list) -> float:
        found = np.clip(scores @ np.asarray(chosen), 1e-9, 1 - 1e-9)
        return float(-np.log(np.where(right, found, 1 - found)).sum())

    if right.any():
        assert loss(weights) <= loss([1 / 3] * 3) + 0.1  # weights are rounded


def test_member_that_knows_the_gold_outweighs_one_that_guesses() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(200) < 0.4
    knows = np.where(right, 0.9, 0.1)
    weights = fit_weights(np.stack([rng.random(200), knows], axis=1), right)
    assert weights[1] > 0.95
    assert fit_weights(np.zeros((0, 2)), np.zeros(0, dtype=bool)) == [0.5, 0.5]
