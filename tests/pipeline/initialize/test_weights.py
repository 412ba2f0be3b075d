"""Weights that are absent, of other shapes, or no numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.util import registry

from ...helpers import (
    NESTED,
    SMALL_ENCODER,
    blank_pipeline,
    copy_of,
    make_examples,
    train,
)
from .helpers import COURT


def broken(nlp: Language, factory: str) -> Language:
    """Put a value that is not a number into every weight of the encoder."""
    for node in nlp.get_pipe(factory).model.get_ref("tok2vec").walk():
        for name in node.param_names:
            node.set_param(name, np.full_like(node.get_param(name), np.nan))
    return nlp


def wide_encoder() -> Any:
    config = {"tok2vec": {**SMALL_ENCODER, "width": 48}}
    encoder = registry.resolve(config)["tok2vec"]
    encoder.initialize()
    return encoder


def test_bytes_into_component_with_other_labels_fail(
    own_nlp: Language, factory: str
) -> None:
    other = blank_pipeline(factory)
    train(other, make_examples(other, NESTED[:1]), updates=0)
    assert other.get_pipe(factory).labels == ("GPE", "ORG")
    with pytest.raises(ValueError, match="SP007"):
        other.get_pipe(factory).from_bytes(own_nlp.get_pipe(factory).to_bytes())


def test_folder_with_edited_labels_fails(
    own_nlp: Language, factory: str, tmp_path: Path
) -> None:
    own_nlp.to_disk(tmp_path)
    cfg = srsly.read_json(tmp_path / factory / "cfg")
    cfg["labels"].append("NEW")
    srsly.write_json(tmp_path / factory / "cfg", cfg)
    with pytest.raises(ValueError, match=r"SP007.*with 3 labels.*have 4.*NEW"):
        spacy.load(tmp_path)


def test_bytes_before_initialize_give_settings(factory: str) -> None:
    nlp = blank_pipeline(factory)
    nlp.get_pipe(factory).add_label("A")
    loaded = copy_of(nlp)
    assert loaded.get_pipe(factory).labels == ("A",)
    with pytest.raises(ValueError, match="E109"):
        loaded(COURT)


def test_predict_before_initialize_fails(factory: str) -> None:
    with pytest.raises(ValueError, match="E109"):
        blank_pipeline(factory)(COURT)


def test_predict_with_encoder_of_other_width_fails(
    own_nlp: Language, factory: str
) -> None:
    model = own_nlp.get_pipe(factory).model
    model.replace_node(model.get_ref("tok2vec"), wide_encoder())
    with pytest.raises(ValueError, match=r"SP009.*48.*32"):
        own_nlp(COURT)


def test_initialize_with_encoder_of_other_width_fails(
    own_nlp: Language, factory: str
) -> None:
    model = own_nlp.get_pipe(factory).model
    model.replace_node(model.get_ref("tok2vec"), wide_encoder())
    model.set_ref("tok2vec", model.layers[0])
    with pytest.raises(ValueError, match=r"SP009.*48.*32"):
        own_nlp.initialize(lambda: make_examples(own_nlp, NESTED))


def test_update_loss_that_is_no_number_fails(own_nlp: Language, factory: str) -> None:
    examples = make_examples(own_nlp, NESTED)
    with pytest.raises(ValueError, match=r"SP010.*nan"):
        broken(own_nlp, factory).update(examples)
