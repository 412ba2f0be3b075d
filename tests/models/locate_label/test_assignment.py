"""Seeds, their gold, and the negatives among them."""

from typing import List, Optional, Sequence, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.locate_label.assignment import (
    SeedTargets,
    add_gold,
    assign,
    choose_negatives,
    enumerate_seeds,
    missed_gold,
    with_nearest,
)
from spacy_spanner.spans.geometry import SpanCells
from spacy_spanner.spans.layouts import pad_gold
from spacy_spanner.spans.overlap import first_labels
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label


def tables(gold: Sequence[Rows]) -> List[SpanTable]:
    return [SpanTable.of(rows) for rows in gold]


def cells(seeds: SpanCells) -> List[Tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in seeds)))


def seeds_of(rows: Sequence[Tuple[int, int, int]]) -> SpanCells:
    """Make seeds of window, start and last."""
    return SpanCells(*np.asarray(rows, dtype=np.int64).reshape(-1, 3).T)


# --------------------------------------------------------------------- seeds


def test_enumerate_seeds_lists_the_given_sizes() -> None:
    assert cells(enumerate_seeds(np.array([4]), [1, 3])) == [
        (0, 0, 0),
        (0, 0, 2),
        (0, 1, 1),
        (0, 1, 3),
        (0, 2, 2),
        (0, 3, 3),
    ]


def test_enumerate_seeds_stays_inside_short_windows() -> None:
    assert cells(enumerate_seeds(np.array([1, 2]), [2, 5])) == [(1, 0, 1)]


# ---------------------------------------------------------------- assignment


def test_assign_pairs_each_seed_with_the_gold_of_largest_iou() -> None:
    grid = pad_gold(tables([[(0, 4, 0), (2, 4, 1)], [(0, 1, 0)]]))
    seeds = seeds_of([(0, 0, 2), (0, 2, 3), (0, 3, 3), (0, 5, 5), (1, 0, 1)])
    found = assign(seeds, grid, threshold=0.7)
    # (0, 3) has 3/4 and 1/4; (2, 4) has 2/4 and 1; (3, 4) has 1/4 and 1/2.
    assert found.gold[:3].tolist() == [0, 1, 1]
    np.testing.assert_allclose(found.iou, [0.75, 1.0, 0.5, 0.0, 0.5])
    assert found.positive.tolist() == [True, True, False, False, False]


def test_assign_threshold_itself_is_positive() -> None:
    grid = pad_gold(tables([[(0, 10, 0)]]))
    assert assign(seeds_of([(0, 0, 6)]), grid, threshold=0.7).positive.all()


def test_assign_ties_go_to_the_first_gold() -> None:
    grid = pad_gold(tables([[(0, 2, 0), (1, 3, 1)]]))
    assert assign(seeds_of([(0, 0, 2)]), grid, threshold=0.5).gold.tolist() == [0]


def test_assign_without_overlap_is_negative_whatever_the_threshold() -> None:
    grid = pad_gold(tables([[(0, 1, 0)], []]))
    found = assign(seeds_of([(0, 2, 2), (1, 0, 0)]), grid, threshold=0.0)
    assert not found.positive.any()
    assert found.iou.tolist() == [0, 0]


def test_missed_gold_is_what_no_seed_fits_well_enough() -> None:
    grid = pad_gold(tables([[(0, 9, 1), (3, 4, 0)], [(0, 8, 0)]]))
    paired = assign(seeds_of([(0, 3, 3), (1, 0, 5)]), grid, 0.7)
    # The seed of window 1 has 6/8 of its gold.
    assert missed_gold(paired, 0.7).tolist() == [[True, False], [False, False]]
    assert missed_gold(paired, 0.8).tolist() == [[True, False], [True, False]]


def test_missed_gold_counts_gold_whose_seeds_all_prefer_another() -> None:
    grid = pad_gold(tables([[(0, 4, 0), (0, 5, 0)]]))
    paired = assign(seeds_of([(0, 0, 3)]), grid, threshold=0.7)
    assert missed_gold(paired, 0.7).tolist() == [[False, True]]


def test_missed_gold_is_not_hit_by_seeds_beside_it() -> None:
    grid = pad_gold(tables([[(0, 1, 0)]]))
    paired = assign(seeds_of([(0, 1, 1)]), grid, threshold=0.0)
    assert missed_gold(paired, 0.0).tolist() == [[True]]


def test_missed_gold_without_gold_is_none() -> None:
    paired = assign(seeds_of([(0, 0, 0)]), pad_gold(tables([[]])), 0.7)
    assert not missed_gold(paired, 0.7).any()


def test_add_gold_makes_exact_positives_behind_the_seeds() -> None:
    grid = pad_gold(tables([[(0, 9, 1), (3, 4, 0)], [(0, 8, 0)]]))
    paired = assign(seeds_of([(0, 3, 3), (1, 0, 0)]), grid, 0.7)
    found = add_gold(paired, np.array([[True, False], [True, False]]))
    assert cells(found.seeds) == [(0, 3, 3), (1, 0, 0), (0, 0, 8), (1, 0, 7)]
    assert found.gold.tolist() == [1, 0, 0, 0]
    assert found.iou.tolist() == [1, 0.125, 1, 1]
    assert found.positive.tolist() == [True, False, True, True]


