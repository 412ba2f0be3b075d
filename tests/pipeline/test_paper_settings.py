"""Components with all mechanisms of the papers train, predict and are stored."""

from pathlib import Path
from typing import Any, Dict

import pytest

from spacy_spanner import recipe

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


@pytest.mark.parametrize("factory", FACTORIES)
def test_component_with_the_recipe_of_the_paper(factory: str, tiny_bert: Path) -> None:
    settings = recipe(factory, "paper", "ace04")
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "prompts": 1 if factory == "span_offset" else 0,
    }
    model = {**settings.pop("model"), **small_model(factory, encoder)}
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
