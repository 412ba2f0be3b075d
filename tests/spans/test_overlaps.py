"""The choice among spans that overlap, by hand and by its laws."""

from itertools import combinations
from random import Random
from typing import Dict, List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans import overlap
from spacy_spanner.spans.overlap import (
    OVERLAP_POLICIES,
    choose_in_order,
    resolve_overlaps,
)
from spacy_spanner.spans.table import Bools, Ints, ScoredSpan, SpanTable

Row = Tuple[int, int, int, float]

# ------------------------------------------------------------------ selection


def resolved(rows: List[Row], policy: str) -> List[Tuple[int, ...]]:
    return [row[:3] for row in resolve_overlaps(SpanTable.of(rows), policy).rows()]


@pytest.mark.parametrize(
    "policy, expected",
    [("flat", [(1, 3, 0)]), ("nested", [(0, 5, 0), (1, 3, 0)])],
)
def test_resolve_overlaps_of_a_span_inside_another(
    policy: str, expected: List[Tuple[int, ...]]
) -> None:
    assert resolved([(0, 5, 0, 0.5), (1, 3, 0, 0.75)], policy) == expected


@pytest.mark.parametrize("policy", ["flat", "nested"])
def test_resolve_overlaps_of_crossing_spans_keeps_the_higher_score(policy: str) -> None:
    assert resolved([(0, 3, 0, 0.5), (2, 5, 0, 0.75)], policy) == [(2, 5, 0)]


def test_resolve_overlaps_with_any_keeps_crossing_spans() -> None:
    rows = [(2, 5, 0, 0.75), (0, 3, 0, 0.5)]
    assert resolved(rows, "any") == [(0, 3, 0), (2, 5, 0)]


@pytest.mark.parametrize("policy", ["flat", "nested"])
def test_resolve_overlaps_of_a_chain_frees_what_a_dropped_span_blocked(
    policy: str,
) -> None:
    chain = [(0, 3, 0, 0.75), (2, 5, 0, 0.5), (4, 7, 0, 0.25)]
    assert resolved(chain, policy) == [(0, 3, 0), (4, 7, 0)]


@pytest.mark.parametrize("policy", ["flat", "nested"])
def test_resolve_overlaps_of_a_chain_led_by_its_middle(policy: str) -> None:
    chain = [(0, 3, 0, 0.5), (2, 5, 0, 0.75), (4, 7, 0, 0.25)]
    assert resolved(chain, policy) == [(2, 5, 0)]


def test_resolve_overlaps_of_a_long_chain_keeps_every_other() -> None:
    chain = [(2 * i, 2 * i + 3, 0, 1 - i / 8) for i in range(5)]
    assert resolved(chain, "nested") == [(0, 3, 0), (4, 7, 0), (8, 11, 0)]


@pytest.mark.parametrize("policy", ["flat", "nested"])
def test_resolve_overlaps_of_a_tie_prefers_the_earlier_start(policy: str) -> None:
    assert resolved([(2, 5, 0, 0.5), (0, 3, 0, 0.5)], policy) == [(0, 3, 0)]


def test_resolve_overlaps_of_a_tie_with_one_start_prefers_the_earlier_end() -> None:
    assert resolved([(0, 3, 0, 0.5), (0, 2, 0, 0.5)], "flat") == [(0, 2, 0)]


def test_resolve_overlaps_of_a_tie_with_same_boundaries_prefers_the_lower_label() -> (
    None
):
    assert resolved([(0, 2, 1, 0.5), (0, 2, 0, 0.5)], "flat") == [(0, 2, 0)]


@pytest.mark.parametrize("policy", ["nested", "any"])
def test_resolve_overlaps_keeps_several_labels_on_one_span(policy: str) -> None:
    rows = [(0, 2, 1, 0.75), (0, 2, 0, 0.5)]
    assert resolved(rows, policy) == [(0, 2, 0), (0, 2, 1)]


def test_resolve_overlaps_when_flat_keeps_the_best_label_of_a_span() -> None:
    assert resolved([(0, 2, 0, 0.5), (0, 2, 1, 0.75)], "flat") == [(0, 2, 1)]


@pytest.mark.parametrize("policy", OVERLAP_POLICIES)
def test_resolve_overlaps_keeps_adjacent_spans(policy: str) -> None:
    rows = [(0, 2, 0, 0.5), (2, 3, 0, 0.75), (3, 5, 0, 0.25)]
    assert resolved(rows, policy) == [(0, 2, 0), (2, 3, 0), (3, 5, 0)]


@pytest.mark.parametrize("policy", OVERLAP_POLICIES)
def test_resolve_overlaps_merges_duplicates_with_the_best_score(policy: str) -> None:
    table = SpanTable.of([(0, 2, 0, 0.25), (0, 2, 0, 0.75)])
    assert resolve_overlaps(table, policy).rows() == [ScoredSpan(0, 2, 0, 0.75)]


