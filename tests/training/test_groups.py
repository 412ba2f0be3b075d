"""Groups of tensors: patterns, their rates, decay and freezing, and what is refused."""

import warnings
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config, Model, warmup_linear
from torch import nn

from spacy_spanner.models.diffusion.attention import DistanceBias
from spacy_spanner.training.callbacks import make_freeze_encoder
from spacy_spanner.training.frozen import set_frozen
from spacy_spanner.training.groups import default_groups
from spacy_spanner.training.optimizer import AdamW, make_adamw
from spacy_spanner.training.owners import Owner, owners_of

from ..helpers import FACTORIES, NESTED, blank_pipeline, make_examples, small_model
from .loops import owners_in
from .test_optimizer import tensors, weights

NAME = "span_biaffine"
BIAFFINE = {"pattern": r"\.head\..*biaffine\.weight$", "learn_rate": 0.5}


def prepared() -> Tuple[Language, List[Example]]:
    nlp = blank_pipeline(NAME)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    return nlp, examples


def moves(optimizer: AdamW) -> Dict[str, float]:
    """Take one step. RETURNS: the largest move of each tensor, by its name."""
    nlp, examples = prepared()
    pipe = nlp.get_pipe(NAME)
    pipe.update(examples)
    before = tensors(pipe.model)
    pipe.finish_update(optimizer)
    after = weights(pipe.model)
    owners = owners_in(nlp)
    return {
        owners[key].name: float((after[key].detach() - weight).abs().max())
        for key, (weight, _) in before.items()
    }


def test_pattern_gives_a_tensor_its_own_rate() -> None:
    optimizer = make_adamw(
        head=0.001, encoder=0.002, weight_decay=0.0, groups={"big": BIAFFINE}
    )
    # The first step of Adam has the size of the learning rate.
    for name, move in moves(optimizer).items():
        rate = 0.002 if ".encoder." in name else 0.001
        rate = 0.5 if name.endswith(".biaffine.weight") else rate
        assert move == pytest.approx(rate, rel=0.02), name


def test_first_pattern_that_fits_wins() -> None:
    groups = {"big": BIAFFINE, "all": {"pattern": ".", "learn_rate": 0.25}}
    optimizer = make_adamw(weight_decay=0.0, groups=groups)
    for name, move in moves(optimizer).items():
        rate = 0.5 if name.endswith(".biaffine.weight") else 0.25
        assert move == pytest.approx(rate, rel=0.02), name


def test_group_may_have_its_own_schedule() -> None:
    group = {"pattern": "biaffine", "learn_rate": warmup_linear(1.0, 2, 4)}
    optimizer = make_adamw(groups={"big": group})
    rates = []
    for _ in range(3):
        rates.append(optimizer.learn_rate_big)
        optimizer.step_schedules()
    assert rates == [0.0, 0.5, 1.0]


def test_groups_come_from_a_config() -> None:
    text = """
    [optimizer]
    @optimizers = "spacy_spanner.AdamW.v1"

    [optimizer.groups]

    [optimizer.groups.big]
    pattern = "biaffine"

    [optimizer.groups.big.learn_rate]
    @schedules = "warmup_linear.v1"
    warmup_steps = 2
    total_steps = 4
    initial_rate = 1.0
    """
    optimizer = spacy.registry.resolve(Config().from_str(text))["optimizer"]
    optimizer.step_schedules()
    assert optimizer.learn_rate_big == 0.5


def test_group_may_wait() -> None:
    group = {**BIAFFINE, "frozen_steps": 1}
    optimizer = make_adamw(head=0.1, encoder=0.1, groups={"big": group})
    first = moves(optimizer)
    assert [name for name, move in first.items() if not move] == [
        f"{NAME}.head.{NAME}.biaffine.weight"
    ]


