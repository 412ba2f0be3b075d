"""`spacy_spanner.Features.v1`: its parts, their gradients, storage, and pipelines."""

from pathlib import Path
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Adam, Model, fix_random_seed

from spacy_spanner.encoders.characters import (
    MAX_CHARACTERS,
    N_CHARACTERS,
    character_vectors,
    encode_characters,
)
from spacy_spanner.encoders.features import build_features

from ..generated import cases
from ..helpers import (
    NESTED,
    SMALL_ENCODER,
    assert_same_predictions,
    copy_of,
    make_examples,
    predict_nested,
    small_model,
    spans_of,
    train,
)

N_IN = 3
VECTORS = {"Leon": [1.0, 0.0], "County": [0.0, 2.0]}


def forward(model: Model, docs: List[Doc], is_train: bool) -> Tuple[List, Callable]:
    """Give documents the vectors under test, and keep the gradient they get."""

    def backprop(gradients: List) -> List[Doc]:
        model.attrs["gradients"] = gradients
        return docs

    # Like some encoders, without a width for documents without tokens.
    return [doc.tensor if len(doc) else np.zeros((0, 0), "f") for doc in docs], backprop


@pytest.fixture
def vocab() -> Vocab:
    vocab = Vocab()
    for word, vector in VECTORS.items():
        vocab.set_vector(word, np.asarray(vector, dtype="f"))
    return vocab


def doc_of(vocab: Vocab, *words: str, pos: Optional[List[str]] = None) -> Doc:
    doc = Doc(vocab, words=list(words), pos=pos)
    values = [[len(word), index, 1.0] for index, word in enumerate(words)]
    doc.tensor = np.asarray(values, dtype="f").reshape(-1, N_IN)
    return doc


def built(docs: List[Doc], **options: Any) -> Model:
    fix_random_seed(0)
    model = build_features(Model("vectors", forward), **options)
    model.initialize(X=docs)
    return model


def everything() -> dict:
    return {
        "vectors_width": 4,
        "attrs": ["POS", "SHAPE"],
        "attr_width": 5,
        "char_width": 3,
        "char_lstm_width": 6,
    }


# ----------------------------------------------------------------------- parts


def test_features_stand_beside_the_vectors_of_the_encoder(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "Leon", "County"), doc_of(vocab), doc_of(vocab, "is")]
    model = built(docs, **{**everything(), "attrs": ["SHAPE"]})
    vectors = model.predict(docs)
    assert [rows.shape for rows in vectors] == [(2, 18), (0, 18), (1, 18)]
    assert model.get_dim("nO") == 18
    for doc, rows in zip(docs, vectors):
        np.testing.assert_array_equal(rows[:, :N_IN], doc.tensor)


def test_features_without_any_is_the_encoder(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "Leon", "County")]
    np.testing.assert_array_equal(built(docs).predict(docs)[0], docs[0].tensor)


def test_features_map_static_vectors(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "County", "is", "Leon")]
    model = built(docs, vectors_width=4)
    (rows,) = model.predict(docs)
    (weights,) = [
        node.get_param("W") for node in model.walk() if node.name == "static_vectors"
    ]
    np.testing.assert_allclose(rows[0, N_IN:], 2 * weights[:, 1], rtol=1e-6)
    assert not rows[1, N_IN:].any()  # has no vector
    np.testing.assert_allclose(rows[2, N_IN:], weights[:, 0], rtol=1e-6)


def test_features_tell_parts_of_speech_apart(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "a", "b", "c", pos=["NOUN", "VERB", "NOUN"])]
    (rows,) = built(docs, attrs=["POS"], attr_width=5).predict(docs)
    np.testing.assert_array_equal(rows[0, N_IN:], rows[2, N_IN:])
    assert np.abs(rows[0, N_IN:] - rows[1, N_IN:]).max() > 1e-3


def test_features_know_words_by_their_characters(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "abba", "x", "abba"), doc_of(vocab, "abbb")]
    one, two = built(docs, char_lstm_width=6).predict(docs)
    np.testing.assert_array_equal(one[0, N_IN:], one[2, N_IN:])
    assert np.abs(one[0, N_IN:] - two[0, N_IN:]).max() > 1e-3


def test_characters_of_a_word_do_not_depend_on_other_words(vocab: Vocab) -> None:
    layer = character_vectors(3, 6)
    layer.initialize()
    long = doc_of(vocab, *["word" * index for index in range(1, 12)], "a")
    (alone,) = layer.predict([doc_of(vocab, "a")])
    np.testing.assert_allclose(layer.predict([long])[0][-1], alone[0], atol=1e-6)


def test_characters_by_hand() -> None:
    codes, lengths = encode_characters(["ab", "c", "é😀"])
    face = 0x1F600 % N_CHARACTERS
    assert codes.tolist() == [[97, 98], [99, 0], [0xE9, face]]
    assert lengths.tolist() == [2, 1, 2]


def test_characters_of_a_long_word_are_those_of_its_ends() -> None:
    half = MAX_CHARACTERS // 2
    codes, lengths = encode_characters(["a" * half + "x" * 10_000 + "b" * half])
    assert codes.tolist() == [[97] * half + [98] * half]
    assert lengths.tolist() == [MAX_CHARACTERS]


