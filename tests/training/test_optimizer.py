"""AdamW with groups moves weights exactly as torch's own does."""

import gc
import weakref
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, PyTorchShim, Shim, fix_random_seed, warmup_linear
from thinc.util import xp2torch

from spacy_spanner.training.frozen import gradients, set_frozen
from spacy_spanner.training.groups import default_groups
from spacy_spanner.training.optimizer import make_adamw
from spacy_spanner.training.owners import Owner, owners_of, tensor_keys

from ..helpers import (
    DATA,
    FACTORIES,
    NESTED,
    blank_pipeline,
    make_examples,
    small_model,
    trained_copy,
)
from .loops import UnboundProxy

Key = Tuple[int, str]
ENCODER_RATE, HEAD_RATE = 0.003, 0.02


def prepared(factory: str) -> Tuple[Language, List[Example]]:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, DATA["nested"])
    nlp.initialize(lambda: examples)
    return nlp, examples


def tensors(model: Model) -> Dict[Key, Tuple[torch.Tensor, torch.Tensor]]:
    """Copy every weight that has a gradient, with it."""
    found = {}
    for node in model.walk():
        for name in node.param_names:
            if node.has_grad(name):
                pair = node.get_param(name), node.get_grad(name)
                found[node.id, name] = tuple(xp2torch(x.copy()) for x in pair)
        for shim in node.shims:
            assert isinstance(shim, PyTorchShim)
            for name, weight in shim._model.named_parameters():
                if weight.grad is not None:
                    copies = weight.detach().clone(), weight.grad.clone()
                    found[shim.id, name] = copies
    return found


def weights(model: Model) -> Dict[Key, torch.Tensor]:
    """Look at every weight."""
    found = {}
    for node in model.walk():
        for name in node.param_names:
            found[node.id, name] = xp2torch(node.get_param(name))
        for shim in node.shims:
            found.update({(shim.id, k): v for k, v in shim._model.named_parameters()})
    return found


def step_of_torch(
    before: Dict[Key, Tuple[torch.Tensor, torch.Tensor]],
    owners: Dict[Key, Owner],
    clip: float,
    decay: float,
) -> Dict[Key, torch.Tensor]:
    groups, moved = [], {}
    for key, (weight, gradient) in before.items():
        owner = owners[key]
        weight = moved[key] = weight.requires_grad_()
        weight.grad = gradient
        rate = ENCODER_RATE if owner.part == "encoder" else HEAD_RATE
        _, part = default_groups(0.0, 0.0, decay, 0)
        own_decay = part.decay_of(weight.ndim, owner)
        group = {"lr": rate, "weight_decay": own_decay}
        groups.append({"params": [weight], **group})
    torch.nn.utils.clip_grad_norm_(list(moved.values()), clip)
    torch.optim.AdamW(groups).step()
    return moved


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("clip", [0.5, 1e6])
def test_step_equals_that_of_torch(factory: str, clip: float) -> None:
    nlp, examples = prepared(factory)
    pipe = nlp.get_pipe(factory)
    pipe.update(examples[:2])
    pipe.update(examples[2:])  # gradients add up
    before = tensors(pipe.model)
    owners = owners_of(pipe.model)
    assert {owners[key].part for key in before} == {"encoder", "head"}
    expected = step_of_torch(before, owners, clip, 0.1)
    optimizer = make_adamw(
        encoder=ENCODER_RATE, head=HEAD_RATE, weight_decay=0.1, grad_clip=clip
    )
    pipe.finish_update(optimizer)
    after = weights(pipe.model)
    for key, moved in expected.items():
        torch.testing.assert_close(after[key], moved, atol=1e-6, rtol=0)
    assert not any(one.gradient.any() for one in gradients(pipe.model))


@pytest.mark.parametrize("factory", FACTORIES)
def test_frozen_encoder_does_not_move_until_it_is_time(factory: str) -> None:
    nlp, examples = prepared(factory)
    model = nlp.get_pipe(factory).model
    encoder = model.get_ref("tok2vec")
    optimizer = make_adamw(frozen_steps=2)
    for step in range(4):
        before = {key: value.detach().clone() for key, value in weights(model).items()}
        nlp.update(examples, sgd=optimizer)
        keys = {key for node in encoder.walk() for key in tensor_keys(node)}
        moved = {k for k, v in weights(model).items() if not torch.equal(v, before[k])}
        assert bool(moved & keys) == (step >= 2)
        assert moved - keys


@pytest.mark.parametrize("factory", FACTORIES)
def test_waiting_encoder_is_left_out_of_the_clip(factory: str) -> None:
    """The head moves as with the callback that freezes the encoder."""
    moved = {}
    for n_steps in (0, 2):
        fix_random_seed(0)
        nlp, examples = prepared(factory)
        pipe = nlp.get_pipe(factory)
        # A large epsilon keeps Adam from hiding the scale of the gradient.
        optimizer = make_adamw(
            head=1.0, encoder=0.1, eps=1.0, grad_clip=0.01, frozen_steps=n_steps
        )
        for step in range(3):
            set_frozen(pipe, "encoder", n_steps == 0 and step < 2)
            fix_random_seed(step)
            nlp.update(examples, sgd=optimizer)
        moved[n_steps] = list(weights(pipe.model).values())
    for by_callback, by_steps in zip(moved[0], moved[2]):
        torch.testing.assert_close(by_callback, by_steps, atol=1e-7, rtol=1e-5)


