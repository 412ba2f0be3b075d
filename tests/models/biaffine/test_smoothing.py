"""Boundary smoothing, by hand and by its laws."""

from collections import defaultdict
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.biaffine.smoothing import (
    SoftSpans,
    diamond,
    hard_boundaries,
    smooth_boundaries,
)

Gold = Tuple[int, int, int, int]  # window, start, last, label
Masses = Dict[Gold, float]


def smooth(
    gold: Sequence[Gold],
    lengths: Sequence[int],
    epsilon: float,
    distance: int,
    max_width: Optional[int] = None,
    exclusive: bool = True,
) -> SoftSpans:
    columns = np.asarray(gold, dtype=np.int64).reshape(-1, 4).T
    return smooth_boundaries(
        hard_boundaries(*columns),
        np.asarray(lengths),
        epsilon=epsilon,
        distance=distance,
        exclusive=exclusive,
        max_width=max_width,
    )


def masses(soft: SoftSpans) -> Masses:
    columns = (column.tolist() for column in soft)
    return {(w, s, e, c): mass for w, s, e, c, mass in zip(*columns)}


def grid(soft: SoftSpans, length: int, window: int = 0) -> List[List[float]]:
    """Rows are starts, columns are last tokens."""
    cells = np.zeros((length, length))
    for (at, start, last, _), mass in masses(soft).items():
        if at == window:
            cells[start, last] += mass
    return cells.round(6).tolist()


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


# ----------------------------------------------------------------- properties

epsilons = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.9])
distances = st.integers(1, 3)


@st.composite
def annotated_windows(
    draw: st.DrawFn, n_labels: int = 2
) -> Tuple[List[Gold], List[int]]:
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    gold = []
    for _ in range(draw(st.integers(0, 8))):
        window = draw(st.integers(0, len(lengths) - 1))
        start = draw(st.integers(0, lengths[window] - 1))
        last = draw(st.integers(start, lengths[window] - 1))
        gold.append((window, start, last, draw(st.integers(0, n_labels - 1))))
    return gold, lengths


def naive_sums(
    gold: Sequence[Gold],
    lengths: Sequence[int],
    epsilon: float,
    distance: int,
    max_width: int,
) -> Masses:
    """The rules of the paper cell by cell, before cells are scaled down."""
    total: Masses = defaultdict(float)
    for window, start, last, label in set(gold):
        total[window, start, last, label] += 1 - epsilon
        for i in range(start - distance, start + distance + 1):
            for j in range(last - distance, last + distance + 1):
                ring = abs(i - start) + abs(j - last)
                if not 1 <= ring <= distance:
                    continue
                inside = 0 <= i <= j < lengths[window] and j - i < max_width
                i_to, j_to = (i, j) if inside else (start, last)
                total[window, i_to, j_to, label] += epsilon / distance / (4 * ring)
    return total


def cell_sums(total: Masses) -> Dict[Tuple[int, int, int], float]:
    cells: Dict[Tuple[int, int, int], float] = defaultdict(float)
    for (window, start, last, _), mass in total.items():
        cells[window, start, last] += mass
    return cells


@given(annotated_windows(), epsilons.filter(bool), distances, st.integers(1, 9))
def test_smooth_boundaries_equals_the_rules_cell_by_cell(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int, max_width: int
) -> None:
    gold = [row for row in case[0] if row[2] - row[1] < max_width]
    total = naive_sums(gold, case[1], epsilon, distance, max_width)
    cells = cell_sums(total)
    expected = {key: mass / max(1.0, cells[key[:3]]) for key, mass in total.items()}
    soft = masses(smooth(gold, case[1], epsilon, distance, max_width))
    assert soft == pytest.approx(expected, abs=1e-6)


@given(annotated_windows(n_labels=1), epsilons, distances)
def test_smooth_boundaries_conserves_the_mass_of_one_label(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int
) -> None:
    # Spans of one label never overflow a cell: they lend at most what it has lent.
    gold, lengths = case
    soft = smooth(gold, lengths, epsilon, distance)
    assert soft.mass.sum() == pytest.approx(len(set(gold)), abs=1e-5)


@given(annotated_windows(n_labels=3), epsilons, distances)
def test_smooth_boundaries_conserves_the_mass_of_each_window_without_overflow(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int
) -> None:
    gold, lengths = case
    sums = cell_sums(naive_sums(gold, lengths, epsilon, distance, 9))
    full = {window for (window, *_), mass in sums.items() if mass > 1 + 1e-9}
    soft = smooth(gold, lengths, epsilon, distance)
    for window in set(range(len(lengths))) - full:
        n_gold = len({row for row in gold if row[0] == window})
        mass = soft.mass[soft.window == window].sum()
        assert mass == pytest.approx(n_gold, abs=1e-5)


@given(annotated_windows(), epsilons.filter(bool), distances)
def test_smooth_boundaries_gives_no_cell_more_than_one(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int
) -> None:
    soft = masses(smooth(*case, epsilon, distance))
    assert all(mass <= 1 + 1e-6 for mass in cell_sums(soft).values())
    assert all(mass > 0 for mass in soft.values())


@given(annotated_windows(), distances)
def test_smooth_boundaries_without_epsilon_is_hard(
    case: Tuple[List[Gold], List[int]], distance: int
) -> None:
    gold, lengths = case
    soft = masses(smooth(gold, lengths, 0.0, distance, exclusive=False))
    assert soft == dict.fromkeys(gold, 1.0)


@given(annotated_windows(), epsilons, distances, st.integers(1, 9))
def test_smooth_boundaries_puts_mass_on_possible_spans_only(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int, max_width: int
) -> None:
    lengths = case[1]
    gold = [row for row in case[0] if row[2] - row[1] < max_width]
    soft = smooth(gold, lengths, epsilon, distance, max_width)
    for window, start, last, _ in masses(soft):
        assert 0 <= start <= last < lengths[window]
        assert last - start < max_width


@given(annotated_windows(), epsilons, distances)
def test_smooth_boundaries_names_each_entry_once(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int
) -> None:
    soft = smooth(*case, epsilon, distance)
    assert len(masses(soft)) == len(soft.mass)


@given(annotated_windows(), epsilons, distances)
def test_smooth_boundaries_of_several_windows_equals_each_alone(
    case: Tuple[List[Gold], List[int]], epsilon: float, distance: int
) -> None:
    gold, lengths = case
    together = masses(smooth(gold, lengths, epsilon, distance))
    alone: Masses = {}
    for window, length in enumerate(lengths):
        own = [(0, *row[1:]) for row in gold if row[0] == window]
        soft = masses(smooth(own, [length], epsilon, distance))
        alone.update({(window, *key[1:]): mass for key, mass in soft.items()})
    assert together == pytest.approx(alone, abs=1e-6)
