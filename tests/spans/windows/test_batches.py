"""Windows to batches."""

from itertools import chain
from typing import Any, List

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.windows import batch_windows


def pairs(n_tokens: int) -> int:
    return n_tokens**2


def grouped(lengths: List[int], max_cells: int) -> List[List[int]]:
    groups = batch_windows(np.asarray(lengths), max_cells, cells=pairs)
    return [group.tolist() for group in groups]


def test_batch_windows_puts_similar_lengths_together() -> None:
    assert grouped([2, 4, 2, 4], max_cells=32) == [[1, 3], [0, 2]]


def test_batch_windows_bounds_each_group_by_its_longest() -> None:
    # 18 cells are two windows of three tokens, or four of two.
    assert grouped([3, 2, 3, 2, 3], max_cells=18) == [[0, 2], [4, 1], [3]]


def test_batch_windows_gives_a_large_window_a_group_of_its_own() -> None:
    assert grouped([9, 1, 1], max_cells=2) == [[0], [1, 2]]


def test_batch_windows_of_nothing_is_empty() -> None:
    assert batch_windows(np.zeros(0, dtype=np.int64), 10) == []


def test_batch_windows_bounds_tokens_by_default() -> None:
    groups = batch_windows(np.asarray([3, 2, 3, 2]), 6)
    assert [group.tolist() for group in groups] == [[0, 2], [1, 3]]


def test_batch_windows_bounds_tokens_and_cells() -> None:
    lengths = np.asarray([4, 1, 1, 1, 1])
    groups = batch_windows(lengths, 3, cells=pairs, max_tokens=2)
    assert [group.tolist() for group in groups] == [[0], [1, 2], [3, 4]]


def test_batch_windows_counts_short_windows_as_longer() -> None:
    groups = batch_windows(np.asarray([1, 1, 1]), 8, cells=pairs, shortest=2)
    assert [group.tolist() for group in groups] == [[0, 1], [2]]


@pytest.mark.parametrize("cells", [int, pairs, lambda n_tokens: 0])
def test_batch_windows_of_empty_windows_counts_them_as_one_cell(cells: Any) -> None:
    groups = batch_windows(np.asarray([0, 0, 0]), 2, cells=cells)
    assert [group.tolist() for group in groups] == [[0, 1], [2]]


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 300))
def test_batch_windows_visits_every_window_once(
    lengths: List[int], max_cells: int
) -> None:
    visited = chain.from_iterable(grouped(lengths, max_cells))
    assert sorted(visited) == list(range(len(lengths)))


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 300))
def test_batch_windows_respects_the_bound(lengths: List[int], max_cells: int) -> None:
    for group in grouped(lengths, max_cells):
        longest = max(lengths[window] for window in group)
        assert len(group) == 1 or len(group) * longest**2 <= max_cells


@given(st.lists(st.integers(1, 12), max_size=20), st.integers(1, 300))
def test_batch_windows_visits_longest_first(lengths: List[int], max_cells: int) -> None:
    visited = chain.from_iterable(grouped(lengths, max_cells))
    in_order = [lengths[window] for window in visited]
    assert in_order == sorted(lengths, reverse=True)
