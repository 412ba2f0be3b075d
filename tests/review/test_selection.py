"""Documents are chosen greedily by expected errors, with diminishing returns."""

from typing import List

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Span

from spacy_spanner.review.selection import (
    Decision,
    Preferences,
    choose,
    decisions_of,
)

decisions = st.builds(
    Decision, st.sampled_from("XY"), st.sampled_from("abc"), st.floats(0, 0.5)
)
pools = st.lists(st.lists(decisions, max_size=4), max_size=6)


def value(chosen: List[List[Decision]], preferences: Preferences) -> float:
    """What a set of documents is worth, slowly: the sum of the gains in this order."""
    total, seen = 0.0, {}
    for doc in chosen:
        for label, text, error in sorted(doc, key=lambda one: -one.error):
            times = seen.get((label, text), 0)
            seen[label, text] = times + 1
            weight = preferences.weights.get(label, 1.0)
            total += weight * error * preferences.repetition**times
    return total


@given(pools, st.integers(0, 8), st.sampled_from([0.0, 0.5, 1.0]))
def test_every_choice_is_the_best_next_one(
    pool: List[List[Decision]], number: int, repetition: float
) -> None:
    preferences = Preferences({"X": 2.0}, repetition=repetition)
    chosen = choose(pool, [1] * len(pool), number, preferences)
    places = [one.place for one in chosen]
    assert len(places) == len(set(places)) == min(number, len(pool))
    taken: List[int] = []
    for one in chosen:
        before = value([pool[n] for n in taken], preferences)
        gains = {
            n: value([pool[m] for m in [*taken, n]], preferences) - before
            for n in range(len(pool))
            if n not in taken
        }
        assert one.gain == pytest.approx(gains[one.place])
        assert one.gain >= max(gains.values()) - 1e-9
        taken.append(one.place)
    gains_in_order = [one.gain for one in chosen]
    assert gains_in_order == sorted(gains_in_order, reverse=True)


def decision(text: str, error: float, label: str = "X") -> Decision:
    return Decision(label, text, error)


def places(*args: object) -> List[int]:
    return [one.place for one in choose(*args)]  # type: ignore[arg-type]


def test_repeated_texts_come_later() -> None:
    pool = [[decision("a", 0.5)], [decision("a", 0.5)], [decision("b", 0.3)]]
    assert places(pool, [1, 1, 1], 3) == [0, 2, 1]
    assert places(pool, [1, 1, 1], 3, Preferences(repetition=1.0)) == [0, 1, 2]
    assert choose(pool, [1, 1, 1], 3)[2].gain == 0.25
    assert choose(pool, [1, 1, 1], 3)[2].expected_errors == 0.5


def test_labels_can_count_more_and_long_documents_less() -> None:
    pool = [[decision("a", 0.5)], [decision("b", 0.3, "Y")]]
    assert places(pool, [9, 3], 1) == [0]
    assert places(pool, [9, 3], 1, Preferences({"Y": 2.0})) == [1]
    assert places(pool, [9, 3], 1, Preferences(per_token=True)) == [1]


def test_decisions_are_most_uncertain_at_one_half() -> None:
    doc = spacy.blank("en")("New York won.")
    doc.spans["ents"] = [Span(doc, 0, 2, "ORG"), Span(doc, 0, 2, "GPE")]
    assert decisions_of(doc, "ents") is None
    doc.spans["ents"].attrs["scores"] = [0.75, 0.25]
    expected = [Decision("ORG", "new york", 0.25), Decision("GPE", "new york", 0.25)]
    assert decisions_of(doc, "ents") == expected
    assert decisions_of(doc, "other") == []
