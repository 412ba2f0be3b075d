"""Chains that keep no activations in prediction."""

import tracemalloc
from typing import List, cast

import numpy as np
import pytest
import spacy
from spacy.ml.models import build_hash_embed_cnn_tok2vec
from spacy.tokens import Doc
from thinc.api import Linear, Model, Relu, chain
from thinc.types import Floats2d

from spacy_spanner.layers.predict_only import forgetful_chains

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
    with forgetful_chains(encoder):
        np.testing.assert_array_equal(encoder.predict(docs)[0], before)
        forgotten = peak(encoder, docs)
    assert forgotten < remembered / 2


def test_chains_remember_again_afterwards(encoder: Model, docs: List[Doc]) -> None:
    before = [node._func for node in encoder.walk()]
    with pytest.raises(ZeroDivisionError), forgetful_chains(encoder):
        assert [node._func for node in encoder.walk()] != before
        raise ZeroDivisionError
    assert [node._func for node in encoder.walk()] == before


def test_training_at_the_same_time_goes_back_as_ever() -> None:
    model = chain(Relu(4, 3), Linear(2, 4)).initialize()
    inputs = np.ones((5, 3), dtype="f")
    with forgetful_chains(model):
        outputs, backprop = model.begin_update(inputs)
        assert backprop(np.ones_like(outputs)).shape == inputs.shape
        with pytest.raises(TypeError, match="cannot be backpropagated"):
            model(inputs, is_train=False)[1](outputs)
