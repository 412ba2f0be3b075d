"""Pairs of gold and predicted spans, kinds of errors, confusion, partial scores."""

import random
from typing import Any, Dict, List, Set, Tuple

import pytest
from hypothesis import given
from nervaluate import Evaluator

from spacy_spanner.evaluation.counts import Reading, SpanKey
from spacy_spanner.evaluation.error_analysis import (
    NONE,
    boundary_errors,
    boundary_kind,
    frequent_confusions,
    label_confusion,
    offset_table,
)
from spacy_spanner.evaluation.matching import (
    PARTIAL_SCORES,
    any_pair,
    count_kinds,
    match_reading,
    overlap_ratio,
    pair_spans,
    partial_scores,
    same_label,
)

from .test_counts import SPANS, reading

GOLD = {(0, 4, "A"), (1, 2, "B"), (6, 8, "A"), (10, 12, "B"), (14, 15, "A")}
FOUND = {(0, 4, "A"), (1, 2, "A"), (6, 9, "A"), (11, 13, "A"), (20, 21, "A")}


def test_match_reading_by_hand() -> None:
    assert match_reading(reading(GOLD, FOUND)) == [
        ((0, 4, "A"), (0, 4, "A"), "correct"),
        ((1, 2, "B"), (1, 2, "A"), "label"),
        ((6, 8, "A"), (6, 9, "A"), "boundary"),
        ((10, 12, "B"), (11, 13, "A"), "both"),
        ((14, 15, "A"), None, "missed"),
        (None, (20, 21, "A"), "spurious"),
    ]


def test_count_kinds_by_hand() -> None:
    counts = count_kinds(match_reading(reading(GOLD, FOUND)))
    assert counts == dict.fromkeys(counts, 1)
    assert count_kinds([]) == dict.fromkeys(counts, 0)


def test_pairs_largest_overlap_first() -> None:
    # Both predicted spans overlap the gold span; (0, 3) shares 3 of 4 tokens.
    pairs = pair_spans({(0, 4, "A")}, {(0, 3, "A"), (2, 4, "A")}, same_label)
    assert pairs == [((0, 4, "A"), (0, 3, "A"))]
    pairs = pair_spans({(0, 4, "A")}, {(0, 1, "A"), (1, 4, "A")}, same_label)
    assert pairs == [((0, 4, "A"), (1, 4, "A"))]
    assert overlap_ratio((0, 4, "A"), (2, 6, "A")) == pytest.approx(2 / 6)
    # The place in the text does not count.
    assert overlap_ratio((7, 11, "A"), (9, 13, "A")) == pytest.approx(2 / 6)
    assert overlap_ratio((7, 8, "A"), (9, 13, "A")) == 0.0


def test_pairs_of_nested_spans_find_their_like() -> None:
    gold = {(0, 9, "A"), (2, 4, "A")}
    found = {(0, 8, "A"), (2, 5, "A")}
    pairs = pair_spans(gold, found, any_pair)
    assert sorted(pairs) == [((0, 9, "A"), (0, 8, "A")), ((2, 4, "A"), (2, 5, "A"))]


@given(SPANS, SPANS)
def test_pairs_share_tokens_and_use_each_span_once(gold: Set, found: Set) -> None:
    pairs = pair_spans(gold, found, any_pair)
    for wanted, answer in pairs:
        assert wanted[0] < answer[1] and answer[0] < wanted[1]
    assert len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
    left = [gold - {pair[0] for pair in pairs}, found - {pair[1] for pair in pairs}]
    assert not any(
        one[0] < two[1] and two[0] < one[1] for one in left[0] for two in left[1]
    )


@given(SPANS, SPANS)
def test_match_reading_explains_every_span_once(gold: Set, found: Set) -> None:
    matches = match_reading(reading(gold, found))
    assert sorted(match.gold for match in matches if match.gold) == sorted(gold)
    predicted = sorted(match.predicted for match in matches if match.predicted)
    assert predicted == sorted(found)
    n_correct = sum(match.kind == "correct" for match in matches)
    assert n_correct == len(gold & found)


# ------------------------------------------------------------------ confusion


def test_label_confusion_by_hand() -> None:
    table = label_confusion(match_reading(reading(GOLD, FOUND)))
    assert table["labels"] == ["A", "B", NONE]
    # A: 2 pairs, 1 missed. B: taken for A twice. 1 spurious A.
    assert table["counts"] == [[2, 0, 1], [2, 0, 0], [1, 0, 0]]
    assert frequent_confusions(table, 5) == [
        {"gold": "B", "predicted": "A", "spans": 2}
    ]
    assert frequent_confusions(table, 0) == []


