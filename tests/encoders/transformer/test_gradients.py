"""Gradients of an owned transformer, in mixed precision and with dropout, too."""

from pathlib import Path

import numpy as np
import pytest
import torch
from thinc.api import Adam

from spacy_spanner.encoders.transformer import get_shim

from ...helpers import doc_of
from .helpers import WIDTH, WORDS, encoder_of, sentences, vectors_of, weight_gradients

transformers = pytest.importorskip("transformers")


def test_transformer_gives_every_parameter_a_gradient(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, layers=2)
    found = weight_gradients(model, [sentences(2, 3), doc_of(WORDS)])
    names = {name for name, _ in get_shim(model).module.named_parameters()}
    assert {name for name, value in found.items() if value.any()} == names
    assert len(names) > 30


@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_gradients_are_those_of_torch(tiny_bert: Path, layers: int) -> None:
    docs = [doc_of(WORDS), doc_of([]), doc_of(["Leon", " ", "is"])]
    found = weight_gradients(encoder_of(tiny_bert, layers=layers), docs)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    plain = transformers.AutoModel.from_pretrained(tiny_bert)
    rng = np.random.default_rng(0)
    for doc in docs:
        gradient = torch.tensor(rng.normal(size=(len(doc), WIDTH)), dtype=torch.float)
        encoding = tokenizer(
            [[token.text for token in doc]],
            is_split_into_words=True,
            return_tensors="pt",
        )
        states = plain(**encoding, output_hidden_states=True).hidden_states
        hidden = torch.stack(states[-layers:]).mean(0)[0]
        word_of = encoding.word_ids()
        for token in set(word_of) - {None}:
            own = [i for i, word in enumerate(word_of) if word == token]
            (hidden[own].mean(0) @ gradient[token]).backward(retain_graph=True)
    expected = {
        f"transformer.{name}": p.grad.numpy()
        for name, p in plain.named_parameters()
        if p.grad is not None
    }
    assert set(found) == set(expected)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_gradients_of_two_batches_add_up(tiny_bert: Path) -> None:
    one, two = [doc_of(WORDS)], [sentences(2, 3)]
    both = encoder_of(tiny_bert)
    weight_gradients(both, one, seed=1)
    found = weight_gradients(both, two, seed=2)
    parts = [
        weight_gradients(encoder_of(tiny_bert), docs, seed=seed)
        for seed, docs in ((1, one), (2, two))
    ]
    for name, value in found.items():
        expected = parts[0][name] + parts[1][name]
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("batch_pieces", [1, 30])
def test_transformer_gradients_do_not_depend_on_groups(
    tiny_bert: Path, batch_pieces: int
) -> None:
    docs = [sentences(2, 3, 1), doc_of(WORDS)]
    found = weight_gradients(encoder_of(tiny_bert, batch_pieces=batch_pieces), docs)
    expected = weight_gradients(encoder_of(tiny_bert), docs)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_checkpointing_gives_the_same_gradients(tiny_bert: Path) -> None:
    docs = [sentences(2, 3), doc_of(WORDS)]
    model = encoder_of(tiny_bert, layers=2, gradient_checkpointing=True)
    assert get_shim(model).module.transformer.is_gradient_checkpointing
    found = weight_gradients(model, docs)
    expected = weight_gradients(encoder_of(tiny_bert, layers=2), docs)
    assert set(found) == set(expected)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_mixed_precision_stays_close(tiny_bert: Path) -> None:
    half, full = encoder_of(tiny_bert, mixed_precision=True), encoder_of(tiny_bert)
    (one,), (two,) = vectors_of(half, doc_of(WORDS)), vectors_of(full, doc_of(WORDS))
    assert one.dtype == np.float32
    assert 0 < np.abs(one - two).max() < 0.1


def test_transformer_mixed_precision_can_take_a_step(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, mixed_precision=True)
    before = vectors_of(model, doc_of(WORDS))[0]
    assert weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    after = vectors_of(model, doc_of(WORDS))[0]
    assert np.isfinite(after).all()
    assert np.abs(after - before).max() > 1e-3


def test_transformer_frozen_weights_get_no_gradient(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    get_shim(model).module.requires_grad_(False)
    assert weight_gradients(model, [doc_of(WORDS)]) == {}


def test_transformer_drops_out_in_training_only(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    for module in get_shim(model).module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    docs = [doc_of(WORDS)]
    trained, predicted = (model(docs, is_train)[0][0] for is_train in (True, False))
    assert np.abs(trained - predicted).max() > 0.1
    np.testing.assert_array_equal(*model.predict(docs), predicted)