def test_group_may_decay_on_its_own() -> None:
    # Without a gradient's part: the rate is 0.5, so the decay takes half times 0.1.
    nlp, examples = prepared()
    pipe = nlp.get_pipe(NAME)
    pipe.update(examples)
    moved = {}
    for decay in (0.0, 0.1):
        group = {**BIAFFINE, "weight_decay": decay}
        pipe_copy, _ = prepared()
        model = pipe_copy.get_pipe(NAME).model
        model.from_bytes(pipe.model.to_bytes())
        pipe_copy.get_pipe(NAME).update(examples)
        optimizer = make_adamw(groups={"big": group})
        owners = owners_of(model)
        before = {owners[k].name: w for k, (w, _) in tensors(model).items()}
        pipe_copy.get_pipe(NAME).finish_update(optimizer)
        after = {owners[k].name: w for k, w in weights(model).items()}
        (name,) = [name for name in before if name.endswith(".biaffine.weight")]
        moved[decay] = after[name].detach() - before[name]
    torch.testing.assert_close(
        moved[0.1] - moved[0.0], -0.5 * 0.1 * before[name], atol=1e-6, rtol=1e-3
    )


@pytest.mark.parametrize(
    ("tensor", "decays"),
    [
        ("lstm.weight_ih_l0", True),
        ("lstm.bias_ih_l0_reverse", False),
        ("layers.0.bias.start.weight", False),
        ("block.0.relative_attention_bias.weight", False),
        ("biaffine.weight", True),
        ("debiased.weight", True),
        ("linear.bias", False),
        ("transformer.encoder.LayerNorm.weight", False),
        ("G", False),
        ("b", False),
        ("W", True),
    ],
)
def test_what_decays_by_its_name(tensor: str, decays: bool) -> None:
    _, head = default_groups(0.1, 0.1, weight_decay=0.5, frozen_steps=0)
    owner = Owner("ner", "head", "layer", tensor, in_torch=True, in_norm=False)
    assert head.decay_of(2, owner) == (0.5 if decays else 0.0)
    assert head.decay_of(1, owner) == 0.0


def decaying(model: Model) -> Set[str]:
    """Take a step without gradient from ones. RETURNS: what moves, by its name."""
    for node in model.walk():
        for name in node.param_names:
            node.set_param(name, node.get_param(name) * 0 + 1)
            node.set_grad(name, node.get_param(name) * 0)
        for shim in node.shims:
            for parameter in shim._model.parameters():
                nn.init.ones_(parameter)
                parameter.grad = torch.zeros_like(parameter)
    model.finish_update(make_adamw(head=0.5, encoder=0.5, weight_decay=0.1))
    owners = owners_of(model)
    return {
        owners[key].name
        for key, weight in weights(model).items()
        if (weight.detach() != 1).all()
    }


def matrices(module: nn.Module, above: str) -> Set[str]:
    """Name what is neither a norm nor a bias, by the classes of the modules."""
    found = set()
    for name, child in module.named_children():
        if not isinstance(child, (nn.LayerNorm, DistanceBias)):
            found |= matrices(child, f"{above}.{name}")
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.ndim > 1:
            found.add(f"{above}.{name}")
    return found


