"""The calibration error, worked out by hand."""

from typing import List, Optional

import numpy as np
import pytest

from spacy_spanner.evaluation.scorer import (
    calibration_error,
    reliability_table,
    score_spans,
)

from .helpers import GOLD, PREDICTED, example_of, prf


def ece_of(scores: List[float], correct: List[float]) -> Optional[float]:
    return calibration_error(reliability_table(np.asarray(scores), np.asarray(correct)))


def test_ece_by_hand() -> None:
    # Bin 9: |0.95 + 0.91 - 1| = 0.86; bin 5: |0.55 - 1| = 0.45; over 3 spans.
    example = example_of(PREDICTED, [(0, 4, "A"), (7, 8, "B")], [0.95, 0.91, 0.55])
    scores = score_spans([example])
    assert scores["spans_ents_ece"] == pytest.approx((0.86 + 0.45) / 3, abs=1e-6)


def test_ece_errors_inside_a_bin_cancel_and_between_bins_do_not() -> None:
    same_bin = ece_of([0.5, 0.5], [1.0, 0.0])
    assert same_bin == pytest.approx(0.0)
    two_bins = ece_of([0.45, 0.55], [1.0, 0.0])
    assert two_bins == pytest.approx(0.55)


def test_ece_score_1_is_in_the_last_bin() -> None:
    # |1.0 + 0.9 - 1| / 2: were they in two bins, |0| + |0.9|, the same; so right twice.
    found = ece_of([1.0, 0.95], [0.0, 1.0])
    assert found == pytest.approx(abs(1.0 + 0.95 - 1.0) / 2)


def test_ece_has_ten_bins() -> None:
    # 0.31 and 0.39 share a bin of width 0.1: |0.7 - 1| / 2; in finer bins 0.46.
    found = ece_of([0.31, 0.39], [1.0, 0.0])
    assert found == pytest.approx(0.15)
    # 0.39 and 0.41 do not: (0.61 + 0.41) / 2; in wider bins 0.1.
    found = ece_of([0.39, 0.41], [1.0, 0.0])
    assert found == pytest.approx(0.51)


def test_ece_without_scores_is_none() -> None:
    assert score_spans([example_of(PREDICTED, GOLD)])["spans_ents_ece"] is None


def test_scorer_fewer_scores_than_spans_is_no_crash() -> None:
    scores = score_spans([example_of(PREDICTED, GOLD, [0.95])])
    assert prf(scores) == [0.6667, 0.6667, 0.6667]
