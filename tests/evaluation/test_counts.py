"""Groups of spans and what is counted in each."""

from typing import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.evaluation.counts import (
    Counts,
    Reading,
    SpanKey,
    by_length,
    by_nesting,
    by_nothing,
    by_type,
    count_groups,
    crossing_spans,
    f_beta,
    length_class,
    macro_average,
    nested_spans,
    shortest_length,
)

SPANS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(1, 5), st.sampled_from("AB")).map(
        lambda row: (row[0], row[0] + row[1], row[2])
    ),
    max_size=8,
)


def reading(gold: Set, predicted: Set) -> Reading:
    return Reading(gold, dict.fromkeys(predicted), [])


def above(found: Reading, threshold: float) -> Reading:
    """RETURNS (Reading): the reading without predicted spans below a threshold."""
    kept = {k: score for k, score in found.predicted.items() if score >= threshold}
    return found._replace(predicted=kept)


def test_counts_by_hand() -> None:
    counts = Counts(found=1, gold=4, right=1, predicted=2)
    assert (counts.precision, counts.recall) == (0.5, 0.25)
    assert counts.f_score == pytest.approx(1 / 3)
    assert Counts().as_dict()["f"] is None
    assert Counts(gold=1).as_dict()["f"] == 0.0


def test_f_beta_by_hand() -> None:
    # (1 + 4) x 0.5 x 0.25 / (4 x 0.5 + 0.25)
    assert f_beta(0.5, 0.25, 2) == pytest.approx(0.625 / 2.25)
    assert f_beta(0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    "width,name", [(1, "1"), (5, "5"), (6, "6-9"), (9, "6-9"), (10, "10+"), (99, "10+")]
)
def test_length_class(width: int, name: str) -> None:
    assert length_class(width) == name


@pytest.mark.parametrize("width", range(1, 12))
def test_shortest_length_is_the_smallest_of_its_class(width: int) -> None:
    shortest = shortest_length(length_class(width))
    assert shortest <= width
    assert length_class(shortest) == length_class(width)
    assert shortest == 1 or length_class(shortest - 1) != length_class(width)


def test_count_groups_by_hand() -> None:
    gold = {(0, 4, "A"), (1, 2, "B"), (6, 8, "A")}
    readings = [
        reading(gold, {(0, 4, "A"), (1, 2, "A")}),
        reading(set(), {(0, 1, "B")}),
    ]
    assert count_groups(readings, by_type) == {
        "A": Counts(found=1, gold=2, right=1, predicted=2),
        "B": Counts(found=0, gold=1, right=0, predicted=1),
    }
    assert count_groups(readings, by_length) == {
        "1": Counts(found=0, gold=1, right=0, predicted=2),
        "2": Counts(found=0, gold=1, right=0, predicted=0),
        "4": Counts(found=1, gold=1, right=1, predicted=1),
    }
    assert count_groups(readings, by_nesting) == {
        "flat": Counts(found=0, gold=1, right=0, predicted=1),
        "nested": Counts(found=1, gold=2, right=1, predicted=2),
    }


@given(st.lists(st.tuples(SPANS, SPANS), max_size=4))
def test_groups_partition_the_spans(pairs: list) -> None:
    readings = [reading(*pair) for pair in pairs]
    total = count_groups(readings, by_nothing).get("all", Counts())
    for group in (by_type, by_length, by_nesting):
        summed = Counts()
        for counts in count_groups(readings, group).values():
            summed = summed.plus(counts)
        assert summed == total


def test_macro_average_by_hand() -> None:
    by_label = {"A": Counts(1, 1, 1, 1), "B": Counts(0, 1, 0, 2)}
    assert macro_average(by_label) == {"p": 0.5, "r": 0.5, "f": 0.5}
    assert macro_average({}) == {"p": None, "r": None, "f": None}


def test_nested_spans_by_hand() -> None:
    spans = {(0, 5, "A"), (1, 2, "B"), (3, 4, "A"), (5, 6, "A"), (7, 8, "A")}
    assert nested_spans(spans) == {(0, 5, "A"), (1, 2, "B"), (3, 4, "A")}
    assert nested_spans({(0, 1, "A"), (0, 1, "B"), (1, 2, "A")}) == {
        (0, 1, "A"),
        (0, 1, "B"),
    }
    assert nested_spans(set()) == set()


@given(SPANS)
def test_nested_spans_equal_the_comparison_of_all_pairs(spans: Set) -> None:
    expected = {
        one
        for one in spans
        if any(two != one and two[0] < one[1] and one[0] < two[1] for two in spans)
    }
    assert nested_spans(spans) == expected


@pytest.mark.parametrize(
    "spans, crossing",
    [
        ({(0, 2, "A"), (1, 3, "A")}, {(0, 2, "A"), (1, 3, "A")}),
        ({(0, 3, "A"), (1, 3, "A")}, set()),
        ({(0, 3, "A"), (0, 2, "B")}, set()),
        ({(0, 2, "A"), (2, 3, "A")}, set()),
        ({(0, 9, "A"), (1, 3, "A"), (2, 5, "B")}, {(1, 3, "A"), (2, 5, "B")}),
    ],
)
def test_crossing_spans(spans: set, crossing: set) -> None:
    assert crossing_spans(spans) == crossing


@given(SPANS)
def test_crossing_spans_are_those_of_all_pairs(
    spans: Set[SpanKey],
) -> None:
    def cross(a: tuple, b: tuple) -> bool:
        return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]

    expected = {a for a in spans if any(cross(a, b) for b in spans)}
    assert crossing_spans(spans) == expected
