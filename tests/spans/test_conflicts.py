"""Conflicts with a set of spans: by transcriptions that compare all pairs."""

from typing import List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.conflicts import (
    NOTHING,
    conflict_with_any,
    count_overlaps,
    range_maxima,
)
from spacy_spanner.spans.overlap import OVERLAP_POLICIES
from spacy_spanner.spans.table import Ints

Row = Tuple[int, int]
SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda x: (x[0], sum(x))),
    max_size=30,
)


def columns(rows: List[Row]) -> Tuple[Ints, Ints]:
    starts, ends = np.asarray(rows, dtype=np.int64).reshape(-1, 2).T
    return starts, ends


def conflict(one: Row, two: Row, policy: str) -> bool:
    """The policies, said with sets of tokens."""
    first, second = set(range(*one)), set(range(*two))
    if policy == "any" or not first & second:
        return False
    return policy == "flat" or not (first <= second or second <= first)


@given(SPANS, SPANS, st.sampled_from(OVERLAP_POLICIES))
def test_conflict_with_any_compares_all_pairs(
    spans: List[Row], others: List[Row], policy: str
) -> None:
    found = conflict_with_any(*columns(spans), *columns(others), policy)
    assert found.tolist() == [
        any(conflict(one, two, policy) for two in others) for one in spans
    ]


@given(SPANS, SPANS)
def test_count_overlaps_counts_each_other_once(
    spans: List[Row], others: List[Row]
) -> None:
    counts = count_overlaps(*columns(spans), *columns(others))
    assert counts.tolist() == [
        sum(conflict(one, two, "flat") for two in others) for one in spans
    ]


@given(
    st.lists(st.integers(-50, 50), max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=20),
)
def test_range_maxima_reads_each_range(values: List[int], ranges: List[Row]) -> None:
    limit = len(values)
    low, high = columns([(min(a, limit), min(b, limit)) for a, b in ranges])
    maxima = range_maxima(np.asarray(values, dtype=np.int64), low, high)
    assert maxima.tolist() == [
        max(values[first:end], default=NOTHING) for first, end in zip(low, high)
    ]


@pytest.mark.parametrize("policy", OVERLAP_POLICIES)
def test_conflict_with_any_of_nothing(policy: str) -> None:
    nothing, spans = columns([]), columns([(0, 2), (1, 3)])
    assert conflict_with_any(*nothing, *spans, policy).tolist() == []
    assert conflict_with_any(*spans, *nothing, policy).tolist() == [False, False]