@given(st.lists(st.text(st.characters(), min_size=1), min_size=1, max_size=5))
@settings(max_examples=cases(50), deadline=None)
def test_characters_of_any_text_are_rows_of_the_table(words: List[str]) -> None:
    codes, lengths = encode_characters(words)
    assert codes.min() >= 0
    assert codes.max() < N_CHARACTERS
    assert lengths.tolist() == [min(len(word), MAX_CHARACTERS) for word in words]


# ---------------------------------------------------------------------- learning


def test_features_give_the_encoder_its_part_of_the_gradient(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "Leon", "County"), doc_of(vocab), doc_of(vocab, "is")]
    model = built(docs, vectors_width=4, char_lstm_width=6)
    vectors, backprop = model.begin_update(docs)
    rng = np.random.default_rng(0)
    gradients = [rng.normal(size=rows.shape).astype("f") for rows in vectors]
    assert backprop(gradients) is docs
    found = model.layers[0].attrs["gradients"]
    assert [rows.shape for rows in found] == [(2, 3), (0, 3), (1, 3)]
    for rows, gradient in zip(found, gradients):
        np.testing.assert_array_equal(rows, gradient[:, :N_IN])


def test_features_learn_in_the_direction_of_the_gradient(vocab: Vocab) -> None:
    docs = [doc_of(vocab, "Leon", "County", pos=["NOUN", "VERB"])]
    model = built(docs, **everything())
    # Less of half the squared norm: the gradient is the vector itself.
    before = [rows.copy() for rows in model.predict(docs)]
    for _ in range(50):
        vectors, backprop = model.begin_update(docs)
        backprop(vectors)
        model.finish_update(Adam(0.003))
    edges = np.cumsum([N_IN, 5, 5, 4])
    parts = zip(
        np.split(before[0], edges, 1), np.split(model.predict(docs)[0], edges, 1)
    )
    for number, (old, new) in enumerate(parts):
        smaller = np.linalg.norm(new) < 0.9 * np.linalg.norm(old)
        assert smaller == (number > 0), f"part {number}"


# ------------------------------------------------------------------- whole pipelines


def features_pipeline(**options: Any) -> Language:
    nlp = spacy.blank("en")
    encoder = {
        "@architectures": "spacy_spanner.Features.v1",
        "tok2vec": SMALL_ENCODER,
        **options,
    }
    model = small_model("span_biaffine", encoder)
    nlp.add_pipe("span_biaffine", config={"model": model})
    return nlp


@pytest.fixture(scope="module")
def learned() -> Language:
    nlp = features_pipeline(attrs=["SHAPE"], char_lstm_width=8)
    train(nlp, make_examples(nlp, NESTED))
    return nlp


def test_features_let_a_component_learn_by_heart(learned: Language) -> None:
    for doc, (_, spans) in zip(predict_nested(learned), NESTED):
        assert spans_of(doc) == spans


def test_features_are_stored(learned: Language, tmp_path: Path) -> None:
    learned.to_disk(tmp_path)
    for copy in (copy_of(learned), spacy.load(tmp_path)):
        assert_same_predictions(predict_nested(copy), predict_nested(learned))


def test_features_of_a_doc_do_not_depend_on_the_batch(learned: Language) -> None:
    alone = [learned(text) for text, _ in NESTED]
    assert_same_predictions(predict_nested(learned), alone)


def test_features_of_static_vectors_in_a_pipeline() -> None:
    nlp = features_pipeline(vectors_width=8)
    for text, _ in NESTED:
        for index, token in enumerate(nlp.make_doc(text)):
            nlp.vocab.set_vector(token.text, np.eye(4, dtype="f")[index % 4])
    train(nlp, make_examples(nlp, NESTED))
    for doc, (_, spans) in zip(predict_nested(nlp), NESTED):
        assert spans_of(doc) == spans


def test_features_of_a_component_in_front() -> None:
    nlp = features_pipeline(attrs=["POS"])
    ruler = nlp.add_pipe("attribute_ruler", first=True)
    ruler.add([[{"LOWER": "leon"}]], {"POS": "PROPN"})
    text, gold = "Leon met Ana", [(0, 1, "PER")]
    examples = [
        Example(ruler(example.predicted), example.reference)
        for example in make_examples(nlp, [(text, gold)])
    ]
    train(nlp, examples)
    assert spans_of(nlp(text)) == gold


# -------------------------------------------------------------------------- errors


def test_features_without_static_vectors_are_refused() -> None:
    nlp = features_pipeline(vectors_width=8)
    with pytest.raises(ValueError, match="SP018"):
        nlp.initialize(lambda: make_examples(nlp, NESTED))


def test_features_of_missing_annotation_warn() -> None:
    nlp = features_pipeline(attrs=["POS"])
    with pytest.warns(UserWarning, match=r"SW004.*POS"):
        nlp.initialize(lambda: make_examples(nlp, NESTED))


@pytest.mark.parametrize(
    "wrong",
    [
        {"vectors_width": -1},
        {"attr_width": 0},
        {"char_width": 0},
        {"char_lstm_width": 3},
        {"attrs": "POS"},
        {"attrs": ["pos"]},
    ],
    ids=str,
)
def test_features_refuse_wrong_settings(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"SP002.*" + next(iter(wrong))):
        build_features(Model("vectors", forward), **wrong)
