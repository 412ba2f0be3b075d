"""Which spans may be entities that nobody has annotated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.missing import (
    EVERY_LABEL,
    Marks,
    missing_rates,
    split_marks,
)
from spacy_spanner.spans.table import SpanTable

LENGTH, N_LABELS = 5, 2


def rates_of(incomplete=(), negative=(), gold=(), overlap="any"):
    """RETURNS (Floats): the rates of one window. (start, last, label)"""
    marks = Marks(SpanTable.of(incomplete), SpanTable.of(negative))
    lengths = np.asarray([LENGTH])
    found = missing_rates([marks], [SpanTable.of(gold)], lengths, N_LABELS, overlap)
    return None if found is None else found[0]


def test_complete_annotation_has_no_rates() -> None:
    assert rates_of(negative=[(0, 1, 0)], gold=[(1, 2, 1)]) is None


def test_spans_that_touch_a_region_may_be_missing() -> None:
    rates = rates_of([(1, 3, 1, 0.5)])
    for start in range(LENGTH):
        for last in range(LENGTH):
            touches = start <= last and start < 3 and last >= 1
            assert rates[start, last].tolist() == [0.0, 0.5 * touches]


def test_what_is_known_is_not_missing() -> None:
    rates = rates_of(
        [(0, LENGTH, EVERY_LABEL, 0.5)],
        negative=[(0, 2, 1), (3, 4, EVERY_LABEL)],
        gold=[(1, 3, 0)],
    )
    assert rates[0, 1].tolist() == [0.5, 0.0]
    assert rates[3, 3].tolist() == [0.0, 0.0]
    assert rates[1, 2].tolist() == [0.0, 0.5]
    assert (rates > 0).sum() == 15 * N_LABELS - 1 - 2 - 1


@pytest.mark.parametrize(
    "overlap, crossing, inside", [("any", 1, 1), ("nested", 0, 1), ("flat", 0, 0)]
)
def test_conflicts_with_entities_are_known(
    overlap: str, crossing: int, inside: int
) -> None:
    rates = rates_of([(0, LENGTH, EVERY_LABEL, 1.0)], gold=[(1, 4, 0)], overlap=overlap)
    assert rates[0, 2].tolist() == [crossing] * 2
    assert rates[2, 2].tolist() == [inside] * 2
    assert rates[4, 4].tolist() == [1, 1]


def test_the_higher_of_two_rates_counts() -> None:
    rates = rates_of([(0, 2, EVERY_LABEL, 0.5), (1, 3, 0, 1.0)])
    assert rates[0, 0].tolist() == [0.5, 0.5]
    assert rates[1, 1].tolist() == [1.0, 0.5]
    assert rates[2, 2].tolist() == [1.0, 0.0]


def test_windows_get_their_part_of_the_marks() -> None:
    marks = Marks(
        SpanTable.of([(2, 6, EVERY_LABEL, 0.5)]), SpanTable.of([(3, 5, 1), (4, 5, 0)])
    )
    first, second, third = split_marks(
        marks, np.asarray([0, 4, 7]), np.asarray([4, 7, 9])
    )
    assert [row[:3] for row in first.incomplete.rows()] == [(2, 4, EVERY_LABEL)]
    assert [row[:3] for row in second.incomplete.rows()] == [(0, 2, EVERY_LABEL)]
    assert first.negative.n_spans == 0
    assert [row[:3] for row in second.negative.rows()] == [(0, 1, 0)]
    assert third.incomplete.n_spans == 0


places = st.tuples(st.integers(0, 5), st.integers(1, 5)).map(
    lambda pair: (min(pair[0], 5), min(pair[0], 5) + pair[1])
)
labels = st.integers(EVERY_LABEL, N_LABELS - 1)


@given(
    st.lists(st.lists(st.tuples(places, labels), max_size=3), min_size=1, max_size=3)
)
def test_windows_do_not_depend_on_each_other(windows: list) -> None:
    tables = [
        SpanTable.of([(*place, label, 0.5) for place, label in rows])
        for rows in windows
    ]
    gold = [
        SpanTable.of([(*place, max(label, 0)) for place, label in rows[:1]])
        for rows in windows
    ]
    lengths = np.full(len(windows), 10)
    marks = [Marks(table, SpanTable.empty()) for table in tables]
    together = missing_rates(marks, gold, lengths, N_LABELS, "nested")
    for index, one in enumerate(marks):
        alone = missing_rates([one], [gold[index]], lengths[:1], N_LABELS, "nested")
        if alone is None:
            assert together is None or not together[index].any()
        else:
            np.testing.assert_array_equal(together[index], alone[0])
