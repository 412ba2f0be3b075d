"""All spans and pairs of tokens of windows, in their order."""

from typing import List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.geometry import (
    diamond,
    enumerate_grid,
    enumerate_spans,
    find_cells,
)

some_lengths = st.lists(st.integers(0, 7), max_size=5)
widths = st.one_of(st.none(), st.integers(1, 8))


def cells(lengths: List[int], max_width: int | None = None) -> List[Tuple[int, ...]]:
    columns = enumerate_spans(np.asarray(lengths), max_width)
    return list(zip(*(column.tolist() for column in columns)))


def test_enumerate_spans_lists_the_upper_triangle() -> None:
    assert cells([3]) == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 0, 2),
        (0, 1, 1),
        (0, 1, 2),
        (0, 2, 2),
    ]


def test_enumerate_spans_of_several_windows_stays_inside_each() -> None:
    assert cells([1, 2]) == [(0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)]


def test_enumerate_spans_with_band_leaves_out_wide_spans() -> None:
    assert cells([4], max_width=2) == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 1, 1),
        (0, 1, 2),
        (0, 2, 2),
        (0, 2, 3),
        (0, 3, 3),
    ]


def test_enumerate_spans_with_band_of_one_lists_single_tokens() -> None:
    assert cells([3], max_width=1) == [(0, 0, 0), (0, 1, 1), (0, 2, 2)]


def test_enumerate_spans_with_band_wider_than_the_window_lists_all() -> None:
    assert cells([3], max_width=9) == cells([3])


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_enumerate_spans_without_tokens_is_empty(lengths: List[int]) -> None:
    assert cells(lengths) == []


def test_enumerate_spans_of_an_empty_window_between_others_skips_it() -> None:
    assert cells([1, 0, 1]) == [(0, 0, 0), (2, 0, 0)]


@given(some_lengths, widths)
def test_enumerate_spans_equals_three_nested_loops(
    lengths: List[int], max_width: int | None
) -> None:
    expected = [
        (window, start, last)
        for window, length in enumerate(lengths)
        for start in range(length)
        for last in range(start, length)
        if max_width is None or last - start < max_width
    ]
    assert cells(lengths, max_width) == expected


@given(some_lengths)
def test_enumerate_grid_equals_three_nested_loops(lengths: List[int]) -> None:
    columns = enumerate_grid(np.asarray(lengths, dtype=np.int64))
    assert list(zip(*(column.tolist() for column in columns))) == [
        (window, start, last)
        for window, length in enumerate(lengths)
        for start in range(length)
        for last in range(length)
    ]


@given(some_lengths, widths)
def test_find_cells_finds_each_cell_at_its_place(
    lengths: List[int], max_width: int | None
) -> None:
    cells = enumerate_spans(np.asarray(lengths), max_width)
    assert find_cells(cells, *cells).tolist() == list(range(len(cells.start)))


@pytest.mark.parametrize("distance", [1, 2, 5])
def test_diamond_lists_each_move_of_the_distance_once(distance: int) -> None:
    starts, lasts = diamond(distance)
    reach = range(-distance, distance + 1)
    moves = [(a, b) for a in reach for b in reach if abs(a) + abs(b) == distance]
    assert sorted(zip(starts.tolist(), lasts.tolist())) == moves
