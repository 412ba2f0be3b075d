"""Resampling: intervals hold what they should, equal models do not differ."""

import numpy as np
import pytest

from spacy_spanner.evaluation import bootstrap
from spacy_spanner.evaluation.bootstrap import (
    compare_pairs,
    count_matrix,
    intervals,
    prf_of,
    resample,
)
from spacy_spanner.evaluation.counts import by_type

from .test_counts import reading

RIGHT = reading({(0, 1, "A")}, {(0, 1, "A")})
WRONG = reading({(0, 1, "A")}, {(1, 2, "B")})


def test_prf_of_counts_by_hand() -> None:
    counts = np.asarray([[1, 4, 1, 2], [0, 0, 0, 0]], dtype=float)
    assert prf_of(counts).tolist() == [[0.5, 0.25, pytest.approx(1 / 3)], [0, 0, 0]]


def test_resample_draws_as_many_documents() -> None:
    ones = np.ones((7, 2, 1))
    sums = resample(ones, np.random.default_rng(0), 10)
    assert sums.shape == (10, 2, 1)
    assert (sums == 7).all()


def test_resample_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "MAX_DRAWS", 21)
    counts = np.arange(7.0)[:, None]
    sums = resample(counts, np.random.default_rng(0), 10)
    assert sums.shape == (10, 1)
    assert len(np.unique(sums)) > 1


def test_intervals_hold_the_score_and_shrink_with_data() -> None:
    few, many = [RIGHT, WRONG] * 5, [RIGHT, WRONG] * 100
    widths = []
    for readings in (few, many):
        found = intervals(readings, n_samples=400)
        assert found is not None
        low, high = found["all"]["f"]
        assert low < 0.5 < high
        widths.append(high - low)
    # The width falls with the root of the number: √20 = 4.5.
    assert 3 < widths[0] / widths[1] < 6


def test_intervals_are_near_the_normal_approximation() -> None:
    # Precision of 200 documents with one span each, half of them right.
    found = intervals([RIGHT, WRONG] * 100, n_samples=2000)
    assert found is not None
    low, high = found["all"]["p"]
    half = 1.96 * (0.25 / 200) ** 0.5
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.015)


def test_intervals_of_certainty_have_no_width() -> None:
    found = intervals([RIGHT] * 4, group=by_type, names=["A", "C"], n_samples=50)
    assert found is not None
    assert found["A"]["f"] == [1.0, 1.0]
    assert found["C"]["f"] == [0.0, 0.0]


def test_intervals_leave_out_samples_without_spans() -> None:
    found = intervals([RIGHT, reading(set(), set())], n_samples=50)
    assert found is not None
    assert found["all"]["f"] == [1.0, 1.0]


def test_intervals_of_one_document_are_none() -> None:
    assert intervals([RIGHT]) is None


def test_intervals_of_one_seed_are_the_same() -> None:
    readings = [RIGHT, WRONG, WRONG] * 3
    assert intervals(readings, n_samples=100) == intervals(readings, n_samples=100)


def test_compare_equal_models() -> None:
    found = compare_pairs([RIGHT, WRONG], [RIGHT, WRONG], n_samples=100)
    assert found["difference"] == {"p": 0.0, "r": 0.0, "f": 0.0}
    assert found["p_value"] == 1.0
    assert found["found_by"] == {"both": 1, "first": 0, "second": 0, "neither": 1}


def test_compare_a_better_model() -> None:
    found = compare_pairs([WRONG] * 30, [RIGHT] * 30, n_samples=500)
    assert found["difference"]["f"] == 1.0
    assert found["interval"]["f"] == [1.0, 1.0]
    assert found["p_value"] < 0.01
    assert found["found_by"]["second"] == 30


def test_compare_a_difference_by_chance() -> None:
    first, second = [RIGHT, WRONG] * 6, [WRONG, RIGHT] * 6
    second[0] = RIGHT
    found = compare_pairs(first, second, n_samples=500)
    assert found["p_value"] > 0.3
    low, high = found["interval"]["f"]
    assert low < 0 < high


def test_compare_one_document() -> None:
    found = compare_pairs([WRONG], [RIGHT])
    assert found["interval"] is None and found["p_value"] is None


def test_count_matrix_without_groups_has_no_columns() -> None:
    readings = [reading(set(), set()), reading(set(), set())]
    assert count_matrix(readings, by_type, []).shape == (2, 0, 4)
