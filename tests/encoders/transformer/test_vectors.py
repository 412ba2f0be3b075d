"""The vectors of an owned transformer are those of Hugging Face, pooled."""

from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
import torch

from spacy_spanner.encoders.batch_size import CACHED_PIECES, pieces_at_once
from spacy_spanner.encoders.transformer import build_transformer, get_shim

from ...helpers import doc_of
from .helpers import WIDTH, WORDS, encoder_of, plain_vectors, sentences, vectors_of


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_gives_the_vectors_of_hugging_face(
    tiny_bert: Path, pooling: str, layers: int
) -> None:
    model = encoder_of(tiny_bert, pooling=pooling, layers=layers)
    (vectors,) = vectors_of(model, doc_of(WORDS))
    expected = plain_vectors(tiny_bert, WORDS, pooling, layers)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_transformer_encodes_each_sentence_by_itself(tiny_bert: Path) -> None:
    doc = sentences(2, 4, words=WORDS)
    (vectors,) = vectors_of(encoder_of(tiny_bert), doc)
    parts = [plain_vectors(tiny_bert, part, "mean") for part in (WORDS[:2], WORDS[2:])]
    np.testing.assert_allclose(vectors, np.concatenate(parts), atol=1e-5)


def test_transformer_pools_a_token_with_a_space_inside(tiny_bert: Path) -> None:
    (vectors,) = vectors_of(encoder_of(tiny_bert), doc_of(["Leon County", "is"]))
    apart = plain_vectors(tiny_bert, ["Leon", "County", "is"], "mean")
    # Four pieces and six make one token of ten.
    joined = (4 * apart[0] + 6 * apart[1]) / 10
    np.testing.assert_allclose(vectors, np.stack([joined, apart[2]]), atol=1e-5)


@pytest.mark.parametrize("batch_pieces", [1, 40, 4096])
@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_transformer_encodes_a_doc_alone_as_in_a_batch(
    tiny_bert: Path, pooling: str, batch_pieces: int
) -> None:
    model = encoder_of(
        tiny_bert, pooling=pooling, context=1, max_pieces=12, batch_pieces=batch_pieces
    )
    docs = [
        sentences(2, 4, 1),
        doc_of([]),
        doc_of(WORDS),
        doc_of(["x"]),
        doc_of([" ", "\n"]),
        sentences(3, 3, words=WORDS),
    ]
    together = vectors_of(model, *docs)
    assert [len(vectors) for vectors in together] == [7, 0, 6, 1, 2, 6]
    for doc, vectors in zip(docs, together):
        np.testing.assert_allclose(vectors, *vectors_of(model, doc), atol=1e-5)


def test_transformer_encodes_no_more_padded_pieces_at_once_than_it_may(
    tiny_bert: Path,
) -> None:
    model, seen = encoder_of(tiny_bert, batch_pieces=20), []
    get_shim(model).module.register_forward_pre_hook(
        lambda _, inputs: seen.append(tuple(inputs[0].shape))
    )
    # Words of two pieces, and two special pieces around each sentence.
    vectors_of(model, sentences(1, 4, 2), sentences(10, 3))
    assert seen == [(1, 22), (2, 10), (2, 6)]


@pytest.mark.parametrize("batch_pieces, most", [("auto", 4096), (40, 40)])
def test_auto_encodes_as_many_pieces_as_by_default_on_a_cpu(
    tiny_bert: Path, batch_pieces: Any, most: int
) -> None:
    shim = get_shim(encoder_of(tiny_bert, batch_pieces=batch_pieces))
    assert pieces_at_once(shim, [], batch_pieces, is_train=True) == most
    found = pieces_at_once(shim, [], batch_pieces, is_train=False)
    assert found == min(most, CACHED_PIECES)


def test_auto_is_stored_and_gives_the_same_vectors(tiny_bert: Path) -> None:
    docs = [doc_of(WORDS), sentences(2, 4, 1)]
    model = encoder_of(tiny_bert, batch_pieces="auto")
    expected = vectors_of(encoder_of(tiny_bert), *docs)
    for found in (model, encoder_of(tiny_bert).from_bytes(model.to_bytes())):
        assert found.attrs["batch_pieces"] == "auto"
        for vectors, other in zip(vectors_of(found, *docs), expected, strict=True):
            np.testing.assert_array_equal(vectors, other)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_transformer_gives_white_space_zeros(tiny_bert: Path, pooling: str) -> None:
    words = [" ", "Leon", "\n\n", "County", "\t"]
    (vectors,) = vectors_of(encoder_of(tiny_bert, pooling=pooling), doc_of(words))
    assert not vectors[[0, 2, 4]].any()
    expected = plain_vectors(tiny_bert, ["Leon", "County"], pooling)
    np.testing.assert_allclose(vectors[[1, 3]], expected, atol=1e-5)


@pytest.mark.parametrize("words", [[], ["\x00", "\x01"], [" "]])
@pytest.mark.parametrize("is_train", [False, True])
def test_transformer_docs_without_pieces(
    tiny_bert: Path, words: List[str], is_train: bool
) -> None:
    model = encoder_of(tiny_bert)
    vectors, backprop = model([doc_of(words), doc_of(words)], is_train)
    assert [part.shape for part in vectors] == [(len(words), WIDTH)] * 2
    assert not np.concatenate(vectors).any()
    backprop(vectors)


@pytest.mark.parametrize("is_train", [False, True])
def test_transformer_no_docs(tiny_bert: Path, is_train: bool) -> None:
    vectors, backprop = encoder_of(tiny_bert)([], is_train)
    assert vectors == []
    backprop([])


def test_transformer_knows_its_width_when_initialized(tiny_bert: Path) -> None:
    model = build_transformer(str(tiny_bert))
    assert model.has_dim("nO") is None
    model.initialize()
    assert model.get_dim("nO") == WIDTH


def test_transformer_initialized_twice_keeps_what_it_has_learned(
    tiny_bert: Path,
) -> None:
    model = encoder_of(tiny_bert)
    weight = get_shim(model).module.transformer.embeddings.word_embeddings.weight
    with torch.no_grad():
        weight.add_(1.0)
    before = vectors_of(model, doc_of(WORDS))
    model.initialize()
    np.testing.assert_array_equal(vectors_of(model, doc_of(WORDS)), before)
