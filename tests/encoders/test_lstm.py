"""`spacy_spanner.BiLSTM.v1`: documents by themselves, gradients, storage, settings."""

from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import pytest
import torch
from spacy.tokens import Doc
from thinc.api import Adam, Model, fix_random_seed

from spacy_spanner.encoders import bilstm as lstm
from spacy_spanner.encoders.bilstm import build_bilstm_encoder

from ..helpers import doc_of

N_IN, N_OUT = 3, 4
Vectors = List[np.ndarray]


def forward(model: Model, docs: List[Doc], is_train: bool) -> Tuple[Vectors, Callable]:
    """Give documents the vectors under test, and keep the gradient they get."""

    def backprop(gradients: Vectors) -> List[Doc]:
        model.attrs["gradients"] = gradients
        return docs

    return [doc.tensor for doc in docs], backprop


def docs_of(*lengths: int, seed: int = 0) -> List[Doc]:
    """Make documents with random vectors."""
    rng = np.random.default_rng(seed)
    docs = [doc_of(["x"] * length) for length in lengths]
    for doc in docs:
        doc.tensor = rng.normal(size=(len(doc), N_IN)).astype("f")
    return docs


def build(depth: int = 1, width: int = N_OUT, dropout: float = 0.0) -> Model:
    encoder: Model = Model("vectors", forward)
    return build_bilstm_encoder(encoder, width=width, depth=depth, dropout=dropout)


def initialized(docs: Optional[List[Doc]] = None, **settings: Any) -> Model:
    """Build the layers, with biases: without them, an LSTM makes zeros of zeros, and
    would not notice that it reads padding.
    """
    fix_random_seed(0)
    model = build(**settings)
    model.initialize(docs or docs_of(2))
    for layer in lstm_layers(model):
        for name, parameter in layer.shims[0].module.named_parameters():
            if "bias" in name:
                torch.nn.init.normal_(parameter)
    return model


def lstm_layers(model: Model) -> List[Model]:
    """List the layers from the encoder upwards."""
    return [node for node in model.walk(order="dfs_post") if node.name == "bilstm"]


def kept_gradients(model: Model) -> Vectors:
    """Look up what the stand-in for an encoder was given."""
    (encoder,) = (node for node in model.walk() if node.name == "vectors")
    return encoder.attrs.pop("gradients")


# ---------------------------------------------------------------------- vectors


@pytest.mark.parametrize("depth", [1, 2])
def test_bilstm_encoder_has_the_width_asked_for(depth: int) -> None:
    model = initialized(depth=depth, width=6)
    layers = lstm_layers(model)
    sizes = [(layer.get_dim("nI"), layer.get_dim("nO")) for layer in layers]
    assert sizes == [(N_IN, 6), (6, 6)][:depth]
    vectors = model.predict(docs_of(2, 5))
    assert [part.shape for part in vectors] == [(2, 6), (5, 6)]
    assert {part.dtype for part in vectors} == {np.dtype("float32")}


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("batch_tokens", [1, 8, 16_384])
def test_bilstm_encoder_reads_a_doc_alone_as_in_a_batch(
    monkeypatch: pytest.MonkeyPatch, depth: int, batch_tokens: int
) -> None:
    monkeypatch.setattr(lstm, "BATCH_TOKENS", batch_tokens)
    model, docs = initialized(depth=depth), docs_of(3, 0, 7, 1, 4)
    together = model.predict(docs)
    assert [len(vectors) for vectors in together] == [3, 0, 7, 1, 4]
    for doc, vectors in zip(docs, together):
        np.testing.assert_allclose(vectors, *model.predict([doc]), atol=1e-5)


def test_bilstm_encoder_reads_no_more_padded_tokens_at_once_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lstm, "BATCH_TOKENS", 8)
    model, seen = initialized(), []
    module = lstm_layers(model)[0].shims[0].module
    module.register_forward_pre_hook(
        lambda _, inputs: seen.append(tuple(inputs[0].vectors.shape[:2]))
    )
    model.predict(docs_of(3, 0, 9, 1, 4, 2))
    assert seen == [(1, 9), (2, 4), (2, 2)]


@pytest.mark.parametrize("changed, seen_at", [(0, 3), (3, 0)])
def test_bilstm_encoder_reads_both_directions(changed: int, seen_at: int) -> None:
    model, (doc,) = initialized(), docs_of(4)
    (before,) = model.predict([doc])
    doc.tensor[changed] += 1
    (after,) = model.predict([doc])
    assert np.abs(before[seen_at] - after[seen_at]).max() > 1e-4


def test_bilstm_encoder_of_the_second_layer_reads_the_first() -> None:
    model, docs = initialized(depth=2), docs_of(4)
    first, second = lstm_layers(model)
    vectors = second.predict(first.predict([doc.tensor for doc in docs]))
    np.testing.assert_allclose(*vectors, *model.predict(docs), atol=1e-6)


