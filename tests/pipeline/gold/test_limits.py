"""Gold that crosses sentences, or is longer than windows and spans may be."""

import re

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from ...helpers import (
    COURT_WORDS,
    FACTORIES,
    NESTED,
    annotate,
    blank_pipeline,
    defaults_of,
    make_examples,
    train,
)
from .helpers import coded_warnings

LIMITED_WIDTH = [name for name in FACTORIES if "max_width" in defaults_of(name)]


def test_gold_across_sentences_is_counted_once_with_sw001(factory: str) -> None:
    nlp = blank_pipeline(factory)
    starts = [index in (0, 3) for index in range(len(COURT_WORDS))]
    predicted = Doc(nlp.vocab, words=COURT_WORDS, sent_starts=starts)
    spans = [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]
    reference = annotate(Doc(nlp.vocab, words=COURT_WORDS), spans)
    with coded_warnings() as found:
        train(nlp, [Example(predicted, reference)], updates=3)
    assert len(found) == 1
    assert (
        "cannot learn 1 of 3 gold spans in the data: "
        "1 that cross a sentence or window boundary" in found[0]
    )
    assert "(such as 'The US Supreme Court')" in found[0]


def test_gold_longer_than_max_window_is_reported_by_initialize(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=3, stride=1)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=0)
    assert len(found) == 1
    assert (
        "cannot learn 2 of 6 gold spans in the data: 2 longer than max_window"
        in found[0]
    )
    assert "'The US Supreme Court', 'The mayor of Boston'" in found[0]


def test_gold_longer_than_max_window_is_reported_once(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=3, stride=1)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    too_long = [text for text in found if "The US Supreme Court" in text]
    assert len(too_long) == 1


def test_gold_within_stride_is_learned_wherever_windows_are_cut(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=6, stride=4)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=1)
    assert found == []


@pytest.mark.parametrize("factory", LIMITED_WIDTH)
def test_gold_wider_than_max_width_is_counted_once(factory: str) -> None:
    nlp = blank_pipeline(factory, max_width=3)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    assert len(found) == 1
    assert "2 of 6 gold spans in the data: 2 longer than max_width = 3" in found[0]


def test_no_more_than_three_lost_spans_are_shown(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=1, stride=0)
    data = [("New York won.", [(0, 2, "GPE")])] * 5
    with coded_warnings() as found:
        nlp.initialize(lambda: make_examples(nlp, data))
    assert found[0].count("'New York'") == 3


def test_gold_without_tokens_is_counted_once(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    doc = examples[0].reference
    doc.spans["ents"] = [*doc.spans["ents"], Span(doc, 2, 2, label="ORG")]
    with coded_warnings() as found:
        train(nlp, examples, updates=2)
    assert len(found) == 1
    assert "cannot learn 1 of 7 gold spans in the data: 1 without tokens" in found[0]


@pytest.mark.parametrize("n_words,in_full", [(25, True), (26, False), (400, False)])
def test_very_long_spans_are_not_shown_in_full(n_words: int, in_full: bool) -> None:
    nlp = blank_pipeline("span_biaffine", max_window=16, stride=4)
    text = " ".join(["one", *["and"] * (n_words - 2), "last"])
    examples = make_examples(nlp, [(text, [(0, n_words, "ORG")])])
    with coded_warnings() as found:
        train(nlp, examples, updates=0)
    (warning,) = found
    shown = re.findall(r"'(one and [^']*and last)'", warning)
    assert len(text) == 4 * n_words
    assert shown == ([text] if in_full else [f"{text[:50]} ... {text[-50:]}"])
