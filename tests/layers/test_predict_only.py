"""Chains that keep no activations in prediction."""

import tracemalloc
from typing import Any, List, cast

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.ml.models import build_hash_embed_cnn_tok2vec
from spacy.tokens import Doc
from thinc.api import Linear, Model, Relu, chain
from thinc.types import Floats2d

from spacy_spanner.layers.predict_only import forget_in_prediction

N_TOKENS = 2_000


@pytest.fixture(scope="module")
def docs() -> List[Doc]:
    words = [f"w{n % 300}" for n in range(N_TOKENS)]
    return [Doc(spacy.blank("en").vocab, words=words)]


@pytest.fixture(scope="module")
def encoder(docs: List[Doc]) -> Model[List[Doc], List[Floats2d]]:
    model = build_hash_embed_cnn_tok2vec(
        width=32,
        depth=4,
        embed_size=100,
        window_size=1,
        maxout_pieces=3,
        subword_features=True,
        pretrained_vectors=None,
    )
    return cast(Model, model.initialize(X=docs))


def peak(encoder: Model, docs: List[Doc]) -> int:
    tracemalloc.start()
    encoder.predict(docs)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_vectors_stay_the_same_and_memory_falls(
    encoder: Model, docs: List[Doc]
) -> None:
    before, remembered = encoder.predict(docs)[0], peak(encoder, docs)
    forget_in_prediction(encoder)
    np.testing.assert_array_equal(encoder.predict(docs)[0], before)
    assert peak(encoder, docs) < remembered / 2


def test_training_goes_back_as_ever() -> None:
    model = chain(Relu(4, 3), Linear(2, 4)).initialize()
    forget_in_prediction(model)
    inputs = np.ones((5, 3), dtype="f")
    outputs, backprop = model.begin_update(inputs)
    assert backprop(np.ones_like(outputs)).shape == inputs.shape
    with pytest.raises(TypeError, match="cannot be backpropagated"):
        model(inputs, is_train=False)[1](outputs)


def test_chains_are_still_initialized() -> None:
    model = chain(Relu(4, 3), Linear(2))
    forget_in_prediction(model)
    model.initialize(X=np.ones((5, 3), dtype="f"))
    assert model.layers[1].get_dim("nI") == 4


def test_nothing_changes_while_threads_predict(own_nlp: Language, factory: str) -> None:
    """What one thread swapped for its prediction, another one would see."""
    own_nlp("It rained.")
    nodes = list(own_nlp.get_pipe(factory).model.walk())  # type: ignore[attr-defined]
    before, seen = [node._func for node in nodes], []
    embed = next(node for node in nodes if node.name == "extract_features")
    forward = embed._func

    def look(*args: Any, **kwargs: Any) -> Any:
        seen.append([node._func for node in nodes if node is not embed])
        return forward(*args, **kwargs)

    embed._func = look
    try:
        own_nlp("It rained.")
    finally:
        embed._func = forward
    assert seen == [[func for func in before if func is not forward]]
