"""Gold to windows."""

import tracemalloc
from typing import List, Tuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.table import SpanTable
from spacy_spanner.spans.windows import spans_in_windows, strided_windows


def test_spans_in_windows_moves_spans_to_window_positions() -> None:
    gold = SpanTable.of([(0, 2, 0), (3, 5, 1)])
    placed = spans_in_windows(gold, np.asarray([0, 3]), np.asarray([3, 6]))
    assert [table.rows() for table in placed.spans] == [
        [(0, 2, 0, 1.0)],
        [(0, 2, 1, 1.0)],
    ]
    assert placed.reachable.tolist() == [True, True]


def test_spans_in_windows_gives_a_span_to_each_window_that_holds_it() -> None:
    gold = SpanTable.of([(2, 4, 0)])
    placed = spans_in_windows(gold, np.asarray([0, 2]), np.asarray([4, 6]))
    assert [table.start.tolist() for table in placed.spans] == [[2], [0]]


def test_spans_in_windows_tells_which_spans_fit_in_none() -> None:
    gold = SpanTable.of([(0, 2, 0), (2, 4, 0), (0, 6, 0)])
    placed = spans_in_windows(gold, np.asarray([0, 3]), np.asarray([3, 6]))
    assert placed.reachable.tolist() == [True, False, False]
    assert [table.n_spans for table in placed.spans] == [1, 0]


def test_spans_in_windows_holds_a_span_as_long_as_the_window() -> None:
    placed = spans_in_windows(
        SpanTable.of([(3, 6, 0)]), np.asarray([3]), np.asarray([6])
    )
    assert placed.spans[0].rows() == [(0, 3, 0, 1.0)]


def test_spans_in_windows_without_gold_gives_empty_tables() -> None:
    placed = spans_in_windows(SpanTable.empty(), np.asarray([0]), np.asarray([3]))
    assert [table.n_spans for table in placed.spans] == [0]
    assert placed.reachable.tolist() == []


def test_spans_in_windows_without_windows_reaches_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    placed = spans_in_windows(SpanTable.of([(0, 1, 0)]), none, none)
    assert placed.spans == []
    assert placed.reachable.tolist() == [False]


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=15)


@given(SPANS, st.integers(1, 45), st.integers(2, 12), st.integers(0, 11))
def test_spans_in_windows_equals_the_definition(
    rows: List[Tuple[int, int]], length: int, max_window: int, stride: int
) -> None:
    spans = SpanTable.of((start, start + size, 0) for start, size in rows)
    windows = strided_windows(0, length, max_window, min(stride, max_window - 1))
    starts, ends = np.asarray(windows).T
    placed = spans_in_windows(spans, starts, ends)
    for (start, end), table in zip(windows, placed.spans, strict=True):
        inside = (spans.start >= start) & (spans.end <= end)
        assert table.start.tolist() == (spans.start[inside] - start).tolist()
        assert table.end.tolist() == (spans.end[inside] - start).tolist()
    fits = [
        any(s <= start and end <= e for s, e in windows)
        for start, end, *_ in spans.rows()
    ]
    assert placed.reachable.tolist() == fits


def peak_of(n_tokens: int) -> int:
    starts = np.arange(0, n_tokens, 20)
    begin = np.arange(0, n_tokens - 8, 8)
    rows = zip(begin.tolist(), (begin + 3).tolist())
    spans = SpanTable.of((start, end, 0) for start, end in rows)
    tracemalloc.start()
    spans_in_windows(spans, starts, starts + 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_spans_in_windows_needs_memory_for_windows_and_spans_alone() -> None:
    assert peak_of(40_000) < 6 * peak_of(10_000)