@pytest.mark.parametrize("lengths", [(), (0,), (0, 0)])
def test_bilstm_encoder_docs_without_tokens(lengths: Tuple[int, ...]) -> None:
    model = initialized()
    vectors, backprop = model(docs_of(*lengths), is_train=True)
    assert [part.shape for part in vectors] == [(0, N_OUT) for _ in lengths]
    backprop(vectors)
    assert [part.shape for part in kept_gradients(model)] == [(0, N_IN)] * len(lengths)


def test_bilstm_encoder_docs_without_tokens_may_have_no_width() -> None:
    docs = docs_of(2, 0)
    docs[1].tensor = np.zeros((0, 0), dtype="f")
    model = initialized(docs)
    vectors, backprop = model(docs, is_train=True)
    assert [part.shape for part in vectors] == [(2, N_OUT), (0, N_OUT)]
    backprop(vectors)
    assert [part.shape for part in kept_gradients(model)] == [(2, N_IN), (0, 0)]


def test_bilstm_encoder_drops_inputs_in_training_only() -> None:
    model, docs = initialized(dropout=0.5), docs_of(4)
    (once,), _ = model(docs, is_train=True)
    (twice,), _ = model(docs, is_train=True)
    assert np.abs(once - twice).max() > 1e-3
    np.testing.assert_array_equal(model.predict(docs), model.predict(docs))


# -------------------------------------------------------------------- gradients


@pytest.mark.parametrize("depth", [1, 2])
def test_bilstm_encoder_gradient_against_finite_differences(depth: int) -> None:
    docs = docs_of(3, 0, 2)
    model = initialized(docs, depth=depth)
    for layer in lstm_layers(model):
        layer.shims[0].module.double()
    for doc in docs:
        doc.tensor = doc.tensor.astype("d")
    vectors, backprop = model(docs, is_train=True)
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=part.shape) for part in vectors]
    backprop(weights)

    def loss() -> float:
        pairs = zip(weights, model.predict(docs))
        return sum(float((weight * part).sum()) for weight, part in pairs)

    step = 1e-6
    for doc, found in zip(docs, kept_gradients(model)):
        expected = np.zeros_like(doc.tensor)
        for place in np.ndindex(doc.tensor.shape):
            value = doc.tensor[place]
            doc.tensor[place] = value + step
            above = loss()
            doc.tensor[place] = value - step
            expected[place] = (above - loss()) / (2 * step)
            doc.tensor[place] = value
        np.testing.assert_allclose(found, expected, atol=1e-8)


def input_gradients(model: Model, docs: List[Doc]) -> Vectors:
    vectors, backprop = model(docs, is_train=True)
    backprop([np.ones_like(part) for part in vectors])
    return kept_gradients(model)


def test_bilstm_encoder_gradient_of_a_doc_alone_as_in_a_batch() -> None:
    model, docs = initialized(), docs_of(3, 0, 5)
    together = input_gradients(model, docs)
    for doc, gradient in zip(docs, together):
        np.testing.assert_allclose(gradient, *input_gradients(model, [doc]), atol=1e-5)


@pytest.mark.parametrize("depth", [1, 2])
def test_bilstm_encoder_learns_with_every_weight(depth: int) -> None:
    model = initialized(depth=depth)
    parameters = [
        parameter
        for layer in lstm_layers(model)
        for parameter in layer.shims[0].module.parameters()
    ]
    before = [parameter.detach().clone() for parameter in parameters]
    input_gradients(model, docs_of(3, 2))
    model.finish_update(Adam(0.01))
    assert len(parameters) == 8 * depth
    changes = [float((p - b).detach().abs().max()) for p, b in zip(parameters, before)]
    assert min(changes) > 1e-4


# ---------------------------------------------------------------------- storage


@pytest.mark.parametrize("depth", [1, 2])
def test_bilstm_encoder_bytes_into_a_fresh_one(depth: int) -> None:
    model = initialized(depth=depth)
    input_gradients(model, docs_of(3, 2))
    model.finish_update(Adam(0.01))
    fresh = build(depth=depth).from_bytes(model.to_bytes())
    for one, two in zip(fresh.predict(docs_of(3, 2)), model.predict(docs_of(3, 2))):
        np.testing.assert_array_equal(one, two)


# --------------------------------------------------------------------- settings


@pytest.mark.parametrize("width", [5, 1, 0, -2])
def test_bilstm_encoder_width_that_is_not_even(width: int) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'width'.*{width}"):
        build(width=width)


@pytest.mark.parametrize("setting, value", [("depth", -1), ("dropout", 1.5)])
def test_bilstm_encoder_setting_out_of_range(setting: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{setting}'.*{value}"):
        build(**{setting: value})  # type: ignore[arg-type]
