"""Spans that are in the group before: they are replaced, or stay as they are."""

from typing import List

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Span

from ...helpers import (
    DATA,
    FACTORIES,
    annotate,
    scored_spans,
    spans_of,
    texts,
    trained_copy,
)
from .helpers import COURT, GPE, ORG, OVERLAPPING, with_settings, words_doc, write


def test_overwrite_replaces_group(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    write(doc, OVERLAPPING, own_nlp, overwrite=True)
    assert spans_of(doc) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


def test_without_overwrite_adds_with_aligned_scores(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X"), (1, 2, "ORG")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25, 0.5], dtype="f")
    write(doc, OVERLAPPING, own_nlp, overwrite=False, overlap="nested")
    assert scored_spans(doc) == [
        (0, 4, "ORG", pytest.approx(0.6)),
        (1, 2, "GPE", pytest.approx(0.9)),
        (1, 2, "ORG", 0.5),
        (5, 7, "X", 0.25),
        (8, 10, "GPE", pytest.approx(0.8)),
    ]
    assert doc.spans["ents"].attrs["scores"].dtype == np.float32


def test_without_overwrite_spans_of_others_are_certain(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    write(doc, [(0, 4, ORG, 0.5)], own_nlp, overwrite=False)
    assert scored_spans(doc) == [(0, 4, "ORG", 0.5), (5, 7, "X", 1.0)]


def test_without_overwrite_repeated_span_keeps_its_score(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(0, 4, "ORG")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25], dtype="f")
    write(doc, [(0, 4, ORG, 0.9)], own_nlp, overwrite=False)
    assert scored_spans(doc) == [(0, 4, "ORG", 0.25)]


@pytest.mark.parametrize(
    "overlap,expected",
    [
        ("flat", [(2, 5, "X"), (8, 10, "GPE")]),
        ("nested", [(2, 3, "GPE"), (2, 5, "X"), (8, 10, "GPE")]),
        ("any", [(0, 4, "ORG"), (2, 3, "GPE"), (2, 5, "X"), (8, 10, "GPE")]),
    ],
)
def test_without_overwrite_spans_of_others_come_first(
    own_nlp: Language, overlap: str, expected: List
) -> None:
    doc = annotate(words_doc(own_nlp), [(2, 5, "X")])
    spans = [(0, 4, ORG, 0.6), (2, 3, GPE, 0.9), (8, 10, GPE, 0.8)]
    write(doc, spans, own_nlp, overwrite=False, overlap=overlap)
    assert sorted(spans_of(doc)) == expected


def test_without_overwrite_spans_that_differ_in_their_end_stand_side_by_side(
    own_nlp: Language,
) -> None:
    doc = annotate(words_doc(own_nlp), [(0, 2, "ORG")])
    spans = [(0, 1, ORG, 0.9), (0, 4, ORG, 0.8)]
    write(doc, spans, own_nlp, overwrite=False, overlap="nested")
    # The longest of those that start together comes first.
    assert spans_of(doc) == [(0, 4, "ORG"), (0, 2, "ORG"), (0, 1, "ORG")]


def test_without_overwrite_span_added_by_hand_is_kept(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25], dtype="f")
    doc.spans["ents"].append(Span(doc, 6, 7, label="Y"))
    write(doc, [(0, 4, ORG, 0.5)], own_nlp, overwrite=False)
    assert spans_of(doc) == [(0, 4, "ORG"), (5, 7, "X"), (6, 7, "Y")]


def test_overwrite_false_running_twice_changes_nothing(own_nlp: Language) -> None:
    with_settings(own_nlp, overwrite=False)
    doc = own_nlp(COURT)
    once = scored_spans(doc)
    pipe = own_nlp.get_pipe(own_nlp.pipe_names[0])
    assert scored_spans(pipe(doc)) == once


@pytest.mark.parametrize("factory", FACTORIES)
def test_without_overwrite_other_attributes_of_the_group_stay(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg["overwrite"] = False
    doc = nlp.make_doc(texts(DATA["nested"])[0])
    doc.spans["ents"] = []
    doc.spans["ents"].attrs["source"] = "people"
    nlp(doc)
    assert doc.spans["ents"].attrs["source"] == "people"
    assert len(doc.spans["ents"]) == len(doc.spans["ents"].attrs["scores"]) > 0