def test_label_confusion_without_spans() -> None:
    assert label_confusion([]) == {"labels": [NONE], "counts": [[0]]}


@pytest.mark.parametrize(
    "start,end,kind",
    [
        (-1, 0, "longer"),
        (0, 2, "longer"),
        (-1, 1, "longer"),
        (1, 0, "shorter"),
        (0, -1, "shorter"),
        (1, -1, "shorter"),
        (1, 1, "shifted"),
        (-1, -2, "shifted"),
    ],
)
def test_boundary_kind(start: int, end: int, kind: str) -> None:
    assert boundary_kind(start, end) == kind


def test_boundary_errors_and_offsets_by_hand() -> None:
    matches = match_reading(reading(GOLD, FOUND))
    # (6, 8) became (6, 9), and (10, 12) became (11, 13).
    assert boundary_errors(matches) == {"longer": 1, "shorter": 0, "shifted": 1}
    table = offset_table(matches, limit=2)
    assert table["offsets"] == [-2, -1, 0, 1, 2]
    assert table["counts"][2] == [0, 0, 2, 1, 0]  # the start is right
    assert table["counts"][3] == [0, 0, 0, 1, 0]  # the start is one too late


def test_offsets_beyond_the_limit_count_at_the_edge() -> None:
    matches = match_reading(reading({(5, 6, "A")}, {(0, 20, "A")}))
    assert offset_table(matches, limit=1)["counts"] == [[0, 0, 1], [0] * 3, [0] * 3]


# -------------------------------------------------------------- partial scores


def test_partial_scores_by_hand() -> None:
    scores = partial_scores([reading(GOLD, FOUND)])
    credit = {name: row["credit"] for name, row in scores.items()}
    # Type: the gold has 3 A and 2 B, the prediction 5 A.
    expected = {"strict": 1, "exact": 2, "overlap_type": 2, "partial": 3, "type": 3}
    assert credit == expected
    assert scores["exact"]["p"] == scores["exact"]["r"] == pytest.approx(0.4)
    assert list(scores) == list(PARTIAL_SCORES)


def test_partial_scores_without_spans_are_none() -> None:
    assert partial_scores([reading(set(), set())])["partial"]["f"] is None
    assert partial_scores([])["strict"]["p"] is None
    assert partial_scores([reading({(0, 1, "A")}, set())])["partial"]["f"] == 0.0


def random_flat(rng: random.Random) -> Tuple[Set[SpanKey], Set[SpanKey]]:
    """Make gold and predicted spans that overlap at most one other span.

    There, pairs are beyond doubt; elsewhere nervaluate takes the first in the list.
    """
    sides: Tuple[Set[SpanKey], Set[SpanKey]] = (set(), set())
    for slot in range(0, 60, 6):
        for side in sides:
            start = slot + rng.randrange(3)
            if rng.random() < 0.8:
                side.add((start, start + rng.randrange(1, 4), rng.choice("ABC")))
    return sides


def as_dicts(spans: Set[SpanKey]) -> List[Dict[str, Any]]:
    """Write spans as nervaluate reads them: ends are inclusive."""
    return [
        {"label": label, "start": start, "end": end - 1}
        for start, end, label in sorted(spans)
    ]


def test_partial_scores_equal_nervaluate() -> None:
    rng = random.Random(0)
    pairs = [random_flat(rng) for _ in range(40)]
    scores = partial_scores([reading(*pair) for pair in pairs])
    sides = [[as_dicts(side) for side in column] for column in zip(*pairs)]
    evaluator = Evaluator(*sides, tags=list("ABC"), loader="dict")
    expected = evaluator.evaluate()["overall"]
    names = {"strict": "strict", "exact": "exact"}
    names.update(ent_type="overlap_type", partial="partial")
    for theirs, ours in names.items():
        found = [scores[ours][letter] for letter in "prf"]
        result = expected[theirs]
        assert 0 < result.f1 < 1
        assert found == pytest.approx([result.precision, result.recall, result.f1])


@given(SPANS, SPANS)
def test_partial_scores_are_ordered(gold: Set, found: Set) -> None:
    scores = partial_scores([Reading(gold, dict.fromkeys(found), [])])
    credit = {name: row["credit"] for name, row in scores.items()}
    assert credit["strict"] <= credit["exact"]
    assert credit["strict"] <= credit["overlap_type"] <= credit["type"]
    assert max(credit.values()) <= min(len(gold), len(found))
