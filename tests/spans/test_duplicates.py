"""Spans that are there twice."""

from spacy_spanner.spans.overlap import first_labels, merge_duplicates, repeats
from spacy_spanner.spans.table import ScoredSpan, SpanTable


def test_repeats_marks_later_spans_of_equal_boundaries() -> None:
    rows = [(2, 3, 1), (0, 3, 0), (2, 3, 0), (2, 4, 1), (2, 3, 1)]
    assert repeats(SpanTable.of(rows)).tolist() == [False, False, True, False, True]
    assert repeats(SpanTable.empty()).tolist() == []


def test_first_labels_keeps_the_first_span_of_equal_boundaries() -> None:
    spans = SpanTable.of([(0, 2, 1), (0, 3, 0), (0, 2, 0)])
    assert [row[:3] for row in first_labels(spans).rows()] == [(0, 2, 1), (0, 3, 0)]


def test_merge_duplicates_keeps_the_best_score() -> None:
    table = SpanTable.of([(0, 2, 0, 0.25), (0, 2, 0, 0.75), (0, 2, 0, 0.5)])
    assert merge_duplicates(table).rows() == [ScoredSpan(0, 2, 0, 0.75)]


def test_merge_duplicates_keeps_what_differs_in_one_column() -> None:
    rows = [(0, 2, 0, 0.5), (0, 2, 1, 0.5), (0, 3, 0, 0.5), (1, 2, 0, 0.5)]
    assert merge_duplicates(SpanTable.of(rows)).rows() == rows


def test_merge_duplicates_of_an_empty_table_is_empty() -> None:
    assert merge_duplicates(SpanTable.empty()).n_spans == 0
