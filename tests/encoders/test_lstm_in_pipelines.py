"""`spacy_spanner.BiLSTM.v1` in pipelines: it reads a listener, and is stored."""

from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.language import Language

from ..helpers import (
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    assert_same_predictions,
    copy_of,
    make_examples,
    predict_nested,
    small_model,
    spans_of,
    train,
)


def bilstm_block(tok2vec: dict) -> dict:
    return {
        "@architectures": "spacy_spanner.BiLSTM.v1",
        "tok2vec": tok2vec,
        "width": SMALL_WIDTH,
        "dropout": 0.0,
    }


@pytest.fixture(scope="module")
def learned() -> Language:
    """A shared encoder, and a component that reads it through a BiLSTM."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": SMALL_WIDTH}
    model = small_model("span_biaffine", bilstm_block(listener))
    nlp.add_pipe("span_biaffine", config={"model": model})
    train(nlp, make_examples(nlp, NESTED), updates=200)
    return nlp


def test_bilstm_encoder_on_a_listener_learns_by_heart(learned: Language) -> None:
    for doc, (_, spans) in zip(predict_nested(learned), NESTED):
        assert spans_of(doc) == spans


def test_bilstm_encoder_on_a_listener_survives_disk(
    learned: Language, tmp_path: Path
) -> None:
    learned.to_disk(tmp_path)
    assert_same_predictions(
        predict_nested(spacy.load(tmp_path)), predict_nested(learned)
    )


def test_bilstm_encoder_on_a_listener_trains_the_shared_encoder(
    learned: Language,
) -> None:
    nlp = copy_of(learned)
    shared = nlp.get_pipe("tok2vec").model
    (before,) = shared.predict([nlp.make_doc(NESTED[0][0])])
    optimizer = nlp.resume_training()
    examples = make_examples(nlp, NESTED)
    # The encoder steps before its listener: what it learns is applied with the next.
    nlp.update(examples, sgd=optimizer)
    nlp.update(examples, sgd=optimizer)
    (after,) = shared.predict([nlp.make_doc(NESTED[0][0])])
    assert np.abs(after - before).max() > 1e-5


def test_bilstm_encoder_with_replaced_listeners(learned: Language) -> None:
    nlp = copy_of(learned)
    path = "model.tok2vec.tok2vec"
    nlp.replace_listeners("tok2vec", "span_biaffine", [path])
    nlp.remove_pipe("tok2vec")
    assert_same_predictions(predict_nested(nlp), predict_nested(learned))
