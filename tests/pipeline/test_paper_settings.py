"""Components with all mechanisms of the papers train, predict and are stored."""

from pathlib import Path
from typing import Any, Dict, Tuple

import pytest

from ..helpers import (
    FACTORIES,
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    copy_of,
    make_examples,
    small_model,
    texts,
    train,
)

# Settings of the component and of its model.
Settings = Tuple[Dict[str, Any], Dict[str, Any]]
PAPER: Dict[str, Settings] = {
    "span_biaffine": ({"decision": "argmax", "threshold": 0.0}, {}),
    "span_locate_label": (
        {
            "decision": "argmax",
            "overlap": "any",
            "all_seeds": False,
            "soft_examples": 1.0,
            "negatives": 5,
            "nearest_seeds": False,
            "weigh_offsets": False,
            "filter_in_training": False,
            "learn_once": False,
            "nms_queue": True,
        },
        {},
    ),
    "span_offset": (
        {
            "decision": "argmax",
            "threshold": 0.0,
            "overlap": "any",
            "decoding": "votes",
            "loss_cells": "grid",
            "boundary_smoothing": 0.0,
        },
        {
            "type_inputs": True,
            "type_embeddings": False,
            "type_lstm": True,
            "span_network": True,
            "distance_embedding": 0,
            "conv_kind": "full",
            "conv_layers": 2,
            "conv_residual": False,
            "conv_types": True,
        },
    ),
    "span_diffusion": (
        {
            "threshold": 0.833,
            "overlap": "any",
            "eta": 0.0,
            "noise_on": "boundaries",
            "expansion": "gaussian",
            "repeats": 1,
            "distance_cost": 0.0,
            "pointer_loss": "sigmoid",
            "boundary_choice": "each",
            "report": "last",
            "score": "mean",
        },
        {
            "lstm_layers": 2,
            "self_attention": True,
            "pooling": "mean",
            "pointer": "mlp",
            "classifier": "noisy",
            "timestep": "output",
            "distance_bias": False,
            "width_embedding": False,
            "position_embedding": True,
        },
    ),
}


def test_every_model_has_settings_of_its_paper() -> None:
    assert set(PAPER) == set(FACTORIES)


@pytest.mark.parametrize("factory", FACTORIES)
def test_component_with_the_settings_of_the_paper(
    factory: str, tiny_bert: Path
) -> None:
    settings, architecture = PAPER[factory]
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "prompts": 1 if factory == "span_offset" else 0,
    }
    model = {**small_model(factory, encoder), **architecture}
    nlp = blank_pipeline(factory, model=model, **settings)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=2)
    losses: Dict[str, float] = {}
    nlp.update(examples, sgd=nlp.create_optimizer(), losses=losses)
    assert losses[factory] > 0
    cfg: Any = nlp.get_pipe(factory).cfg
    cfg["threshold"] = 0.0  # a hardly trained model is not sure of anything
    wanted = texts(NESTED)
    assert_same_predictions(nlp.pipe(wanted), copy_of(nlp).pipe(wanted))
