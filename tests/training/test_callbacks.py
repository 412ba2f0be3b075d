"""Callbacks of a config: freezing, joining, and telling the optimizer what is what."""

import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional, Set

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Adam, Config, fix_random_seed

from spacy_spanner.training.callbacks import (
    make_callbacks,
    make_freeze_encoder,
    make_register_pipeline,
)
from spacy_spanner.training.frozen import gradients, set_frozen
from spacy_spanner.training.optimizer import make_adamw
from spacy_spanner.training.owners import ENCODER

from ..helpers import NESTED, SMALL_ENCODER, blank_pipeline, make_examples, small_model
from .loops import owners_in
from .test_optimizer import weights

NAME = "span_biaffine"
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32}


def bert(folder: Path, **settings: Any) -> Dict[str, Any]:
    architecture = "spacy_spanner.Transformer.v1"
    return {"@architectures": architecture, "name": str(folder), **settings}


def owned(encoder: Optional[Dict[str, Any]] = None) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={"model": small_model(NAME, encoder)})
    return nlp


def shared(encoder: Dict[str, Any] = SMALL_ENCODER, width: int = 32) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": encoder})
    model = small_model(NAME, {**LISTENER, "width": width})
    nlp.add_pipe(NAME, config={"model": model})
    return nlp


def started(nlp: Language, optimizer: str = "spacy_spanner.AdamW.v1") -> List[Example]:
    nlp.config["training"]["optimizer"] = {"@optimizers": optimizer}
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    return examples


def parts_that_move(nlp: Language, examples: List[Example], optimizer: Any) -> Set[str]:
    """Train as spaCy's loop does: all components run before any of them steps."""
    models = [pipe.model for _, pipe in nlp.pipeline]
    before = [
        {key: weight.detach().clone() for key, weight in weights(model).items()}
        for model in models
    ]
    nlp.update(examples, sgd=False)
    for _, pipe in nlp.pipeline:
        pipe.finish_update(optimizer)
    owners = owners_in(nlp)
    return {
        owners[key].part
        for model, old in zip(models, before)
        for key, weight in weights(model).items()
        if not torch.equal(weight, old[key])
    }


def pipelines(folder: Path) -> Dict[str, Language]:
    return {
        "owned": owned(),
        "shared": shared(),
        "owned transformer": owned(bert(folder)),
        "shared transformer": shared(bert(folder), 16),
        "prompts": owned(bert(folder, prompts=1)),
    }


# --------------------------------------------------------------------- freezing


