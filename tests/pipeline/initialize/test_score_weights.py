"""Weights of scores that the component gives, and of others."""

import io
from pathlib import Path
from typing import Dict, List

import pytest
import spacy
import srsly
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp

from ...helpers import NESTED, blank_pipeline, make_examples
from .helpers import training_config


def test_score_weights_of_another_key_fail(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 1.0}
    config = training_config(factory, tmp_path, weights, spans_key="sc")
    with pytest.raises(ValueError, match=r"SP005.*spans_ents_f.*spans_sc_f"):
        init_nlp(config)


def test_score_weights_misspelt_fail(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 0.5, "span_ents_f": 0.5}
    config = training_config(factory, tmp_path, weights)
    with pytest.raises(ValueError, match=r"SP005\] \S+ uses span_ents_f,"):
        init_nlp(config)


def test_score_weights_of_own_key_pass(factory: str, tmp_path: Path) -> None:
    weights = {"spans_sc_f": 1.0, "spans_ents_f": 0.0}
    config = training_config(factory, tmp_path, weights, spans_key="sc")
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


def test_score_weights_only_own_key_named_pass(factory: str, tmp_path: Path) -> None:
    config = training_config(factory, tmp_path, {"spans_sc_f": 1.0}, spans_key="sc")
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


@pytest.mark.parametrize("others", [{}, {"token_acc": 1.0}])
def test_weights_of_the_default_key_do_not_count(
    others: Dict[str, float], factory: str, tmp_path: Path
) -> None:
    given = {"spans_sc_f": 1.0, **others}
    config = training_config(factory, tmp_path, given, spans_key="sc")
    weights = init_nlp(config).config["training"]["score_weights"]
    counted = {name: weight for name, weight in weights.items() if weight}
    assert counted == dict.fromkeys(given, 1 / len(given))
    shown = {name for name, weight in weights.items() if weight is not None}
    assert not [name for name in shown if name.startswith("spans_ents")]


def test_score_weights_default_key_pass(factory: str, tmp_path: Path) -> None:
    config = training_config(factory, tmp_path, {"spans_ents_f": 1.0})
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


def test_score_weights_of_weight_0_may_be_unknown(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 1.0, "tag_acc": 0.0}
    config = training_config(factory, tmp_path, weights)
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


def test_score_weights_of_other_components_pass(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 0.5, "sents_f": 0.5}
    config = training_config(factory, tmp_path, weights)
    config["nlp"]["pipeline"] = ["sentencizer", factory]
    config["components"]["sentencizer"] = {"factory": "sentencizer"}
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


@pytest.mark.parametrize("frozen", [["tagger"], []])
def test_score_weights_of_sourced_components_pass(
    frozen: List[str], factory: str, tmp_path: Path
) -> None:
    # spaCy adds the default weights of the tagger, and hides it from `initialize`.
    source = spacy.blank("en")
    source.add_pipe("tagger").add_label("NN")  # type: ignore[attr-defined]
    source.initialize()
    source.to_disk(tmp_path / "source")
    config = training_config(factory, tmp_path, {})
    config["nlp"]["pipeline"] = ["tagger", factory]
    config["components"]["tagger"] = {"source": str(tmp_path / "source")}
    config["training"]["frozen_components"] = frozen
    nlp = init_nlp(config)
    weights = nlp.config["training"]["score_weights"]
    assert weights["tag_acc"] == weights["spans_ents_f"] == 0.5


def test_all_scores_are_kept_in_meta_after_training(tmp_path: Path) -> None:
    config = training_config(
        "span_biaffine", tmp_path, {"spans_sc_f": 1.0}, spans_key="sc"
    )
    config["training"].update(max_steps=2, eval_frequency=1)
    train_nlp(init_nlp(config), tmp_path, stdout=io.StringIO(), stderr=io.StringIO())
    kept = srsly.read_json(tmp_path / "model-last" / "meta.json")["performance"]
    assert set(kept["spans_sc_per_type"]) == {"GPE", "ORG", "PER"}
    assert kept["spans_sc_by_length"]["4"]["gold"] == 2
    assert {"spans_sc_macro_f", "spans_sc_nested_f", "spans_sc_ece"} <= set(kept)
    assert "spans_sc_reliability" in kept


def test_score_weights_do_not_stop_blank_pipelines(factory: str) -> None:
    nlp = blank_pipeline(factory, spans_key="sc")
    nlp.initialize(lambda: make_examples(nlp, NESTED, "sc"))
    assert nlp.get_pipe(factory).labels == ("GPE", "ORG", "PER")
