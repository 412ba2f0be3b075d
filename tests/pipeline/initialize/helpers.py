"""The config of a training run, and the text that the tests predict."""

from pathlib import Path
from typing import Any, Dict

from spacy.tokens import DocBin

from ...helpers import NESTED, blank_pipeline, make_examples

COURT = NESTED[0][0]


def training_config(
    factory: str, folder: Path, weights: Dict[str, float], **settings: Any
) -> Any:
    """Make the config of a training run, with its data."""
    nlp = blank_pipeline(factory, **settings)
    examples = make_examples(nlp, NESTED, settings.get("spans_key", "ents"))
    path = folder / "train.spacy"
    DocBin(docs=[example.reference for example in examples]).to_disk(path)
    config = nlp.config.copy()
    config["paths"].update(train=str(path), dev=str(path))
    config["training"]["score_weights"] = weights
    return config