@pytest.mark.parametrize("kind", list(pipelines(Path())))
def test_freeze_keeps_the_encoder_until_its_epoch(kind: str, tiny_bert: Path) -> None:
    nlp = pipelines(tiny_bert)[kind]
    examples = started(nlp)
    optimizer, freeze = make_adamw(head=0.01), make_freeze_encoder(epochs=2)
    moved = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(6):
            freeze(nlp, {"step": step, "epoch": step // 2})
            moved.append(parts_that_move(nlp, examples, optimizer))
    assert moved[:4] == [{"head"}] * 4
    assert moved[4:] == [{"head", "encoder"}] * 2


def test_freeze_until_a_step() -> None:
    nlp = owned()
    examples = started(nlp)
    optimizer, freeze = make_adamw(), make_freeze_encoder(steps=2)
    moved = []
    for step in range(3):
        freeze(nlp, {"step": step, "epoch": 0})
        moved.append(ENCODER in parts_that_move(nlp, examples, optimizer))
    assert moved == [False, False, True]


@pytest.mark.parametrize("limits", [(1, 3), (3, 1), (2, 2)])
def test_encoder_stays_frozen_as_long_as_one_callback_wants(limits: Any) -> None:
    nlp = owned()
    examples = started(nlp)
    both = [make_freeze_encoder(steps=steps) for steps in limits]
    freeze = make_callbacks({"one": both[0], "two": both[1]})
    moved = []
    for step in range(4):
        freeze(nlp, {"step": step, "epoch": 0})
        moved.append(ENCODER in parts_that_move(nlp, examples, make_adamw()))
        assert nlp.to_bytes()
    assert moved == [step >= max(limits) for step in range(4)]


def test_freeze_all_encoders_when_some_are_frozen_already() -> None:
    nlp = owned()
    nlp.add_pipe(NAME, name="second", config={"model": small_model(NAME)})
    examples = started(nlp)
    first = make_freeze_encoder(steps=2, components=[NAME])
    freeze = make_callbacks({"first": first, "all": make_freeze_encoder(steps=2)})
    for step in range(2):
        freeze(nlp, {"step": step, "epoch": 0})
        assert parts_that_move(nlp, examples, make_adamw()) == {"head"}


def test_freeze_gives_a_transformer_no_gradient(tiny_bert: Path) -> None:
    nlp = owned(bert(tiny_bert))
    examples = started(nlp)
    freeze = make_freeze_encoder(steps=1)
    encoder = nlp.get_pipe(NAME).model.get_ref("tok2vec").shims[0].module
    freeze(nlp, {"step": 0, "epoch": 0})
    nlp.update(examples, sgd=False)
    assert all(weight.grad is None for weight in encoder.parameters())
    freeze(nlp, {"step": 1, "epoch": 0})
    nlp.update(examples, sgd=False)
    assert any(weight.grad is not None for weight in encoder.parameters())


def test_freeze_leaves_frozen_gradients_out_of_the_clip() -> None:
    """The head moves as if the encoder had no gradient at all."""
    moved = {}
    for clip in (0.01, 1e9):
        nlp = owned()
        examples = started(nlp)
        make_freeze_encoder(steps=1)(nlp, {"step": 0, "epoch": 0})
        optimizer = make_adamw(grad_clip=clip, eps=1.0, head=1.0, weight_decay=0.0)
        pipe = nlp.get_pipe(NAME)
        pipe.update(examples)
        head = pipe.model.get_ref("output_layer").shims[0].module
        norm = torch.stack([weight.grad.norm() for weight in head.parameters()]).norm()
        gradient = head.biaffine.weight.grad.clone()
        before = head.biaffine.weight.detach().clone()
        pipe.finish_update(optimizer)
        moved[clip] = (gradient, norm, before - head.biaffine.weight.detach())
    gradient, norm, move = moved[0.01]
    clipped = gradient * 0.01 / (norm + 1e-6)
    torch.testing.assert_close(
        move, clipped / (clipped.abs() + 1), atol=1e-6, rtol=1e-3
    )


def test_thawed_head_is_clipped_by_the_norm_of_its_own_step() -> None:
    """Its tensors come first and were not in the step before, whose factor is old."""
    nlp = owned()
    examples = started(nlp)
    pipe = nlp.get_pipe(NAME)
    optimizer = make_adamw(encoder=0.0, head=0.0, weight_decay=0.0, grad_clip=0.01)
    for frozen in (True, False):
        set_frozen(pipe, "head", frozen)
        nlp.update(examples, sgd=False)
        norms = [one.gradient.norm() for one in gradients(pipe.model)]
        norm = torch.stack(norms).norm()
        shim = pipe.model.get_ref("output_layer").shims[0]
        grads = {
            name: weight.grad.clone()
            for name, weight in shim.module.named_parameters()
            if weight.grad is not None
        }
        pipe.finish_update(optimizer)
        optimizer.step_schedules()
    assert len(grads) > 5
    for name, grad in grads.items():
        expected = 0.1 * grad * 0.01 / (norm + 1e-6)
        torch.testing.assert_close(optimizer.states[shim.id, name].mean, expected)


def test_freeze_only_components_that_are_named() -> None:
    nlp = blank_pipeline(NAME, name="one")
    nlp.add_pipe(NAME, name="two", config={"model": small_model(NAME)})
    examples = started(nlp)
    make_freeze_encoder(steps=1, components=["two"])(nlp, {"step": 0, "epoch": 0})
    encoders = [nlp.get_pipe(name).model.get_ref("tok2vec") for name in ("one", "two")]
    before = [{k: w.clone() for k, w in weights(e).items()} for e in encoders]
    parts_that_move(nlp, examples, make_adamw())
    stayed = [
        all(torch.equal(w, old[k]) for k, w in weights(encoder).items())
        for encoder, old in zip(encoders, before)
    ]
    assert stayed == [False, True]


def test_freeze_of_an_unknown_component_fails() -> None:
    nlp = owned()
    started(nlp)
    freeze = make_freeze_encoder(steps=1, components=["ner"])
    with pytest.raises(ValueError, match=r"SP101.*'ner'.*span_biaffine"):
        freeze(nlp, {"step": 0, "epoch": 0})


def test_freeze_with_an_optimizer_that_cannot_fails() -> None:
    nlp = owned()
    started(nlp, "Adam.v1")
    with pytest.raises(ValueError, match=r"SP019.*Adam\.v1"):
        make_freeze_encoder(steps=1)(nlp, {"step": 0, "epoch": 0})


def test_freeze_of_an_owned_transformer_needs_no_special_optimizer(
    tiny_bert: Path,
) -> None:
    nlp = owned(bert(tiny_bert))
    examples = started(nlp, "Adam.v1")
    make_freeze_encoder(steps=1)(nlp, {"step": 0, "epoch": 0})
    assert parts_that_move(nlp, examples, Adam(0.01)) == {"head"}


# --------------------------------------------------------------------- the others


def test_callbacks_are_called_in_order() -> None:
    seen = []
    names = ("a", "b")
    callbacks = {
        name: lambda nlp, info, n=name: seen.append((n, info)) for name in names
    }
    make_callbacks(callbacks)(spacy.blank("en"), {"step": 3, "epoch": 1})
    assert seen == [(name, {"step": 3, "epoch": 1}) for name in names]


def test_callbacks_come_from_a_config() -> None:
    text = """
    [before_update]
    @callbacks = "spacy_spanner.callbacks.v1"

    [before_update.callbacks]

    [before_update.callbacks.freeze]
    @callbacks = "spacy_spanner.freeze_encoder.v1"
    epochs = 1
    """
    config = Config().from_str(text)
    callback = spacy.registry.resolve(config)["before_update"]
    nlp = owned()
    examples = started(nlp)
    callback(nlp, {"step": 0, "epoch": 0})
    assert parts_that_move(nlp, examples, make_adamw()) == {"head"}


def test_callbacks_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"SP002.*callbacks\.one"):
        make_callbacks({"one": "freeze"})


def test_loaded_pipeline_with_a_shared_encoder_is_known(tmp_path: Path) -> None:
    nlp = shared()
    started(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    optimizer = make_adamw(encoder=0.0, head=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        examples = make_examples(loaded, NESTED)
        assert parts_that_move(loaded, examples, optimizer) == {"head"}


def test_register_pipeline_makes_sourced_components_known() -> None:
    source = shared()
    examples = started(source)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", source=source)
    nlp.add_pipe(NAME, source=source)
    assert make_register_pipeline()(nlp) is nlp
    optimizer = make_adamw(encoder=0.0, head=0.01)
    assert parts_that_move(nlp, examples, optimizer) == {"head"}


def test_callbacks_before_to_disk_pass_the_pipeline_on() -> None:
    first, second = spacy.blank("en"), spacy.blank("en")
    seen = []

    def replace(nlp: Language) -> Language:
        seen.append(nlp)
        return second

    def look(nlp: Language) -> Language:
        seen.append(nlp)
        return nlp

    assert make_callbacks({"replace": replace, "look": look})(first) is second
    assert seen == [first, second]


def test_callback_that_returns_no_pipeline_is_reported() -> None:
    joined = make_callbacks({"first": lambda nlp: nlp, "wrong": lambda nlp: None})
    with pytest.raises(ValueError, match=r"SP102.*'wrong'.*'NoneType'"):
        joined(spacy.blank("en"))
