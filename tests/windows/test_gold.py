"""Gold to windows."""

import numpy as np

from spacy_spanner.types import SpanTable
from spacy_spanner.windows import spans_in_windows


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