@pytest.mark.parametrize("factory", FACTORIES)
def test_matrices_of_every_model_decay_and_nothing_else(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    model = nlp.get_pipe(factory).model
    expected = {f"{factory}.encoder.hashembed.E", f"{factory}.encoder.maxout.W"}
    for node in model.walk():
        for shim in node.shims:
            expected |= matrices(shim._model, f"{factory}.head.{node.name}")
    assert decaying(model) == expected


def test_norm_with_matrices_does_not_decay() -> None:
    nlp, _ = prepared()
    pipe = nlp.get_pipe(NAME)
    (shim,) = pipe.model.get_ref("output_layer").shims
    shim._model.scaled = nn.Sequential(nn.LayerNorm((2, 3)), nn.Linear(2, 3))
    place = f"{NAME}.head.{NAME}.scaled"
    found = {name for name in decaying(pipe.model) if name.startswith(place)}
    assert found == {f"{place}.1.weight"}


def test_decay_does_not_look_at_the_name_of_the_component() -> None:
    nlp = blank_pipeline(NAME, name="norm_bias")
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("norm_bias")
    before = {
        key: weight.detach().clone() for key, weight in weights(pipe.model).items()
    }
    with torch.no_grad():
        for node in pipe.model.walk():
            for shim in node.shims:
                for parameter in shim._model.parameters():
                    parameter.grad = torch.zeros_like(parameter)
    pipe.finish_update(make_adamw(head=0.5, weight_decay=0.1))
    after = weights(pipe.model)
    owners = owners_in(nlp)
    (key,) = [key for key in before if owners[key].tensor.endswith("biaffine.weight")]
    torch.testing.assert_close(after[key].detach(), 0.95 * before[key])


def test_pattern_that_fits_nothing_is_told_once() -> None:
    nlp, examples = prepared()
    group = {"pattern": "biafine", "learn_rate": 0.1}
    optimizer = make_adamw(groups={"typo": group})
    nlp.update(examples, sgd=optimizer)
    with pytest.warns(UserWarning, match=r"SW006.*typo"):
        nlp.update(examples, sgd=optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.update(examples, sgd=optimizer)


def test_pattern_of_another_component_is_not_told() -> None:
    nlp = blank_pipeline(NAME, name="one")
    nlp.add_pipe(NAME, "two", config={"model": small_model(NAME), "overwrite": False})
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    two = {"pattern": r"^two\.head", "learn_rate": 0.1}
    typo = {"pattern": r"^tow\.head", "learn_rate": 0.1}
    optimizer = make_adamw(groups={"two": two, "typo": typo})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            nlp.get_pipe("one").update(examples, sgd=optimizer)
    (message,) = [str(one.message) for one in caught if "SW006" in str(one.message)]
    assert ": typo." in message


def test_pattern_of_frozen_tensors_is_not_told() -> None:
    nlp, examples = prepared()
    set_frozen(nlp.get_pipe(NAME), "encoder", True)
    group = {"pattern": r"\.encoder\.", "learn_rate": 0.1}
    optimizer = make_adamw(groups={"lower": group})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            nlp.update(examples, sgd=optimizer)


@pytest.mark.parametrize("steps", [1, 5])
def test_pattern_of_tensors_without_gradient_is_not_told(
    steps: int, tiny_bert: Path
) -> None:
    """A frozen transformer does not run backward, so the optimizer never sees it."""
    nlp = spacy.blank("en")
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
    }
    nlp.add_pipe(NAME, config={"model": small_model(NAME, encoder)})
    examples = make_examples(nlp, NESTED)
    nlp.config["training"]["optimizer"] = {"@optimizers": "spacy_spanner.AdamW.v1"}
    nlp.initialize(lambda: examples)
    freeze = make_freeze_encoder(steps=steps)
    group = {"pattern": r"\.encoder\..*layer\.1\.", "learn_rate": 0.1}
    optimizer = make_adamw(groups={"upper": group})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(3):
            freeze(nlp, {"step": step, "epoch": 0})
            nlp.update(examples, sgd=optimizer)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("big", {"learn_rate": 0.1}),
        ("big", {"pattern": "", "learn_rate": 0.1}),
        ("big", {"pattern": "(", "learn_rate": 0.1}),
        ("big", {"pattern": "x"}),
        ("big", {"pattern": "x", "learn_rate": -0.1}),
        ("big", {"pattern": "x", "learn_rate": "fast"}),
        ("big", {"pattern": "x", "learn_rate": 0.1, "weight_decay": -1}),
        ("big", {"pattern": "x", "learn_rate": 0.1, "frozen_steps": 0.5}),
        ("big", {"pattern": "x", "learn_rate": 0.1, "rate": 1}),
        ("head", {"pattern": "x", "learn_rate": 0.1}),
        ("not a word", {"pattern": "x", "learn_rate": 0.1}),
    ],
    ids=str,
)
def test_wrong_group_is_refused(name: str, block: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*groups\.{name}"):
        make_adamw(groups={name: block})
