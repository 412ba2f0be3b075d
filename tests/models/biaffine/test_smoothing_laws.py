"""Boundary smoothing, by its laws."""

from collections import defaultdict
from typing import Dict, List, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .smoothing import Gold, Masses, masses, smooth

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
