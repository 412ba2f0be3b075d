"""Learning rates that fall from the top layer of a transformer to its embeddings."""

import warnings
from pathlib import Path
from typing import Any, Dict, Optional

import pytest
from thinc.api import warmup_linear

from spacy_spanner.training.layer_rates import layer_factors
from spacy_spanner.training.optimizer import make_adamw
from spacy_spanner.training.owners import ENCODER, HEAD, Key, Owner

from ..helpers import NESTED, blank_pipeline, make_examples, small_model
from .loops import owners_in
from .test_optimizer import tensors, weights

NAME = "span_biaffine"
ENCODER_RATE, HEAD_RATE = 0.004, 0.001


def owners(*names: str, part: str = ENCODER, shim: int = 1) -> Dict[Key, Owner]:
    return {
        (shim, name): Owner("pipe", part, "transformer", name, True, False)
        for name in names
    }


def factors(known: Dict[Key, Owner], decay: float = 0.5) -> Dict[str, float]:
    return {name: value for (_, name), value in layer_factors(known, decay).items()}


NAMES: Dict[str, Dict[str, Optional[float]]] = {
    "bert": {
        "embeddings.word_embeddings.weight": 0.5**12,
        "encoder.layer.0.output.dense.weight": 0.5**11,
        "encoder.layer.11.attention.self.query.bias": 1.0,
        "pooler.dense.weight": None,
    },
    "distilbert, wrapped": {
        "model.embeddings.position_embeddings.weight": 0.5**6,
        "model.transformer.layer.5.ffn.lin1.weight": 1.0,
    },
    "deberta": {
        "encoder.rel_embeddings.weight": 0.25,
        "encoder.layer.1.output.dense.weight": 1.0,
    },
    "modernbert": {
        "embeddings.tok_embeddings.weight": 0.125,
        "layers.0.mlp.Wi.weight": 0.25,
        "layers.2.mlp.Wo.weight": 1.0,
        "final_norm.weight": None,
    },
    "gpt2": {"wte.weight": 0.25, "h.0.ln_1.weight": 0.5, "h.1.attn.bias": 1.0},
    "t5, with layers in its blocks": {
        "embed_tokens.weight": 0.25,
        "encoder.block.0.layer.1.DenseReluDense.wi.weight": 0.5,
        "encoder.block.1.layer.0.SelfAttention.q.weight": 1.0,
    },
    "albert, whose layers share their weights": {
        "encoder.albert_layer_groups.0.albert_layers.0.ffn.weight": 1.0
    },
    "lstm": {"lstm.weight_ih_l0": None, "embedding.weight": None},
}


@pytest.mark.parametrize("kind", NAMES)
def test_factors_follow_the_names_of_layers(kind: str) -> None:
    known = owners(*NAMES[kind])
    found = factors(known)
    assert {name: found.get(name) for name in NAMES[kind]} == NAMES[kind]


def test_factors_are_those_of_encoders_only() -> None:
    names = ["layers.0.weight", "layers.1.weight"]
    assert factors(owners(*names, part=HEAD)) == {}


def test_each_encoder_counts_its_own_layers() -> None:
    small, large = (
        owners("layer.0.weight"),
        owners("layer.0.weight", "layer.3.weight", shim=2),
    )
    assert layer_factors({**small, **large}, 0.5) == {
        (1, "layer.0.weight"): 1.0,
        (2, "layer.0.weight"): 0.125,
        (2, "layer.3.weight"): 1.0,
    }


def moves(tiny_bert: Path, **settings: Any) -> Dict[str, float]:
    """Take one step. RETURNS: the largest move of each tensor, by its name."""
    encoder = {"@architectures": "spacy_spanner.Transformer.v1", "name": str(tiny_bert)}
    nlp = blank_pipeline(NAME, model=small_model(NAME, encoder))
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe(NAME)
    pipe.update(examples)
    before = tensors(pipe.model)
    optimizer = make_adamw(
        encoder=ENCODER_RATE, head=HEAD_RATE, weight_decay=0.0, **settings
    )
    pipe.finish_update(optimizer)
    after, known = weights(pipe.model), owners_in(nlp)
    return {
        known[key].name: float((after[key].detach() - weight).abs().max())
        for key, (weight, gradient) in before.items()
        if float(gradient.abs().max()) > 1e-5  # not only rounding
    }


def test_step_of_each_layer_has_its_rate(tiny_bert: Path) -> None:
    # The first step of Adam has the size of the learning rate.
    seen = set()
    for name, move in moves(tiny_bert, layer_decay=0.5).items():
        rate = HEAD_RATE
        if ".encoder." in name:
            below = 0 if ".layer.1." in name else 1 if ".layer.0." in name else 2
            rate = ENCODER_RATE * 0.5**below
            seen.add(below)
        assert move == pytest.approx(rate, rel=0.05), name
    assert seen == {0, 1, 2}


def test_layers_have_one_rate_by_default(tiny_bert: Path) -> None:
    for name, move in moves(tiny_bert).items():
        rate = ENCODER_RATE if ".encoder." in name else HEAD_RATE
        assert move == pytest.approx(rate, rel=0.05), name


def test_group_keeps_its_own_rate(tiny_bert: Path) -> None:
    group = {"pattern": r"\.layer\.0\.", "learn_rate": 0.02}
    found = moves(tiny_bert, layer_decay=0.5, groups={"low": group})
    for name, move in found.items():
        if ".layer.0." in name:
            assert move == pytest.approx(0.02, rel=0.05), name


def test_schedule_moves_all_layers(tiny_bert: Path) -> None:
    optimizer = make_adamw(encoder=warmup_linear(0.01, 2, 4), layer_decay=0.5)
    rates = []
    for _ in range(3):
        rates.append(optimizer.learn_rate_encoder)
        optimizer.step_schedules()
    assert rates == [0.0, 0.005, 0.01]


@pytest.mark.parametrize("value", [0, -0.5, 1.5, True, "0.9", None, float("nan")])
def test_decay_out_of_its_limits_fails(value: Any) -> None:
    with pytest.raises(ValueError, match=r"SP002.*layer_decay"):
        make_adamw(layer_decay=value)


def test_encoder_without_layers_is_told_once() -> None:
    nlp = blank_pipeline(NAME)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    optimizer = make_adamw(layer_decay=0.9)
    nlp.update(examples, sgd=optimizer)
    with pytest.warns(UserWarning, match=r"SW010.*layer_decay = 0.9"):
        nlp.update(examples, sgd=optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.update(examples, sgd=optimizer)