@pytest.mark.parametrize("policy", OVERLAP_POLICIES)
def test_resolve_overlaps_of_nothing_is_empty(policy: str) -> None:
    assert resolve_overlaps(SpanTable.empty(), policy).n_spans == 0


def test_resolve_overlaps_keeps_each_span_with_its_own_score() -> None:
    rows = [(4, 6, 1, 0.25), (0, 5, 0, 0.75), (1, 2, 1, 0.5)]
    chosen = resolve_overlaps(SpanTable.of(rows), "nested").rows()
    assert chosen == [ScoredSpan(0, 5, 0, 0.75), ScoredSpan(1, 2, 1, 0.5)]


def test_choose_in_order_prefers_what_comes_first_whatever_its_score() -> None:
    table = SpanTable.of([(2, 5, 0, 0.25), (0, 3, 0, 0.75), (6, 7, 0, 0.5)])
    chosen = choose_in_order(table, "nested").rows()
    assert [row[:2] for row in chosen] == [(2, 5), (6, 7)]


# ----------------------------------------------------------------- properties


@st.composite
def candidate_lists(draw: st.DrawFn) -> List[Row]:
    size = draw(st.integers(0, 14))
    rows = []
    for _ in range(size):
        start = draw(st.integers(0, 9))
        end = start + draw(st.integers(1, 5))
        # Few values, so that ties and duplicates are frequent; exact in float32.
        score = draw(st.sampled_from([0.25, 0.5, 0.75]))
        rows.append((start, end, draw(st.integers(0, 1)), score))
    return rows


def forbidden(a: Row, b: Row, policy: str) -> bool:
    """The policies, said with sets of tokens."""
    first, second = set(range(*a[:2])), set(range(*b[:2]))
    if policy == "any" or not first & second:
        return False
    return policy == "flat" or not (first <= second or second <= first)


def naive_choice(rows: List[Row], policy: str) -> List[Row]:
    best: Dict[Tuple[int, int, int], float] = {}
    for start, end, label, score in rows:
        span = start, end, label
        best[span] = max(score, best.get(span, 0.0))
    candidates: List[Row] = [(*span, score) for span, score in best.items()]
    candidates.sort(key=lambda row: (-row[3], *row[:3]))
    kept: List[Row] = []
    for row in candidates:
        if not any(forbidden(row, other, policy) for other in kept):
            kept.append(row)
    return sorted(kept, key=lambda row: (row[0], -row[1], row[2]))


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES))
def test_resolve_overlaps_equals_naive_greedy_selection(
    rows: List[Row], policy: str
) -> None:
    chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    assert chosen == naive_choice(rows, policy)


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES), st.integers(1, 3))
def test_resolve_overlaps_in_small_blocks_equals_naive_greedy_selection(
    rows: List[Row], policy: str, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "BLOCK", size)
        chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    assert chosen == naive_choice(rows, policy)


@pytest.mark.parametrize("policy", ["flat", "nested"])
@pytest.mark.parametrize("n_spans", [4_000, 8_000])
def test_choose_in_order_visits_only_a_part_of_many_spans(
    policy: str, n_spans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = []
    visit = getattr(overlap, f"_visit_{policy}")

    def counting(starts: Ints, ends: Ints) -> Bools:
        visited.append(len(starts))
        kept: Bools = visit(starts, ends)
        return kept

    monkeypatch.setattr(overlap, f"_visit_{policy}", counting)
    monkeypatch.setattr(overlap, "BLOCK", 64)
    rng = np.random.default_rng(0)
    start = rng.integers(0, n_spans // 10, n_spans)
    end = start + rng.integers(2, 30, n_spans)
    score = np.zeros(n_spans, dtype=np.float32)
    choose_in_order(SpanTable(start, end, start, score), policy)
    # A part of the spans that does not grow with their number.
    assert sum(visited) < 0.2 * n_spans
    assert len(visited) < 10


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES))
def test_resolve_overlaps_leaves_no_forbidden_pair(
    rows: List[Row], policy: str
) -> None:
    chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    assert not any(forbidden(a, b, policy) for a, b in combinations(chosen, 2))


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES))
def test_resolve_overlaps_returns_distinct_spans_in_document_order(
    rows: List[Row], policy: str
) -> None:
    chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    places = [(start, -end, label) for start, end, label, _ in chosen]
    assert places == sorted(set(places))


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES), st.randoms())
def test_resolve_overlaps_does_not_depend_on_input_order(
    rows: List[Row], policy: str, random: Random
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    assert resolve_overlaps(SpanTable.of(shuffled), policy).rows() == chosen


@given(candidate_lists(), st.sampled_from(OVERLAP_POLICIES))
def test_resolve_overlaps_drops_a_span_only_for_a_better_or_equal_one(
    rows: List[Row], policy: str
) -> None:
    chosen = resolve_overlaps(SpanTable.of(rows), policy).rows()
    for row in set(rows) - set(chosen):
        assert any(
            other.score >= row[3]
            and (other[:3] == row[:3] or forbidden(row, other, policy))
            for other in chosen
        )
