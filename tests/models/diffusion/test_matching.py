"""The assignment of proposals to gold spans."""

from itertools import permutations
from typing import List, Optional

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_spanner.models.diffusion.loss import NOBODY, match, repeated


def matched(
    costs: List[List[float]], repeats: Optional[int], n_gold: Optional[int] = None
) -> List[int]:
    table = np.asarray([costs], dtype=np.float32)
    number = table.shape[2] if n_gold is None else n_gold
    return match(table, first(number, table.shape[2]), repeats)[0].tolist()


def first(number: int, n_gold: int) -> np.ndarray:
    return np.arange(n_gold)[None] < number


# Three proposals, two gold spans: the cheapest pairs leave out the second proposal.
COSTS = [[-2.0, -1.9], [-1.0, -0.5], [-0.1, -1.0]]


def test_match_takes_the_cheapest_pairs() -> None:
    # -2.0 - 1.0 is less than -1.0 - 1.9.
    assert matched(COSTS, repeats=1) == [0, NOBODY, 1]


def test_match_with_unlimited_repeats_leaves_nobody_out() -> None:
    # The gold in turns: 0, 1, 0.
    assert matched(COSTS, repeats=None) == [0, 0, 1]


def test_match_is_better_than_the_greedy_choice() -> None:
    # Greedy would take -3.0 first and be left with 0.0.
    assert matched([[-3.0, -2.9], [-2.8, 0.0]], repeats=1) == [1, 0]


def test_match_ignores_padded_gold() -> None:
    assert matched([[0.0, -9.0], [-1.0, -9.0]], repeats=1, n_gold=1) == [NOBODY, 0]


def test_match_of_a_window_without_gold_matches_nobody() -> None:
    assert matched([[0.0], [0.0]], repeats=None, n_gold=0) == [NOBODY, NOBODY]


def test_match_with_more_gold_than_proposals_takes_the_best_gold() -> None:
    assert matched([[-0.1, -0.9, -0.5]], repeats=1) == [1]


def test_match_treats_windows_apart() -> None:
    costs = np.zeros((2, 2, 2), dtype=np.float32)
    costs[0, 0, 1] = costs[1, 1, 0] = -1
    taught = np.asarray([[True, True], [True, False]])
    assert match(costs, taught, 1).tolist() == [[1, 0], [NOBODY, 0]]


def test_match_leaves_out_gold_that_is_not_taught() -> None:
    costs = np.asarray([[[-9.0, 0.0, -9.0], [-9.0, -1.0, -9.0]]], dtype=np.float32)
    taught = np.asarray([[False, True, False]])
    assert match(costs, taught, None).tolist() == [[1, 1]]
    assert match(costs, taught, 1).tolist() == [[NOBODY, 1]]


@pytest.mark.parametrize(
    "n_gold, n_spans, repeats, expected",
    [
        (2, 5, None, [0, 1, 0, 1, 0]),
        (2, 5, 1, [0, 1]),
        (2, 5, 2, [0, 1, 0, 1]),
        (2, 5, 9, [0, 1, 0, 1, 0]),
        (3, 2, 1, [0, 1, 2]),
        (3, 2, None, [0, 1, 2]),
    ],
)
def test_repeated_lists_gold_in_turns(
    n_gold: int, n_spans: int, repeats: Optional[int], expected: List[int]
) -> None:
    assert repeated(n_gold, n_spans, repeats).tolist() == expected


@given(arrays(np.float32, (1, 4, 3), elements=st.floats(-3, 0, width=16)))
@settings(deadline=None)
def test_match_costs_no_more_than_any_other_assignment(costs: np.ndarray) -> None:
    chosen = match(costs, first(3, 3), 1)[0]
    total = sum(costs[0, row, gold] for row, gold in enumerate(chosen) if gold >= 0)
    best = min(
        sum(costs[0, row, gold] for gold, row in enumerate(rows))
        for rows in permutations(range(4), 3)
    )
    assert total == pytest.approx(best, abs=1e-4)


@given(
    costs=arrays(np.float32, (1, 7, 3), elements=st.floats(-3, 0, width=16)),
    n_gold=st.integers(0, 3),
    repeats=st.one_of(st.none(), st.integers(1, 9)),
)
@settings(deadline=None)
def test_match_gives_each_gold_span_its_share(
    costs: np.ndarray, n_gold: int, repeats: Optional[int]
) -> None:
    chosen = match(costs, first(n_gold, 3), repeats)[0]
    counts = [int((chosen == gold).sum()) for gold in range(n_gold)]
    assert sum(counts) == int((chosen >= 0).sum())
    most = 7 if repeats is None else repeats
    assert all(1 <= count <= most for count in counts)
    assert max(counts, default=0) - min(counts, default=0) <= 1
    if n_gold and repeats is None:
        assert (chosen >= 0).all()
