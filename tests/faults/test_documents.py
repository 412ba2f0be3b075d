"""Whatever stands in a document, it gets a result, and so do others of the batch."""

from pathlib import Path
from typing import Callable, Iterable, List

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from spacy_spanner.encoders.transformer import build_transformer

from ..generated import cases
from ..helpers import (
    NESTED,
    assert_same_predictions,
    scored_spans,
    spans_of,
    texts,
    trained_copy,
)
from .strategies import ODD_PIECES, doc_of, documents
from .strategies import texts as odd_texts

fuzz = settings(
    max_examples=cases(12),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes
)
Count = Callable[..., None]
ORDINARY = texts(NESTED)[:2]


@pytest.fixture
def eager(factory: str) -> Language:
    """A pipeline that reports much more than it should."""
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(threshold=0.02)
    return nlp


def assert_sound(doc: Doc) -> None:
    """Spans lie in the document, are no white space, and are sure to a degree."""
    for start, end, label, score in scored_spans(doc):
        assert 0 <= start < end <= len(doc)
        assert label
        assert 0.0 <= score <= 1.0
        assert not doc[start].is_space
        assert not doc[end - 1].is_space
    order = [(start, -end, label) for start, end, label in spans_of(doc)]
    assert order == sorted(set(order))


def assert_alone_as_together(nlp: Language, docs: Iterable[Doc]) -> None:
    docs = list(docs)
    together = list(nlp.pipe(doc.copy() for doc in docs))
    for doc in together:
        assert_sound(doc)
    assert_same_predictions(together, [nlp(doc) for doc in docs])


def test_any_text_gets_a_result_and_leaves_others_alone(
    eager: Language, tried: Count
) -> None:
    ordinary = [scored_spans(eager(text)) for text in ORDINARY]
    assert all(ordinary)

    @fuzz
    @given(st.lists(odd_texts, min_size=1, max_size=4))
    def check(batch: List[str]) -> None:
        tried("texts", len(batch))
        docs = [eager.make_doc(text) for text in [*batch, *ORDINARY]]
        assert_alone_as_together(eager, docs)

    check()


def test_any_tokens_and_sentences_get_a_result(eager: Language, tried: Count) -> None:
    @fuzz
    @given(st.lists(documents(["A"]), min_size=1, max_size=4))
    def check(batch: List) -> None:
        tried("documents", len(batch))
        assert_alone_as_together(eager, [doc_of(eager.vocab, one) for one in batch])

    check()


def test_odd_pieces_one_by_one_and_many_times(eager: Language, tried: Count) -> None:
    for piece in ODD_PIECES:
        tried("texts", 2)
        for text in (piece, " ".join([piece] * 5)):
            assert_sound(eager(text))


def test_thousands_of_sentences_of_one_token(factory: str, tried: Count) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(threshold=0.02)
    words = ["Boston", "US", ",", "Leon", " "] * 400
    alone = Doc(nlp.vocab, words=words[:5], sent_starts=[True] * 5)
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=[True] * len(words)))
    tried("documents")
    assert all(end - start == 1 for start, end, _ in spans_of(doc))
    found = {start % 5 for start, *_ in spans_of(doc)}
    assert 4 not in found
    assert all(start < 5 for start, *_ in spans_of(nlp(alone)))
    # A sentence far from both ends has the same spans wherever it stands.
    shifted = [(start + 5, end + 5, label) for start, end, label in spans_of(doc)]
    middle = [span for span in shifted if 100 <= span[0] < 1900]
    assert middle == [span for span in spans_of(doc) if 100 <= span[0] < 1900]


def test_pipe_of_nothing_but_empty_and_blank_docs(nlp: Language, tried: Count) -> None:
    batch = ["", " ", "\n", "", "\u3000"] * 20
    tried("texts", len(batch))
    assert all(scored_spans(doc) == [] for doc in nlp.pipe(batch, batch_size=7))


# -------------------------------------------------------------- transformer


@pytest.fixture
def encoder(tiny_bert: Path) -> Model:
    model = build_transformer(str(tiny_bert), max_pieces=16, batch_pieces=64)
    model.initialize()
    return model


def test_transformer_encodes_any_document_alone_as_in_a_batch(
    encoder: Model, tried: Count
) -> None:
    nlp = spacy.blank("xx")

    @fuzz
    @given(st.lists(documents(["A"]), max_size=4), st.lists(odd_texts, max_size=2))
    def check(batch: List, odd: List[str]) -> None:
        docs = [doc_of(nlp.vocab, content) for content in batch]
        docs += [nlp.make_doc(text[:500]) for text in odd]
        tried("documents", len(docs))
        together = encoder.predict(docs)
        for doc, vectors in zip(docs, together, strict=True):
            assert vectors.shape == (len(doc), encoder.get_dim("nO"))
            assert np.isfinite(vectors).all()
            (alone,) = encoder.predict([doc])
            np.testing.assert_allclose(vectors, alone, atol=1e-5)

    check()
