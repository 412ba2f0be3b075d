"""The orders in which spans are listed."""

from spacy_spanner.spans.overlap import (
    by_length,
    by_preference,
    in_document_order,
    preference_order,
)
from spacy_spanner.spans.table import SpanTable


def test_in_document_order_sorts_by_start_then_longer_then_label() -> None:
    table = SpanTable.of([(2, 3, 0), (0, 1, 0), (0, 3, 1), (0, 3, 0)])
    rows = [row[:3] for row in in_document_order(table).rows()]
    assert rows == [(0, 3, 0), (0, 3, 1), (0, 1, 0), (2, 3, 0)]


def test_by_preference_sorts_by_score_then_start_then_end_then_label() -> None:
    table = SpanTable.of(
        [(1, 3, 1, 0.5), (1, 3, 0, 0.5), (1, 2, 9, 0.5), (0, 9, 9, 0.5), (5, 6, 0, 0.9)]
    )
    rows = [row[:3] for row in by_preference(table).rows()]
    assert rows == [(5, 6, 0), (0, 9, 9), (1, 2, 9), (1, 3, 0), (1, 3, 1)]


def test_by_length_sorts_by_width_then_score_then_start_then_label() -> None:
    table = SpanTable.of(
        [
            (4, 5, 0, 1.0),
            (3, 5, 0, 0.5),
            (2, 4, 1, 0.5),
            (2, 4, 0, 0.5),
            (6, 8, 0, 0.75),
        ]
    )
    rows = [row[:3] for row in by_length(table).rows()]
    assert rows == [(6, 8, 0), (2, 4, 0), (2, 4, 1), (3, 5, 0), (4, 5, 0)]


def test_preference_order_does_not_see_noise_in_scores() -> None:
    rows = [(3, 4, 0, 0.500001), (1, 2, 0, 0.5), (2, 3, 0, 0.6)]
    assert preference_order(SpanTable.of(rows)).tolist() == [2, 1, 0]
