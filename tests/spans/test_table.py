"""Tables of spans."""

import numpy as np

from spacy_spanner.spans.table import ScoredSpan, SpanTable


def test_span_table_empty_has_no_rows() -> None:
    table = SpanTable.empty()
    assert table.n_spans == 0
    assert table.rows() == []


def test_span_table_of_nothing_is_empty() -> None:
    table = SpanTable.of([])
    assert table.n_spans == 0
    assert [column.dtype for column in table] == [
        column.dtype for column in SpanTable.empty()
    ]


def test_span_table_of_labelled_spans_scores_them_with_one() -> None:
    table = SpanTable.of([(0, 2, 1), (3, 4, 0)])
    assert table.rows() == [ScoredSpan(0, 2, 1, 1.0), ScoredSpan(3, 4, 0, 1.0)]


def test_span_table_of_scored_spans_keeps_scores_and_order() -> None:
    table = SpanTable.of([(3, 4, 0, 0.25), (0, 2, 1, 0.5)])
    assert table.start.tolist() == [3, 0]
    assert table.end.tolist() == [4, 2]
    assert table.label.tolist() == [0, 1]
    assert table.score.tolist() == [0.25, 0.5]


def test_span_table_of_an_iterator_reads_all() -> None:
    assert SpanTable.of((i, i + 1, 0) for i in range(3)).n_spans == 3


def test_span_table_columns_have_fixed_types() -> None:
    table = SpanTable.of([(0, 2, 1, 1)])
    types = [column.dtype for column in table]
    assert types == [np.int64, np.int64, np.int64, np.float32]


def test_span_table_n_spans_counts_rows_not_columns() -> None:
    assert SpanTable.of([(0, 1, 0)] * 7).n_spans == 7


def test_span_table_take_by_index_follows_the_order_given() -> None:
    table = SpanTable.of([(0, 1, 0), (1, 2, 1), (2, 3, 2)])
    assert table.take(np.asarray([2, 0])).label.tolist() == [2, 0]


def test_span_table_take_by_mask_keeps_the_chosen_rows() -> None:
    table = SpanTable.of([(0, 1, 0, 0.25), (1, 2, 1, 0.5), (2, 3, 2, 0.75)])
    taken = table.take(np.asarray([True, False, True]))
    assert taken.rows() == [ScoredSpan(0, 1, 0, 0.25), ScoredSpan(2, 3, 2, 0.75)]


def test_span_table_take_of_an_empty_table_is_empty() -> None:
    assert SpanTable.empty().take(np.zeros(0, dtype=bool)).n_spans == 0


def test_span_table_shift_moves_both_boundaries() -> None:
    table = SpanTable.of([(0, 1, 4, 0.5), (2, 5, 3, 0.25)])
    moved = table.shift(np.asarray(10))
    assert moved.rows() == [ScoredSpan(10, 11, 4, 0.5), ScoredSpan(12, 15, 3, 0.25)]


def test_span_table_shift_by_column_moves_each_span_by_its_own_offset() -> None:
    moved = SpanTable.of([(0, 1, 0), (2, 5, 0)]).shift(np.asarray([1, -2]))
    assert moved.start.tolist() == [1, 0]
    assert moved.end.tolist() == [2, 3]


def test_span_table_shift_leaves_the_original_alone() -> None:
    table = SpanTable.of([(0, 1, 0)])
    table.shift(np.asarray(5))
    assert table.start.tolist() == [0]


def test_span_table_rows_are_plain_python_numbers() -> None:
    (row,) = SpanTable.of([(0, 1, 0, 0.5)]).rows()
    assert [type(value) for value in row] == [int, int, int, float]


def test_span_table_of_its_own_rows_is_the_same_table() -> None:
    table = SpanTable.of([(3, 4, 0, 0.25), (0, 2, 1, 0.5)])
    assert SpanTable.of(table.rows()).rows() == table.rows()
