"""Storage of a torch module whose sizes become known late."""

import copy
import gc
import pickle
from functools import partial
from typing import Any, Callable, List, Set

import numpy as np
import pytest
import torch
from spacy.language import Language
from thinc.api import SGD, Adam, Model, Optimizer, PyTorchShim
from torch import nn

from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.layers.torch_shim import LazyShim, TorchShim, switch

from ..helpers import (
    NESTED,
    blank_pipeline,
    make_examples,
    predicted_rows,
    texts,
    trained,
)


def names_and_values(shim: LazyShim) -> dict:
    return {name: value.tolist() for name, value in shim.module.state_dict().items()}


def created(n_in: int = 2, n_out: int = 3) -> LazyShim:
    shim = LazyShim(nn.Linear)
    shim.create(n_in, n_out)
    return shim


@pytest.fixture
def head(nlp: Language, factory: str) -> Model:
    return nlp.get_pipe(factory).model.get_ref("output_layer")


def from_bytes(fresh: Model, head: Model) -> Model:
    return fresh.from_bytes(head.to_bytes())


def from_dict(fresh: Model, head: Model) -> Model:
    return fresh.from_dict(head.to_dict())


def test_shim_builds_only_when_sizes_are_known() -> None:
    shim = LazyShim(partial(nn.Linear, bias=False))
    assert not list(shim.module.parameters())
    shim.create(2, 3)
    assert [tuple(p.shape) for p in shim.module.parameters()] == [(3, 2)]


def test_shim_bytes_into_fresh_shim() -> None:
    shim = created()
    loaded = LazyShim(nn.Linear).from_bytes(shim.to_bytes())
    assert names_and_values(loaded) == names_and_values(shim)


def test_shim_bytes_before_create_build_nothing() -> None:
    loaded = LazyShim(nn.Linear).from_bytes(LazyShim(nn.Linear).to_bytes())
    assert not list(loaded.module.parameters())


def test_shim_bytes_replace_sizes_and_weights() -> None:
    shim = created(4, 5)
    loaded = created(2, 3).from_bytes(shim.to_bytes())
    assert names_and_values(loaded) == names_and_values(shim)


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda shim: shim.copy(), lambda s: pickle.loads(pickle.dumps(s))],
    ids=["deepcopy", "copy", "pickle"],
)
def test_shim_copies_are_equal_and_independent(duplicate: Callable) -> None:
    shim = created()
    before = names_and_values(shim)
    other = duplicate(shim)
    assert names_and_values(other) == before
    nn.init.zeros_(other.module.weight)
    assert names_and_values(shim) == before


def test_shim_learns_after_loading() -> None:
    loaded = LazyShim(nn.Linear).from_bytes(created().to_bytes())
    before = names_and_values(loaded)
    loaded.module.weight.sum().backward()
    loaded.finish_update(Adam(0.1))
    assert names_and_values(loaded)["weight"] != before["weight"]


@pytest.mark.parametrize("load", [from_bytes, from_dict])
def test_trained_head_into_fresh_model_predicts_the_same(
    nlp: Language, factory: str, head: Model, load: Callable
) -> None:
    other = blank_pipeline(factory).get_pipe(factory)
    pipe = nlp.get_pipe(factory)
    fresh = other.model.get_ref("output_layer")
    load(fresh, head)
    other.model.get_ref("tok2vec").from_bytes(pipe.model.get_ref("tok2vec").to_bytes())
    other.cfg.update(pipe.cfg)
    docs = [nlp.make_doc(text) for text in texts(NESTED)]
    expected = predicted_rows(pipe, docs)
    assert any(expected)
    assert predicted_rows(other, docs) == expected


def test_trained_head_has_sizes_after_loading(factory: str, head: Model) -> None:
    fresh = blank_pipeline(factory).get_pipe(factory).model.get_ref("output_layer")
    assert not fresh.has_dim("nO")
    fresh.from_bytes(head.to_bytes())
    assert (fresh.get_dim("nI"), fresh.get_dim("nO")) == (32, 3)


def test_trained_head_weights_survive_pickle_of_the_model(factory: str) -> None:
    model = trained(factory).get_pipe(factory).model
    loaded: Any = pickle.loads(pickle.dumps(model))
    states: List[dict] = [
        get_shim(one.get_ref("output_layer")).module.state_dict()
        for one in (model, loaded)
    ]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        np.testing.assert_array_equal(value.numpy(), states[1][name].numpy())


def stepped(shim: PyTorchShim, optimizer: Optimizer, n_steps: int) -> PyTorchShim:
    generator = torch.Generator().manual_seed(0)
    for _ in range(n_steps):
        for weights in shim._model.parameters():
            weights.grad = torch.randn(weights.shape, generator=generator)
        shim.finish_update(optimizer)
    return shim


@pytest.mark.parametrize("make", [Adam, SGD])
def test_shim_updates_as_thinc_does(make: Callable) -> None:
    module = nn.Linear(2, 3)
    ours, theirs = (
        stepped(kind(copy.deepcopy(module)), make(0.1), 5)._model.state_dict()
        for kind in (TorchShim, PyTorchShim)
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert not any(torch.equal(ours[n], module.state_dict()[n]) for n in ours)


@pytest.mark.parametrize("make", [Adam, SGD])
def test_shim_keeps_weights_where_they_are(make: Callable) -> None:
    shim = TorchShim(nn.Linear(2, 3))
    places = [weights.data_ptr() for weights in shim._model.parameters()]
    stepped(shim, make(0.1), 3)
    assert [weights.data_ptr() for weights in shim._model.parameters()] == places
    assert all(not weights.grad.any() for weights in shim._model.parameters())


def test_shim_keeps_nothing_of_earlier_steps() -> None:
    def tensors() -> int:
        gc.collect()
        return sum(type(thing) is torch.Tensor for thing in gc.get_objects())

    shim, optimizer = TorchShim(nn.Linear(2, 3)), Adam(0.1)
    stepped(shim, optimizer, 1)
    before = tensors()
    stepped(shim, optimizer, 20)
    assert tensors() == before


def modes(nlp: Language) -> Set[bool]:
    """The modes of all parts of all torch modules: whether they are in training."""
    nodes = [node for _, pipe in nlp.pipeline for node in pipe.model.walk()]
    shims = [s for node in nodes for s in node.shims if isinstance(s, TorchShim)]
    return {part.training for shim in shims for part in shim._model.modules()}


def test_all_parts_of_a_component_change_between_training_and_prediction(
    own_nlp: Language,
) -> None:
    examples = make_examples(own_nlp, NESTED)
    optimizer = own_nlp.resume_training()
    for _ in range(2):
        own_nlp.update(examples, sgd=optimizer)
        assert modes(own_nlp) == {True}
        own_nlp(examples[0].reference.text)
        assert modes(own_nlp) == {False}


@pytest.mark.parametrize("is_train", [False, True])
def test_module_is_switched_after_all_of_its_parts(is_train: bool) -> None:
    """Another thread takes the mode of the module for that of its dropout layers."""
    seen: List[bool] = []

    class Watched(nn.Dropout):
        def train(self, mode: bool = True) -> Any:
            seen.append(module.training)
            return super().train(mode)

    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Watched(0.5)))
    module.train(not is_train)
    seen.clear()
    assert switch(module, is_train) is module
    assert seen == [not is_train]
    assert {part.training for part in module.modules()} == {is_train}
