"""Groups of tensors: patterns, their rates, decay and freezing, and what is refused."""

import warnings
from typing import Any, Dict, List, Tuple

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config, warmup_linear

from spacy_spanner.training.groups import NOT_DECAYED
from spacy_spanner.training.optimizers import AdamW, make_adamw
from spacy_spanner.training.parameters import owner_of

from ..helpers import NESTED, blank_pipeline, make_examples
from .test_optimizers import tensors, weights

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
    return {
        owner_of(key).name: float((after[key].detach() - weight).abs().max())
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
        before = {owner_of(k).name: w for k, (w, _) in tensors(model).items()}
        pipe_copy.get_pipe(NAME).finish_update(optimizer)
        after = {owner_of(k).name: w for k, w in weights(model).items()}
        (name,) = [name for name in before if name.endswith(".biaffine.weight")]
        moved[decay] = after[name].detach() - before[name]
    torch.testing.assert_close(
        moved[0.1] - moved[0.0], -0.5 * 0.1 * before[name], atol=1e-6, rtol=1e-3
    )


@pytest.mark.parametrize(
    ("tensor", "decays"),
    [
        ("lstm.weight_ih_l0", True),
        ("linear.bias", False),
        ("transformer.encoder.LayerNorm.weight", False),
        ("G", False),
        ("b", False),
        ("W", True),
    ],
)
def test_what_decays(tensor: str, decays: bool) -> None:
    assert bool(NOT_DECAYED.search(tensor)) != decays


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
    (key,) = [key for key in before if owner_of(key).tensor.endswith("biaffine.weight")]
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
