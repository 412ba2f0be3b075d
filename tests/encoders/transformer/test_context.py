"""What an encoding sees: parts of what is too long, and neighbouring sentences."""

import shutil
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
from spacy.tokens import Doc
from thinc.api import Model

from spacy_spanner.encoders.surroundings import set_neighbours
from spacy_spanner.encoders.transformer import build_transformer, get_shim

from ...helpers import doc_of
from .helpers import (
    WIDTH,
    WORDS,
    encoder_of,
    long_words,
    plain_vectors,
    sentences,
    vectors_of,
    weight_gradients,
)

transformers = pytest.importorskip("transformers")

STARTS = [index % 2 == 0 for index in range(8)]  # four sentences of two tokens


def changed_tokens(model: Model, words: List[str], at: int, **kwargs: Any) -> List[int]:
    """List the tokens whose vectors change with the word of one token."""
    others = list(words)
    others[at] = "?"
    before, after = vectors_of(model, doc_of(words, **kwargs), doc_of(others, **kwargs))
    return np.nonzero(np.abs(before - after).max(axis=1) > 1e-4)[0].tolist()


def test_transformer_reads_the_end_of_what_is_too_long(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, max_pieces=18)
    # The last part sees the last 16 pieces; from its quarter on the vectors are its.
    assert changed_tokens(model, long_words(), at=59) == list(range(48, 60))


def test_transformer_long_input_is_the_encoding_of_its_parts(tiny_bert: Path) -> None:
    words = long_words(24)
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=18), doc_of(words))
    left = plain_vectors(tiny_bert, words[:16], "mean")
    right = plain_vectors(tiny_bert, words[8:], "mean")
    expected = np.concatenate([left[:12], right[4:]])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_transformer_takes_more_pieces_than_it_has_positions(tiny_bert: Path) -> None:
    words = long_words(600)
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=10_000), doc_of(words))
    right = plain_vectors(tiny_bert, words[90:], "mean")
    np.testing.assert_allclose(vectors[-50:], right[-50:], atol=1e-5)


def test_transformer_word_of_more_pieces_than_fit(tiny_bert: Path) -> None:
    words = ["a", "x" * 90, "b"]
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=18), doc_of(words))
    assert np.abs(vectors).max(axis=1).min() > 0


def test_transformer_ignores_the_truncation_of_the_tokenizer(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "cut")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    cut, whole = encoder_of(folder), encoder_of(tiny_bert)
    np.testing.assert_array_equal(
        vectors_of(cut, doc_of(WORDS)), vectors_of(whole, doc_of(WORDS))
    )


@pytest.mark.parametrize(
    "context, expected",
    [
        (0, [4, 5]),
        (1, [2, 3, 4, 5, 6, 7]),
        (2, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_transformer_context_reaches_neighbours_only(
    tiny_bert: Path, context: int, expected: List[int]
) -> None:
    model = encoder_of(tiny_bert, context=context)
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    assert changed_tokens(model, words, at=4, sent_starts=STARTS) == expected


def test_transformer_context_that_is_all_equals_one_sentence(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, context=3)
    divided, whole = vectors_of(model, sentences(2, 4, words=WORDS), doc_of(WORDS))
    np.testing.assert_allclose(divided, whole, atol=1e-5)


def as_sentences(words: List[str], context: int) -> List[Doc]:
    """Documents of two words each, with their neighbours."""
    pairs = [words[index : index + 2] for index in range(0, len(words), 2)]
    docs = [doc_of(pair) for pair in pairs]
    for index, doc in enumerate(docs):
        before = pairs[max(index - context, 0) : index]
        set_neighbours(doc, before, pairs[index + 1 : index + 1 + context])
    return docs


@pytest.mark.parametrize("stored, context", [(1, 0), (1, 1), (2, 1), (2, 2), (1, 2)])
def test_transformer_sees_stored_neighbours_as_those_of_a_document(
    tiny_bert: Path, stored: int, context: int
) -> None:
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    whole = encoder_of(tiny_bert, context=min(stored, context))
    alone = doc_of(WORDS)
    expected, other = vectors_of(whole, doc_of(words, sent_starts=STARTS), alone)
    model = encoder_of(tiny_bert, context=context)
    *found, last = vectors_of(model, *as_sentences(words, stored), alone)
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-5)
    np.testing.assert_allclose(last, other, atol=1e-5)


def test_transformer_sees_neighbours_of_documents_with_sentences(
    tiny_bert: Path,
) -> None:
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    middle = doc_of(words[2:6], sent_starts=STARTS[:4])
    set_neighbours(middle, [words[:2]], [words[6:]])
    model = encoder_of(tiny_bert, context=1)
    expected, found = vectors_of(model, doc_of(words, sent_starts=STARTS), middle)
    np.testing.assert_allclose(found, expected[2:6], atol=1e-5)


def test_transformer_learns_from_stored_neighbours(tiny_bert: Path) -> None:
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    model = encoder_of(tiny_bert, context=1)
    docs = [doc_of(words, sent_starts=STARTS), doc_of([])]
    expected = weight_gradients(model, docs)
    get_shim(model).module.zero_grad()
    _, backprop = model(as_sentences(words, 1), is_train=True)
    gradient = np.random.default_rng(0).normal(size=(8, WIDTH)).astype("f")
    backprop(np.split(gradient, 4))
    for name, parameter in get_shim(model).module.named_parameters():
        if name in expected:
            found = parameter.grad.numpy()
            np.testing.assert_allclose(found, expected[name], atol=1e-4)


def test_transformer_with_prompts_has_no_labels_of_neighbours(tiny_bert: Path) -> None:
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    model = build_transformer(str(tiny_bert), context=1, prompts=1)
    model.set_dim("nL", 2)
    model.initialize()
    whole: Any = model.predict([doc_of(words, sent_starts=STARTS)])
    split: Any = model.predict(as_sentences(words, 1))
    np.testing.assert_allclose(split.types, whole.types, atol=1e-5)
    assert split.segment.tolist() == whole.segment.tolist()
