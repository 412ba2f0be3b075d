"""Boundary smoothing, by hand."""

import pytest

from spacy_spanner.models.biaffine.smoothing import diamond

from .smoothing import grid, masses, smooth

# -------------------------------------------------------------------- figures


def test_diamond_of_one_has_four_moves() -> None:
    moves = set(zip(*(move.tolist() for move in diamond(1))))
    assert moves == {(0, 1), (1, 0), (0, -1), (-1, 0)}


def test_diamond_of_two_has_eight_moves() -> None:
    moves = list(zip(*(move.tolist() for move in diamond(2))))
    assert len(moves) == 8
    assert set(moves) == {
        (0, 2),
        (1, 1),
        (2, 0),
        (1, -1),
        (0, -2),
        (-1, -1),
        (-2, 0),
        (-1, 1),
    }


def test_smooth_boundaries_of_figure_1b_at_distance_one() -> None:
    # 0.1 in four parts.
    a, g, o = 0.025, 0.9, 0.0
    assert grid(smooth([(0, 1, 2, 0)], [10], 0.1, 1), 10) == [
        [o, o, a, o, o, o, o, o, o, o],
        [o, a, g, a, o, o, o, o, o, o],
        [o, o, a, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
    ]


def test_smooth_boundaries_of_figure_1b_at_distance_two() -> None:
    # 0.2 in two rings: 0.1 in four parts, 0.1 in eight parts.
    a, b, g, o = 0.025, 0.0125, 0.8, 0.0
    assert grid(smooth([(0, 3, 7, 0)], [10], 0.2, 2), 10) == [
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, b, o, o],
        [o, o, o, o, o, o, b, a, b, o],
        [o, o, o, o, o, b, a, g, a, b],
        [o, o, o, o, o, o, b, a, b, o],
        [o, o, o, o, o, o, o, b, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
    ]


def test_smooth_boundaries_of_both_spans_of_figure_1b_in_one_sentence() -> None:
    # (1, 2) gets back the shares of (3, 2), (2, 1), (1, 0) and (-1, 2): 4 * 0.0125.
    a, b, o = 0.025, 0.0125, 0.0
    g, h = 0.85, 0.8
    assert grid(smooth([(0, 1, 2, 0), (0, 3, 7, 1)], [10], 0.2, 2), 10) == [
        [o, b, a, b, o, o, o, o, o, o],
        [o, a, g, a, b, o, o, b, o, o],
        [o, o, a, b, o, o, b, a, b, o],
        [o, o, o, o, o, b, a, h, a, b],
        [o, o, o, o, o, o, b, a, b, o],
        [o, o, o, o, o, o, o, b, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
        [o, o, o, o, o, o, o, o, o, o],
    ]


# ------------------------------------------------------------------- by hand


def test_smooth_boundaries_returns_shares_outside_the_window() -> None:
    # Of (0, 0): (-1, 0) and (0, -1) are outside, (1, 0) ends before it starts.
    assert grid(smooth([(0, 0, 0, 0)], [2], 0.2, 1), 2) == [[0.95, 0.05], [0.0, 0.0]]


def test_smooth_boundaries_returns_shares_behind_the_window() -> None:
    soft = smooth([(0, 1, 2, 0)], [3], 0.2, 1)
    assert grid(soft, 3) == [[0.0, 0.0, 0.05], [0.0, 0.05, 0.85], [0.0, 0.0, 0.05]]


def test_smooth_boundaries_of_a_window_of_one_token_keeps_all() -> None:
    assert masses(smooth([(0, 0, 0, 3)], [1], 0.3, 2)) == {
        (0, 0, 0, 3): pytest.approx(1.0)
    }


def test_smooth_boundaries_returns_shares_of_spans_that_are_too_wide() -> None:
    # Of (1, 2): (0, 2) and (1, 3) have three tokens.
    soft = smooth([(0, 1, 2, 0)], [4], 0.2, 1, max_width=2)
    assert grid(soft, 4) == [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.05, 0.9, 0.0],
        [0.0, 0.0, 0.05, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]


def test_smooth_boundaries_adds_up_overlapping_contributions() -> None:
    # (0, 1) and (1, 2) both lend to (0, 2) and to (1, 1).
    soft = smooth([(0, 0, 1, 0), (0, 1, 2, 0)], [4], 0.2, 1)
    assert grid(soft, 4) == [
        [0.05, 0.85, 0.1, 0.0],
        [0.0, 0.1, 0.8, 0.05],
        [0.0, 0.0, 0.05, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]


def test_smooth_boundaries_adds_to_gold_spans_too() -> None:
    # Neighbours in a window of two tokens, each of which keeps what falls outside.
    soft = smooth([(0, 0, 0, 0), (0, 0, 1, 0)], [2], 0.2, 1)
    assert grid(soft, 2) == [[1.0, 0.95], [0.0, 0.05]]


def test_smooth_boundaries_keeps_labels_of_one_cell_apart() -> None:
    soft = masses(smooth([(0, 0, 0, 0), (0, 1, 1, 1)], [2], 0.2, 1))
    assert soft == {
        (0, 0, 0, 0): pytest.approx(0.95),
        (0, 0, 1, 0): pytest.approx(0.05),
        (0, 0, 1, 1): pytest.approx(0.05),
        (0, 1, 1, 1): pytest.approx(0.95),
    }


def test_smooth_boundaries_scales_an_overflowing_cell_to_one() -> None:
    # 0.95 for each of two labels on (0, 0): 1.9 in all; the neighbour holds 0.1.
    soft = masses(smooth([(0, 0, 0, 0), (0, 0, 0, 1)], [2], 0.2, 1))
    assert soft == {
        (0, 0, 0, 0): pytest.approx(0.5),
        (0, 0, 0, 1): pytest.approx(0.5),
        (0, 0, 1, 0): pytest.approx(0.05),
        (0, 0, 1, 1): pytest.approx(0.05),
    }


def test_smooth_boundaries_scales_unequal_labels_in_proportion() -> None:
    # (0, 0): 0.95 + 0.05 of label 0 and 0.05 of label 1, which (0, 1) carries too.
    soft = masses(smooth([(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 1, 1)], [2], 0.2, 1))
    assert soft[0, 0, 0, 0] == pytest.approx(1.0 / 1.05)
    assert soft[0, 0, 0, 1] == pytest.approx(0.05 / 1.05)


def test_smooth_boundaries_of_no_gold_is_empty() -> None:
    assert masses(smooth([], [3], 0.2, 1)) == {}


def test_hard_boundaries_removes_duplicates() -> None:
    gold = [(0, 1, 2, 0), (0, 1, 2, 0), (0, 1, 2, 1)]
    soft = smooth(gold, [3], 0.0, 1, exclusive=False)
    assert masses(soft) == {(0, 1, 2, 0): 1.0, (0, 1, 2, 1): 1.0}


def test_exclusive_labels_of_a_span_share_one_mass() -> None:
    soft = smooth([(0, 1, 2, 0), (0, 1, 2, 1)], [3], 0.0, 1)
    assert masses(soft) == {(0, 1, 2, 0): 0.5, (0, 1, 2, 1): 0.5}
