"""Candidates are found by their place, and say what could stand in place of a span."""

from typing import Set

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.evaluation.counts import SpanKey
from spacy_spanner.review.evidence import Evidence, Item, Scores

from .helpers import make_corpus, reading

spans = st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("XY")).map(
    lambda row: (row[0], row[0] + row[1], row[2])
)


@given(st.sets(spans), spans)
def test_overlapping_candidates_are_those_that_share_a_token(
    candidates: Set[SpanKey], span: SpanKey
) -> None:
    found = Scores(dict.fromkeys(candidates, 0.5)).overlapping(span)
    expected = {one for one in candidates if one[0] < span[1] and span[0] < one[1]}
    assert set(found) == expected and len(found) == len(expected)


WORDS = [["a", "b", "c", "d", "e"]]
GOLD = (1, 4, "X")


def test_alternatives_are_the_best_candidates_that_are_not_annotated() -> None:
    scores = {
        (1, 4, "Y"): 0.5,
        (1, 3, "X"): 0.4,
        (1, 5, "X"): 0.6,
        (3, 5, "X"): 0.7,  # overlaps by too little
        (2, 4, "X"): 0.9,  # annotated
    }
    evidence = Evidence(WORDS, [reading([GOLD, (2, 4, "X")], scores)])
    found = evidence.alternatives(Item(0, GOLD, GOLD))
    assert found.relabelled == (0.5, (1, 4, "Y"))
    assert found.moved == (0.6, (1, 5, "X"))
    assert found.rival == (0.7, (3, 5, "X"))
    assert evidence.scores[0].of(GOLD) == 0.0


def test_alternative_of_a_planted_error_is_what_it_replaces() -> None:
    evidence = Evidence(WORDS, [reading([GOLD], {GOLD: 0.8})])
    planted = Item(0, (1, 4, "Y"), GOLD)
    assert evidence.alternatives(planted).relabelled == (0.8, GOLD)


def test_features_are_finite_and_as_many_for_every_span() -> None:
    words, readings = make_corpus(4)
    items = [
        Item(0, span, own)
        for span in [(0, 9, "PER"), (1, 2, "NEW"), (8, 9, "LOC")]
        for own in [None, min(readings[0].gold)]
    ]
    evidence = Evidence(words, readings, items)
    rows = np.asarray([evidence.features(item) for item in items])
    assert rows.shape[0] == len(items)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("score", [0.0, 1e-9, 1.0])
def test_extreme_scores_stay_finite(score: float) -> None:
    evidence = Evidence(WORDS, [reading([GOLD], {GOLD: score})])
    assert np.isfinite(evidence.features(Item(0, GOLD, GOLD))).all()
