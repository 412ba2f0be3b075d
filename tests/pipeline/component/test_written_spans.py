"""What is written to documents: spans in order, and their scores."""

from typing import List

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ...helpers import (
    NESTED,
    SEVERAL_LABELS,
    predicted_rows,
    scored_spans,
    spans_of,
    texts,
    trained,
)


def test_scores_are_float32_between_0_and_1(alone: List[Doc]) -> None:
    for doc in alone:
        scores = doc.spans["ents"].attrs["scores"]
        assert scores.dtype == np.float32
        assert scores.shape == (len(doc.spans["ents"]),)
        assert ((scores >= 0) & (scores <= 1)).all()


def test_scores_are_those_of_predict_in_the_order_of_spans(
    nlp: Language, factory: str
) -> None:
    pipe = nlp.get_pipe(factory)
    text = NESTED[0][0]
    (predicted,) = predicted_rows(pipe, [nlp.make_doc(text)])
    assert len({span.score for span in predicted}) > 1
    assert scored_spans(nlp(text)) == [
        (span.start, span.end, pipe.labels[span.label], pytest.approx(span.score))
        for span in predicted
    ]


def test_scores_survive_doc_to_bytes(nlp: Language) -> None:
    doc = nlp(NESTED[0][0])
    loaded = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert scored_spans(loaded) == scored_spans(doc)
    assert loaded.spans["ents"].attrs["scores"].dtype == np.float32


def test_scores_survive_doc_bin(nlp: Language) -> None:
    docs = [nlp(text) for text in texts(NESTED)]
    stored = DocBin(docs=docs).to_bytes()
    loaded = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    for doc, other in zip(docs, loaded):
        assert scored_spans(other) == scored_spans(doc)


def test_spans_are_written_in_document_order(nlp: Language) -> None:
    assert spans_of(nlp(NESTED[0][0])) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


@pytest.mark.parametrize("factory", SEVERAL_LABELS)
def test_labels_of_one_span_are_written_in_order(factory: str) -> None:
    nlp = trained(factory, "two_labels", **SEVERAL_LABELS[factory])
    doc = nlp("Georgia beat Spain in Turin.")
    assert spans_of(doc)[:2] == [(0, 1, "GPE"), (0, 1, "TEAM")]


def test_empty_doc_gets_an_empty_group(nlp: Language) -> None:
    assert scored_spans(nlp("")) == []
