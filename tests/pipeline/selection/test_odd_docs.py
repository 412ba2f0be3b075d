"""Documents without words, of white space, or of control characters."""

import numpy as np
import pytest
from spacy.language import Language

from ...helpers import (
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    make_examples,
    scored_spans,
    spans_of,
)
from .helpers import COURT, MAYOR, with_settings

ODD = [
    "",
    " ",
    " \n\t  \u00a0\n",
    "Boston",
    "x",
    "\x00\x01\x07\x1b\x7f",
    "\x00 \x08 \u200b\u200e \ufeff \U0001f600",
    "The mayor of  Boston \n met Ana \t Ruiz.",
]


def test_odd_docs_in_one_batch_leave_others_alone(nlp: Language) -> None:
    normal = [COURT, MAYOR, NESTED[2][0]]
    expected = [nlp(text) for text in [*ODD, *normal]]
    assert_same_predictions(nlp.pipe([*ODD, *normal]), expected)
    assert spans_of(expected[-3]) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


@pytest.mark.parametrize("text", ["", " ", " \n\t  \u00a0\n"])
def test_odd_docs_without_words_have_no_spans(own_nlp: Language, text: str) -> None:
    with_settings(own_nlp, threshold=0.0, set_ents="score")
    doc = own_nlp(text)
    assert scored_spans(doc) == []
    assert doc.ents == ()


def test_odd_docs_no_span_begins_or_ends_with_space(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=0.0, overlap="any")
    doc = own_nlp(ODD[-1])
    spans = list(doc.spans["ents"])
    assert any(token.is_space for token in doc)
    assert any(any(token.is_space for token in span) for span in spans)
    assert not any(span[0].is_space or span[-1].is_space for span in spans)


def test_odd_docs_evaluate_without_any_text(nlp: Language) -> None:
    scores = nlp.evaluate(make_examples(nlp, [("", []), (" ", [])]))
    assert scores["spans_ents_f"] is None


def test_odd_docs_train(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [*NESTED, *((text, []) for text in ODD)])
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(2):
        losses = nlp.update(examples, sgd=optimizer)
    assert np.isfinite(losses[factory])
