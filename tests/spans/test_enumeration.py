"""All spans of windows, in their order."""

from typing import List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.geometry import enumerate_spans


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


@given(st.lists(st.integers(0, 7), max_size=5), st.one_of(st.none(), st.integers(1, 8)))
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
