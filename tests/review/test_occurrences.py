"""Counts of texts and words are those of a slow count, without the span in question."""

from typing import List, Set

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.evaluation.counts import SpanKey
from spacy_spanner.review.occurrences import (
    Elsewhere,
    Occurrences,
    count_forms,
    form_of,
)

words = st.lists(st.lists(st.sampled_from("ab"), max_size=6), max_size=4)


@given(
    words, st.sets(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple))
)
def test_forms_are_counted_wherever_they_are(docs: List[List[str]], forms: Set) -> None:
    expected = {
        form: sum(
            tuple(doc[start : start + len(form)]) == form
            for doc in docs
            for start in range(len(doc))
        )
        for form in forms
    }
    counts = count_forms(docs, forms)
    assert {form: counts.get(form, 0) for form in forms} == expected
    assert set(counts) <= forms


WORDS = [["New", "York", "won"], ["New", "York", "lost"], ["in", "New", "York"]]
GOLD: List[Set[SpanKey]] = [{(0, 2, "ORG")}, {(0, 2, "ORG"), (0, 2, "LOC")}, set()]


def test_elsewhere_leaves_out_the_span_itself() -> None:
    found = Occurrences(WORDS, GOLD)
    assert found.elsewhere(0, (0, 2, "ORG")) == Elsewhere({"LOC": 1, "ORG": 1}, 0)
    # Both labels of the second document are on the same place.
    assert found.elsewhere(1, (0, 2, "ORG")) == Elsewhere({"ORG": 1}, 1)
    assert found.elsewhere(2, (1, 3, "X")) == Elsewhere({"LOC": 1, "ORG": 2}, 0)
    assert found.labels == ["LOC", "ORG"]


def test_texts_are_compared_with_their_case() -> None:
    found = Occurrences([["May"], ["may"]], [{(0, 1, "DATE")}, set()], [("may",)])
    assert found.elsewhere(1, (0, 1, "DATE")) == Elsewhere({}, 0)
    assert form_of(["a", "b", "c"], (1, 3, "X")) == ("b", "c")


def test_shares_leave_out_the_span_itself() -> None:
    docs = [["Ana", "left"]] * 3
    spans = {(0, 1, "PER")}
    alone = Occurrences(docs, [spans, set(), set()])
    nowhere = Occurrences(docs[:2], [set(), set()])
    span = (0, 1, "PER")
    own = alone.boundary_shares(0, span, span)
    assert own[:2] == nowhere.boundary_shares(0, span, None)[:2]
    assert (
        alone.inside_shares(0, span, span)[2] == nowhere.inside_shares(0, span, None)[2]
    )
    often = Occurrences(docs, [spans, spans, spans])
    assert np.all(np.array(often.boundary_shares(0, span, span)) > own)


def test_words_outside_of_the_document_are_never_inside() -> None:
    found = Occurrences([["Ana"]], [{(0, 1, "PER")}])
    before, after, _ = found.inside_shares(0, (0, 1, "PER"), None)
    assert before == after < np.log(0.05)