def test_component_of_nothing_but_waiting_tensors_is_not_clipped() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96}
    model = small_model("span_biaffine", listener)
    nlp.add_pipe("span_biaffine", config={"model": model})
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    shared = nlp.get_pipe("tok2vec").model
    before = {key: value.clone() for key, value in weights(shared).items()}
    optimizer = make_adamw(frozen_steps=1)
    stayed = []
    for _ in range(2):
        nlp.update(examples, sgd=False)
        for _, pipe in nlp.pipeline:
            pipe.finish_update(optimizer)
        stayed.append(
            all(torch.equal(v, before[k]) for k, v in weights(shared).items())
        )
    assert stayed == [True, False]


@pytest.mark.parametrize("factory", FACTORIES)
def test_schedules_move_each_group_on(factory: str) -> None:
    optimizer = make_adamw(encoder=warmup_linear(1.0, 2, 4), head=0.5)
    rates = []
    for _ in range(4):
        rates.append((optimizer.learn_rate_encoder, optimizer.learn_rate))
        optimizer.step_schedules()
    assert rates == [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5), (0.5, 0.5)]


def test_groups_may_share_a_schedule() -> None:
    shared, alone = warmup_linear(1.0, 2, 4), warmup_linear(1.0, 2, 4)
    group = {"pattern": "biaffine", "learn_rate": shared}
    optimizer = make_adamw(encoder=shared, head=shared, groups={"big": group})
    for _ in range(6):
        rates = [
            getattr(optimizer, f"learn_rate_{name}")
            for name in ("encoder", "head", "big")
        ]
        assert rates == [next(alone)] * 3
        optimizer.step_schedules()


def test_optimizer_that_no_model_calls_fails() -> None:
    weight, gradient = np.zeros((2,), "f"), np.asarray([30.0, 40.0], "f")
    with pytest.raises(ValueError, match=r"SP021.*'W'.*finish_update"):
        make_adamw()((10**9, "W"), weight, gradient)
    assert not weight.any()


def test_tensor_of_neither_thinc_nor_torch_fails() -> None:
    class OtherShim(Shim):
        def finish_update(self, optimizer: Any) -> None:
            optimizer((self.id, "kernel"), np.zeros(2, "f"), np.ones(2, "f"))

    model: Model = Model("net", lambda model, X, is_train: (X, lambda dY: dY))
    model.shims.append(OtherShim(None))
    with pytest.raises(ValueError, match=r"SP023.*'kernel'.*'net'"):
        model.finish_update(make_adamw())


@pytest.mark.parametrize("factory", FACTORIES)
def test_shared_encoder_gets_its_own_rate(factory: str) -> None:
    nlp = blank_pipeline(factory)
    listener = {
        "@architectures": "spacy.Tok2VecListener.v1",
        "width": 96,
        "upstream": "*",
    }
    config = nlp.get_pipe_config(factory)
    nlp.remove_pipe(factory)
    nlp.add_pipe("tok2vec")
    model = {**config["model"], "tok2vec": listener}
    nlp.add_pipe(factory, config={"model": model})
    examples = make_examples(nlp, DATA["nested"])
    nlp.initialize(lambda: examples)
    shared = nlp.get_pipe("tok2vec").model
    before = {key: value.clone() for key, value in weights(shared).items()}
    optimizer = make_adamw(encoder=0.0, head=0.01)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    assert all(torch.equal(v, before[k]) for k, v in weights(shared).items())


@pytest.mark.parametrize("factory", FACTORIES)
def test_loaded_component_keeps_its_groups(factory: str) -> None:
    nlp = trained_copy(factory)
    encoder = nlp.get_pipe(factory).model.get_ref("tok2vec")
    before = {key: value.clone() for key, value in weights(encoder).items()}
    optimizer = make_adamw(encoder=0.0, head=0.01)
    nlp.update(make_examples(nlp, DATA["nested"]), sgd=optimizer)
    assert all(torch.equal(v, before[k]) for k, v in weights(encoder).items())


@pytest.mark.parametrize(
    "setting",
    [
        {"weight_decay": -1.0},
        {"grad_clip": -1.0},
        {"beta1": 1.0},
        {"frozen_steps": -1},
        {"use_averages": 1},
        {"average_decay": 1.0},
    ],
)
def test_setting_out_of_its_limits_fails(setting: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="SP002"):
        make_adamw(**setting)


def test_components_without_weak_references_learn_too() -> None:
    """The pipes of spaCy's ner and parser cannot be referred to weakly."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    nlp.add_pipe("span_biaffine", config={"model": small_model("span_biaffine")})
    examples = make_examples(nlp, NESTED)
    for example in examples:
        found = [span for span in example.reference.spans["ents"] if len(span) == 1]
        example.reference.ents = found
    nlp.initialize(lambda: examples)
    ner: Any = nlp.get_pipe("ner")
    owners = owners_of(ner.model, nlp.pipeline)
    assert {owner.component for owner in owners.values()} == {"ner"}
    optimizer = make_adamw(head=0.01)
    losses = [nlp.update(examples, sgd=optimizer)["ner"] for _ in range(5)]
    assert losses[-1] < losses[0]


def test_component_is_found_beside_proxies_that_fail() -> None:
    proxy = UnboundProxy()
    nlp, examples = prepared("span_biaffine")
    pipe: Any = nlp.get_pipe("span_biaffine")
    nlp.update(examples, sgd=False)
    pipe.finish_update(make_adamw())  # Cython: the next call on the stack is this test
    assert type(proxy) is UnboundProxy


def test_optimizer_keeps_no_pipeline_alive() -> None:
    nlp = blank_pipeline("span_biaffine")
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    optimizer = make_adamw(head=0.01)
    nlp.update(examples, sgd=optimizer)
    reference = weakref.ref(nlp.get_pipe("span_biaffine"))
    del nlp
    gc.collect()
    assert reference() is None and optimizer.states
