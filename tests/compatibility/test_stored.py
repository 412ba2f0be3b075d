"""Pipelines of version 0.1.0 still load, predict the same, and are trained the same."""

import json
from typing import Any, Dict

import numpy as np
import pytest
import spacy
from spacy.language import Language

from .stored import (
    EXPECTED,
    FOLDER,
    NAMES,
    WITH_TRANSFORMER,
    encoder_for,
    new_pipeline,
    optimizer_for,
    predictions,
    ten_steps,
)

# Other processors round differently, and ten steps carry that along.
SAME_SCORE, SAME_WEIGHT = 1e-6, 1e-5

# Adding the same number to the scores of all keys changes nothing, so the gradient of
# this bias is rounding, which AdamW scales up to whole steps.
WITHOUT_GRADIENT = "key.bias"


def weights_of(nlp: Language) -> Dict[str, np.ndarray]:
    """RETURNS (Dict[str, np.ndarray]): every tensor, by place and name."""
    found: Dict[str, Any] = {}
    for component, pipe in nlp.pipeline:
        for index, node in enumerate(pipe.model.walk()):
            for name in node.param_names:
                found[f"{component}/{index}/{name}"] = node.get_param(name)
            for shim in node.shims:
                for name, tensor in shim._model.state_dict().items():
                    found[f"{component}/{index}/{name}"] = tensor.numpy()
    return found


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    if request.param == WITH_TRANSFORMER:
        pytest.importorskip("transformers")
    return request.param


def test_stored_pipeline_predicts_the_same(name: str) -> None:
    expected = json.loads(EXPECTED.read_text(encoding="utf8"))[name]
    found = predictions(spacy.load(FOLDER / name))
    assert sum(map(len, expected)) > 20
    for spans, wanted in zip(found, expected, strict=True):
        assert [span[:3] for span in spans] == [span[:3] for span in wanted]
        scores = [span[3] for span in spans]
        assert scores == pytest.approx([span[3] for span in wanted], abs=SAME_SCORE)


def test_ten_steps_give_the_same_weights(name: str) -> None:
    stored = weights_of(spacy.load(FOLDER / name))
    nlp = new_pipeline(name, encoder_for(name))
    ten_steps(nlp, optimizer_for(name))
    trained = weights_of(nlp)
    assert trained.keys() == stored.keys()
    for place, weights in trained.items():
        if place.endswith(WITHOUT_GRADIENT):
            continue
        np.testing.assert_allclose(
            weights, stored[place], rtol=0, atol=SAME_WEIGHT, err_msg=place
        )
