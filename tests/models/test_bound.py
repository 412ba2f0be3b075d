"""The best candidates of each window: by a transcription that sorts one window."""

import random
from typing import List, Sequence, Tuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.bound import keep_best, keep_best_of_parts
from spacy_spanner.models.scored_spans import NO_SPAN, Candidates

Row = Tuple[int, int, int, int, float]  # window, start, end, label, score


@st.composite
def candidate_rows(draw: st.DrawFn) -> List[Row]:
    """Rows in any order, with ties, and with scores that differ by rounding only."""
    places = st.tuples(
        st.integers(0, 3), st.integers(0, 3), st.integers(1, 3), st.integers(0, 2)
    )
    found = []
    for window, start, width, label in draw(st.lists(places, unique=True)):
        score = draw(st.sampled_from([0.0, 0.25, 0.5, 0.500001, 1.0]))
        found.append((window, start, start + width, label, score))
    return found


def table(rows: Sequence[Row]) -> Candidates:
    columns = list(zip(*rows)) or [()] * 5
    *places, scores = columns
    ints = [torch.tensor(column, dtype=torch.int64) for column in places]
    return Candidates(*ints, torch.tensor(scores, dtype=torch.float32))


def places_of(found: Candidates) -> List[Tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in found[:4])))


def best_by_definition(rows: Sequence[Row], most: int) -> List[Tuple[int, ...]]:
    kept = set()
    for window in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == window]
        mine.sort(key=lambda row: (-round(row[4], 4), *row[1:4]))
        kept.update(row[:4] for row in mine[:most])
    return [row[:4] for row in rows if row[:4] in kept]


@given(candidate_rows(), st.integers(1, 6))
def test_keep_best_sorts_each_window(rows: List[Row], most: int) -> None:
    kept = keep_best(table(rows), most)
    assert places_of(kept) == best_by_definition(rows, most)


@given(candidate_rows(), st.integers(1, 6), st.integers(1, 5))
def test_keep_best_of_parts_equals_that_of_the_whole(
    rows: List[Row], most: int, size: int
) -> None:
    parts = [table(rows[place : place + size]) for place in range(0, len(rows), size)]
    kept, dropped = keep_best_of_parts(parts or [table([])], most)
    assert sorted(places_of(kept)) == sorted(best_by_definition(rows, most))
    assert dropped == (len(kept.score) < len(rows))


def test_keep_best_of_parts_without_a_limit_keeps_all() -> None:
    parts = [table([(0, 0, 1, 0, 0.5)]), table([(0, 0, 1, 1, 0.25)])]
    kept, dropped = keep_best_of_parts(parts, None)
    assert kept.score.tolist() == [0.5, 0.25]
    assert not dropped


@pytest.mark.parametrize("most", range(1, 60))
def test_keep_best_of_equal_scores_takes_the_first_by_start_end_and_label(
    most: int,
) -> None:
    spans = [(s, e) for s in range(5) for e in range(s + 1, 6)]
    rows: List[Row] = [(0, s, e, label, 0.5) for s, e in spans for label in range(4)]
    random.Random(most).shuffle(rows)
    kept = places_of(keep_best(table(rows), most))
    assert sorted(kept) == sorted(row[:4] for row in rows)[:most]


def test_keep_best_leaves_uncrowded_windows_alone() -> None:
    rows: List[Row] = [(1, 0, 1, 0, 0.1), (0, 0, 1, 0, 0.2), (0, 1, 2, 0, 0.3)]
    assert places_of(keep_best(table(rows), 1)) == [(1, 0, 1, 0), (0, 1, 2, 0)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_keep_best_reads_scores_of_any_precision(dtype: torch.dtype) -> None:
    found = table([(0, 0, 1, 0, 0.25), (0, 1, 2, 0, 0.5)])
    kept = keep_best(found._replace(score=found.score.to(dtype)), 1)
    assert kept.start.tolist() == [1]
    assert kept.score.dtype == dtype


def test_keep_best_of_long_windows_and_many_labels_does_not_overflow() -> None:
    end, label = 10**5, 10**3
    rows: List[Row] = [(0, end - 2, end, label, 0.1), (0, 0, end, 0, 0.0)]
    assert places_of(keep_best(table(rows), 1)) == [rows[0][:4]]


@given(candidate_rows(), st.integers(1, 6), st.integers(1, 6))
def test_candidates_that_are_none_take_no_place(
    rows: List[Row], most: int, slack: int
) -> None:
    none = [(*row[:4], NO_SPAN) for row in rows[::2]]
    both = [*none, *rows]
    found, _ = keep_best_of_parts([table(both)], most, slack=slack)
    every = [row[:4] for row in rows]
    expected = every if len(both) <= slack else best_by_definition(rows, most)
    assert places_of(found.real()) == expected
