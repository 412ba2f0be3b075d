"""Batches are divided evenly, and nothing is lost or given twice."""

from itertools import chain
from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.jobs.parallel.updates import split_evenly

SIZES = st.lists(st.integers(0, 50), max_size=20)


@pytest.mark.parametrize(
    "sizes, n_parts, parts",
    [
        ([5, 3, 2, 4], 2, [[0, 2], [1, 3]]),
        ([1, 1, 1, 9], 2, [[3], [0, 1, 2]]),
        ([0, 0, 0], 2, [[0, 2], [1]]),
        ([7], 3, [[0], [], []]),
        ([], 2, [[], []]),
        ([3, 1], 1, [[0, 1]]),
    ],
)
def test_split_by_hand(sizes: List[int], n_parts: int, parts: List[List[int]]) -> None:
    assert split_evenly(sizes, n_parts) == parts


@given(SIZES, st.integers(1, 6))
def test_split_gives_each_item_once_and_evenly(sizes: List[int], n_parts: int) -> None:
    parts = split_evenly(sizes, n_parts)
    assert len(parts) == n_parts
    assert sorted(chain(*parts)) == list(range(len(sizes)))
    assert all(part == sorted(part) for part in parts)
    loads = [sum(sizes[index] for index in part) for part in parts]
    assert max(loads) - min(loads) <= max(sizes, default=0)
    counts = [len(part) for part in parts]
    assert len(set(sizes)) > 1 or max(counts) - min(counts) <= 1
