"""Every model with every encoder and optimizer lives on the device that is not there:
it trains, predicts, is stored, moves to the CPU and back, and goes on after a stop.

Run by `test_rig`, with the plugin of this folder.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import spacy
from thinc.api import NumpyOps, get_current_ops, require_cpu, require_gpu

from spacy_spanner.jobs.run import optimizer_state, run_state

from ...helpers import FACTORIES
from ..elsewhere import FarTensor
from . import arrays, lives
from .lives import read, scored, update

CLOSE = 1e-3
ALL = bool(os.environ.get("ALL_DEVICE_TESTS"))


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    require_gpu()
    yield
    require_cpu()


def pairs() -> Iterator[Tuple[str, str]]:
    """YIELDS (Tuple[str, str]): each model with some encoders, and each encoder with
    some model; with ALL_DEVICE_TESTS=1 in the environment, each with each.
    """
    for place, model in enumerate(FACTORIES):
        for turn, encoder in enumerate(lives.ENCODERS):
            if ALL or encoder == "cnn" or turn % len(FACTORIES) == place:
                yield model, encoder


@pytest.fixture(params=pairs(), ids="-".join)
def pair(request: pytest.FixtureRequest) -> Any:
    return request.param


def assert_same(found: List[Dict], expected: List[Dict], close: float = CLOSE) -> None:
    for one, two in zip(found, expected, strict=True):
        assert one == pytest.approx(two, abs=close)


def test_life(pair: Tuple[str, str], tiny_bert: Path, tmp_path: Path) -> None:
    factory, encoder = pair
    nlp = lives.new_pipeline(factory, encoder, tiny_bert)
    initial = nlp.to_bytes()
    kinds = {type(tensor) for tensor in lives.tensors_of(nlp)}
    assert kinds <= {FarTensor, arrays.ndarray}
    losses = {name: learn(nlp, name, initial) for name in lives.OPTIMIZERS}

    docs = read(nlp)
    expected = scored(docs)
    assert any(expected)
    for doc in docs:
        assert type(doc.spans["ents"].attrs["scores"]) is np.ndarray
    assert_same(lives.in_thread(lambda: scored(read(nlp))), expected)

    nlp.to_disk(tmp_path)
    assert_same(scored(read(spacy.load(tmp_path))), expected)
    with lives.on_the_host():
        near = spacy.load(tmp_path)
        exact = encoder != "mixed"  # halves are rounded otherwise
        if exact and factory != "span_diffusion":  # where either of two is right
            assert_same(scored(read(near)), expected)
        stored = near.to_bytes()
        if exact and factory != "span_diffusion":
            for name, there in losses.items():
                assert learn(near, name, initial) == pytest.approx(there, rel=CLOSE)
    assert_same(scored(read(spacy.load(tmp_path).from_bytes(stored))), expected)


def learn(nlp: Any, optimizer: str, initial: bytes) -> List[float]:
    nlp.from_bytes(initial)
    lives.seed_everything()
    return update(nlp, lives.make_optimizer(optimizer, nlp), times=2)


def test_training_goes_on_after_a_stop(pair: Tuple[str, str], tiny_bert: Path) -> None:
    factory, encoder = pair
    # Each model with each optimizer, and each encoder with each: half of all.
    turn = FACTORIES.index(factory) + lives.ENCODERS.index(encoder)
    optimizer = lives.OPTIMIZERS[turn % 2]
    nlp = lives.new_pipeline(factory, encoder, tiny_bert)
    sgd = lives.make_optimizer(optimizer, nlp)
    update(nlp, sgd)
    stored = nlp.to_bytes()
    records = run_state.tensor_records(nlp, sgd)
    moments = {
        name: tensor.cpu().clone()
        for name, tensor in optimizer_state.moments_of(nlp, sgd).items()
    }
    numbers = run_state.random_numbers(nlp, lives.random.Random(0))
    tensors = run_state.random_tensors(1)
    whole = update(nlp, sgd, times=2)

    other = spacy.blank("en").from_config(nlp.config).from_bytes(stored)
    sgd = lives.make_optimizer(optimizer, other)
    run_state.restore_tensors(other, records)
    optimizer_state.restore_optimizer(other, sgd, records, moments)
    run_state.restore_random(other, numbers, tensors)
    assert update(other, sgd, times=2) == pytest.approx(whole, rel=CLOSE)


def test_another_thread_has_other_operations() -> None:
    """What the threads of `test_life` are about."""
    assert get_current_ops().name == "cupy"
    assert isinstance(lives.in_thread(get_current_ops), NumpyOps)
