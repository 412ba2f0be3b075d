"""Inclusive or exclusive ends: detected, or given by the user, never guessed."""

from typing import List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.corpus.formats.nested_json import Extent, resolve_ends

Rows = List[Tuple[int, int, int, int]]


def settle(rows: Rows, ends: str = "auto") -> int:
    return resolve_ends((Extent(*row) for row in rows), ends, "x.json", lambda _: None)


@pytest.mark.parametrize(
    "rows, added",
    [
        pytest.param([(0, 1, 5, 1), (2, 2, 5, 2)], 1, id="one token, inclusive"),
        pytest.param([(0, 0, 1, 1)], 1, id="the only token, inclusive"),
        pytest.param([(0, 1, 5, 1), (2, 5, 5, 2)], 0, id="to the end, exclusive"),
        pytest.param([(0, 1, 1, 1)], 0, id="the only token, exclusive"),
        pytest.param([], 0, id="no entity"),
        pytest.param([(5, 5, 5, 1), (1, 1, 5, 2)], 1, id="empty at the end, inclusive"),
        pytest.param([(5, 5, 5, 1), (1, 5, 5, 2)], 0, id="empty at the end, exclusive"),
        pytest.param([(1, 9, 5, 1), (1, 1, 5, 2)], 1, id="too long, inclusive"),
    ],
)
def test_resolve_ends_finds_evidence(rows: Rows, added: int) -> None:
    assert settle(rows) == added


def test_resolve_ends_names_the_line_that_tells() -> None:
    notes: List[str] = []
    rows = [Extent(0, 1, 5, 1), Extent(3, 3, 5, 7), Extent(4, 4, 5, 8)]
    resolve_ends(rows, "auto", "x.json", notes.append)
    assert notes == ["x.json: ends are inclusive, because of line 7"]


def test_resolve_ends_without_evidence_asks() -> None:
    with pytest.raises(ValueError, match=r"SP051.*x\.json, line 4.*--ends"):
        settle([(0, 1, 5, 4), (1, 3, 5, 6)])


def test_resolve_ends_of_contradictions_names_both_lines() -> None:
    with pytest.raises(ValueError, match=r"SP052.*line 2.*line 9"):
        settle([(1, 1, 5, 2), (0, 5, 5, 9)])


@pytest.mark.parametrize("ends, added", [("inclusive", 1), ("exclusive", 0)])
def test_resolve_ends_believes_the_user(ends: str, added: int) -> None:
    assert settle([(1, 1, 5, 2), (0, 5, 5, 9)], ends) == added


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4)).map(
            lambda row: (row[0], row[0] + row[1] + 1, row[0] + row[1] + row[2])
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_resolve_ends_is_right_or_asks(
    spans: List[Tuple[int, int, int]], inclusive: bool
) -> None:
    """Whatever is found is the truth: what does not tell is asked."""
    rows = [(s, e - inclusive, n, line) for line, (s, e, n) in enumerate(spans, 1)]
    try:
        added = settle(rows)
    except ValueError as error:
        assert str(error).startswith("[SP051]")
    else:
        assert added == inclusive
