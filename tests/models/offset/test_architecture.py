"""The architecture of the offset network: its settings, and encoders with prompts."""

import warnings
from pathlib import Path
from typing import Any, Dict, List

import pytest
from spacy.language import Language

from ...helpers import NESTED, blank_pipeline, make_examples, small_model, train

FACTORY = "span_offset"


def with_prompts(folder: Path, prompts: int) -> Dict[str, Any]:
    """A small model on a tiny transformer that is asked for type inputs."""
    transformer = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(folder),
        "prompts": prompts,
    }
    return {**small_model(FACTORY, transformer), "type_inputs": True}


def module_of(nlp: Language) -> Any:
    head: Any = nlp.get_pipe(FACTORY).model.get_ref("output_layer")
    return head.shims[0].module


@pytest.mark.parametrize("prompts", [1, 2])
def test_type_inputs_teach_the_prompts(tiny_bert: Path, prompts: int) -> None:
    nlp = blank_pipeline(FACTORY, model=with_prompts(tiny_bert, prompts))
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    encoder: Any = nlp.get_pipe(FACTORY).model.get_ref("tok2vec")
    before = encoder.shims[0].module.prompts.detach().clone()
    losses = nlp.update(examples, sgd=nlp.create_optimizer())
    assert losses[FACTORY] > 0
    after = encoder.shims[0].module.prompts.detach()
    assert (before != after).any(dim=1).all()


def test_type_inputs_without_prompts_say_what_to_do(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match="SP020"):
        blank_pipeline(FACTORY, model=with_prompts(tiny_bert, 0))


def test_type_inputs_of_another_encoder_say_what_to_do() -> None:
    model = {**small_model(FACTORY), "type_inputs": True}
    with pytest.raises(ValueError, match="SP020"):
        blank_pipeline(FACTORY, model=model)


@pytest.mark.parametrize(
    "settings", [{"type_embeddings": False}, {"type_lstm": True}], ids=str
)
def test_types_without_vectors_say_which_settings_contradict(
    settings: Dict[str, Any],
) -> None:
    model = {**small_model(FACTORY), **settings}
    with pytest.raises(ValueError, match="SP030") as raised:
        blank_pipeline(FACTORY, model=model)
    (name,) = settings
    assert name in str(raised.value) and "type_inputs" in str(raised.value)


GRID = {"loss_cells": "grid"}


@pytest.mark.parametrize(
    "model,settings,named",
    [
        ({"max_offset": 0}, {"decoding": "votes"}, ["votes", "max_offset"]),
        ({"span_network": True}, {}, ["region_embedding", "loss_cells"]),
        ({"region_embedding": 7}, {}, ["region_embedding", "loss_cells"]),
        ({"max_offset": 0}, {}, []),
        ({"span_network": True}, GRID, []),
        ({"region_embedding": 7, "conv_layers": 1}, {}, []),
        ({"region_embedding": 0, "span_network": True}, {}, []),
        ({}, {}, []),
    ],
)
def test_settings_that_make_each_other_useless_are_warned_of(
    model: Dict[str, Any], settings: Dict[str, Any], named: List[str]
) -> None:
    nlp = blank_pipeline(
        FACTORY,
        **settings,
        model={**small_model(FACTORY), "region_embedding": 20, **model},
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(nlp, make_examples(nlp, NESTED), updates=0)
    found = [str(one.message) for one in caught if "SW085" in str(one.message)]
    assert len(found) == bool(named)
    assert all(name in text for name in named for text in found)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_offset": -1},
        {"conv_kind": "wide"},
        {"offset_sides": "left"},
        {"conv_layers": -1},
        {"conv_width": 0},
        {"region_embedding": -1},
        {"n_distances": 0},
        {"lstm_width": 3},
        {"dropout": 1.0},
    ],
)
def test_settings_out_of_their_limits(settings: Dict[str, Any]) -> None:
    model = {**small_model(FACTORY), **settings}
    with pytest.raises(ValueError, match="SP002"):
        blank_pipeline(FACTORY, model=model)


@pytest.mark.parametrize(
    "settings,n_classes",
    [
        ({"max_offset": 0}, 2),
        ({"max_offset": 3, "offset_sides": "start"}, 8),
        ({"region_embedding": 0, "distance_embedding": 0, "conv_layers": 2}, 10),
        ({"lstm_width": 0, "conv_layers": 3, "conv_types": True}, 10),
        ({"span_network": True, "lstm_width": 0, "region_embedding": 0}, 10),
        ({"conv_kind": "full", "conv_layers": 2, "conv_residual": False}, 10),
    ],
)
def test_settings_of_the_ablations_train_and_predict(
    settings: Dict[str, Any], n_classes: int
) -> None:
    nlp = blank_pipeline(FACTORY, model={**small_model(FACTORY), **settings})
    train(nlp, make_examples(nlp, NESTED), updates=2)
    assert module_of(nlp).classes.n_classes == n_classes
    assert "ents" in nlp(NESTED[0][0]).spans