def test_with_nearest_makes_the_best_seeds_of_missed_gold_positive() -> None:
    grid = pad_gold(tables([[(0, 6, 0), (8, 9, 0)], [(0, 9, 0)]]))
    # 1/6, 2/6 and 2/6 of the first, none of the second; 2/9 in the other window.
    rows = [(0, 0, 0), (0, 0, 1), (0, 4, 5), (0, 7, 7), (1, 0, 1)]
    paired = assign(seeds_of(rows), grid, threshold=0.7)
    missed = missed_gold(paired, 0.7)
    assert missed.tolist() == [[True, True], [True, False]]
    found = with_nearest(paired, missed)
    assert found.positive.tolist() == [False, True, True, False, True]
    assert not paired.positive.any()
    other_window_only = with_nearest(paired, missed & [[False], [True]])
    assert other_window_only.positive.tolist() == [False, False, False, False, True]


def test_with_nearest_leaves_alone_the_seeds_of_gold_that_is_hit() -> None:
    grid = pad_gold(tables([[(0, 3, 0)]]))
    paired = assign(seeds_of([(0, 0, 2), (0, 0, 1)]), grid, threshold=0.7)
    found = with_nearest(paired, missed_gold(paired, 0.7))
    assert found.positive.tolist() == [True, False]


# ----------------------------------------------------------------- negatives


def targets(positive: Sequence[int], window: Sequence[int]) -> SeedTargets:
    """Make seeds of which only the sign and the window matter."""
    rows = [(w, index, index) for index, w in enumerate(window)]
    zeros = np.zeros(len(window), dtype=np.int64)
    grid = pad_gold(tables([[] for _ in range(max(window) + 1)]))
    signs = np.asarray(positive, dtype=bool)
    return SeedTargets(seeds_of(rows), zeros, zeros.astype(np.float32), signs, grid)


def chosen(
    given: SeedTargets, per_positive: Optional[int], extra: int, seed: int = 0
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return choose_negatives(given, per_positive=per_positive, extra=extra, rng=rng)


def test_choose_negatives_by_window() -> None:
    positive = [1, *[0] * 9, *[0] * 9, 1, 1, *[0] * 3]
    window = [*[0] * 10, *[1] * 9, *[2] * 5]
    given = targets(positive, window)
    rows = chosen(given, per_positive=2, extra=3)
    assert np.bincount(given.seeds.window[rows]).tolist() == [5, 3, 3]
    assert not (rows & given.positive).any()


def test_choose_negatives_none_means_all() -> None:
    given = targets([1, 0, 0, 0], [0, 0, 0, 0])
    assert chosen(given, None, 0).tolist() == [False, True, True, True]


def test_choose_negatives_zero_means_none() -> None:
    assert not chosen(targets([1, 0, 0], [0, 0, 0]), 0, 0).any()


def test_choose_negatives_of_numbers_beyond_all_reason_means_all() -> None:
    given = targets([1, 1, 0, 0], [0, 0, 0, 0])
    for per_positive, extra in ((2**62, 0), (0, 2**70)):
        assert chosen(given, per_positive, extra).tolist() == [False, False, True, True]


def test_choose_negatives_follows_the_generator() -> None:
    given = targets([0] * 100, [0] * 100)
    draws = [chosen(given, 5, 10, seed).tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_choose_negatives_reaches_every_seed() -> None:
    given = targets([0] * 6, [0] * 6)
    seen = np.sum([chosen(given, 0, 2, seed) for seed in range(100)], axis=0)
    # 100 draws of 2 of 6: 33 each on average.
    assert seen.sum() == 200
    assert seen.min() > 15


@pytest.mark.parametrize("per_positive", [None, 5])
def test_choose_negatives_of_no_seeds(per_positive: Optional[int]) -> None:
    given = assign(seeds_of([]), pad_gold(tables([[(0, 1, 0)]])), 0.7)
    assert chosen(given, per_positive, 2).tolist() == []


@st.composite
def windows(draw: st.DrawFn) -> Tuple[List[int], List[Rows]]:
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    gold = []
    for length in lengths:
        starts = draw(st.lists(st.integers(0, length - 1), max_size=4))
        spans = [(start, draw(st.integers(start + 1, length)), 0) for start in starts]
        gold.append(spans)
    return lengths, gold


@given(windows(), st.lists(st.integers(1, 9), min_size=1), st.floats(0, 1))
def test_every_gold_span_has_a_positive_example(
    given_windows: Tuple[List[int], List[Rows]], sizes: List[int], threshold: float
) -> None:
    lengths, gold = given_windows
    grid = pad_gold([first_labels(spans) for spans in tables(gold)])
    paired = assign(enumerate_seeds(np.asarray(lengths), sizes), grid, threshold)
    added = add_gold(paired, missed_gold(paired, threshold))
    positive = added.take(added.positive)
    reached = {
        (int(window), int(grid.start[window, index]), int(grid.end[window, index]))
        for window, index in zip(positive.seeds.window, positive.gold)
    }
    assert reached == {
        (window, start, end)
        for window, rows in enumerate(gold)
        for start, end, _ in rows
    }
