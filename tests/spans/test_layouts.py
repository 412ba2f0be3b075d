"""Gold of several windows in a flat table, and padded."""

from typing import List, Sequence, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.geometry import iou
from spacy_spanner.spans.layouts import flatten_gold, pad_gold
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
GOLD: List[Rows] = [[(0, 2, 1), (1, 2, 0)], [], [(2, 3, 1)]]


def tables(gold: Sequence[Rows]) -> List[SpanTable]:
    return [SpanTable.of(rows) for rows in gold]


def test_flatten_gold_numbers_windows_and_makes_ends_inclusive() -> None:
    flat = flatten_gold(tables(GOLD))
    assert flat.window.tolist() == [0, 0, 2]
    assert flat.start.tolist() == [0, 1, 2]
    assert flat.last.tolist() == [1, 1, 2]
    assert flat.label.tolist() == [1, 0, 1]


def test_flatten_gold_of_windows_without_gold_is_empty() -> None:
    flat = flatten_gold(tables([[], []]))
    assert [column.shape for column in flat] == [(0,)] * 4
    assert all(column.dtype == np.int64 for column in flat)


def test_pad_gold_of_windows_of_different_size() -> None:
    gold = pad_gold(tables(GOLD))
    assert gold.start.tolist() == [[0, 1], [0, 0], [2, 0]]
    assert gold.end.tolist() == [[2, 2], [0, 0], [3, 0]]
    assert gold.last.tolist() == [[1, 1], [0, 0], [2, 0]]
    assert gold.label.tolist() == [[1, 0], [0, 0], [1, 0]]
    assert gold.mask.tolist() == [[True, True], [False, False], [True, False]]
    assert gold.counts.tolist() == [2, 0, 1]


@pytest.mark.parametrize("windows", [1, 2])
def test_pad_gold_without_gold_has_one_empty_column(windows: int) -> None:
    gold = pad_gold(tables([[]] * windows))
    assert gold.mask.tolist() == [[False]] * windows
    assert all(column.shape == (windows, 1) for column in gold)


def test_pad_gold_padding_overlaps_no_span() -> None:
    gold = pad_gold(tables(GOLD))
    assert not iou(0, 9, gold.start, gold.end)[~gold.mask].any()


spans = st.tuples(st.integers(0, 5), st.integers(6, 9), st.integers(0, 2))


@given(st.lists(st.lists(spans, max_size=4), min_size=1, max_size=5))
def test_both_layouts_hold_the_same_gold(gold: List[Rows]) -> None:
    flat, padded = flatten_gold(tables(gold)), pad_gold(tables(gold))
    window, _ = np.nonzero(padded.mask)
    columns = (padded.start, padded.last, padded.label)
    assert np.array_equal(flat.window, window)
    for one, other in zip(flat[1:], columns):
        assert np.array_equal(one, other[padded.mask])
