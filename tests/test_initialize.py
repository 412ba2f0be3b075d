"""Mistakes end at once, with a code and the way out; labels are found or given."""

import io
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import spacy
import srsly
from confection import ConfigValidationError
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.util import registry

from .helpers import (
    FACTORIES,
    NESTED,
    SMALL_ENCODER,
    annotate,
    blank_pipeline,
    copy_of,
    make_examples,
    spans_of,
    train,
    trained_copy,
)

COURT = NESTED[0][0]


def unannotated(nlp: Language) -> List[Example]:
    return [Example(nlp.make_doc("A b."), nlp.make_doc("A b."))]


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


# --------------------------------------------------------- nothing to learn


def test_initialize_wrong_spans_key_names_those_that_exist(factory: str) -> None:
    nlp = blank_pipeline(factory, spans_key="mentions")
    examples = unannotated(nlp)
    for key in ("sc", "coref"):
        annotate(examples[0].reference, [(0, 1, "X")], key)
    with pytest.raises(ValueError, match=r"SP003.*'mentions'.*'coref', 'sc'"):
        nlp.initialize(lambda: examples)


def test_initialize_without_any_annotation_names_none(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with pytest.raises(ValueError, match=r"SP003.*none of the 1 examples.*: none\."):
        nlp.initialize(lambda: unannotated(nlp))


def test_initialize_wrong_spans_key_beside_an_empty_doc(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED, "sc")
    with pytest.raises(ValueError, match=r"SP003.*'sc'"):
        nlp.initialize(lambda: examples)


def test_initialize_annotation_without_entities_has_no_labels(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [("It rained.", []), ("It snowed.", [])])
    with pytest.raises(ValueError, match=r"SP004.*the 2 examples are annotated"):
        nlp.initialize(lambda: examples)


def test_initialize_annotation_without_entities_takes_given_labels(
    factory: str,
) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [("It rained.", [])])
    pipe = nlp.get_pipe(factory)
    pipe.initialize(lambda: examples, nlp=nlp, labels=["B", "A"])
    assert pipe.labels == ("A", "B")


def test_initialize_without_examples(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with pytest.raises(TypeError, match="E930"):
        nlp.get_pipe(factory).initialize(lambda: [])


# ------------------------------------------------------------ score weights


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


def test_score_weights_of_another_key_fail(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 1.0}
    config = training_config(factory, tmp_path, weights, spans_key="sc")
    with pytest.raises(ValueError, match=r"SP005.*spans_ents_f.*spans_sc_f"):
        init_nlp(config)


def test_score_weights_misspelt_fail(factory: str, tmp_path: Path) -> None:
    weights = {"spans_ents_f": 0.5, "span_ents_f": 0.5}
    config = training_config(factory, tmp_path, weights)
    with pytest.raises(ValueError, match=r"SP005\] \S+ asks for span_ents_f,"):
        init_nlp(config)


def test_score_weights_of_own_key_pass(factory: str, tmp_path: Path) -> None:
    weights = {"spans_sc_f": 1.0, "spans_ents_f": 0.0}
    config = training_config(factory, tmp_path, weights, spans_key="sc")
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


def test_score_weights_only_own_key_named_pass(factory: str, tmp_path: Path) -> None:
    config = training_config(factory, tmp_path, {"spans_sc_f": 1.0}, spans_key="sc")
    assert init_nlp(config).get_pipe(factory).labels == ("GPE", "ORG", "PER")


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


# ------------------------------------------------------------------- labels


def test_labels_are_found_sorted_whatever_the_order(factory: str) -> None:
    for data in (NESTED, NESTED[::-1]):
        nlp = blank_pipeline(factory)
        nlp.initialize(lambda nlp=nlp, data=data: make_examples(nlp, data))
        assert nlp.get_pipe(factory).labels == ("GPE", "ORG", "PER")
        assert nlp.pipe_labels[factory] == ["GPE", "ORG", "PER"]


def test_labels_beyond_the_first_examples_are_found(factory: str) -> None:
    nlp = blank_pipeline(factory)
    data = [("It rained.", [])] * 200 + [("Boston.", [(0, 1, "LAST")])]
    nlp.initialize(lambda: make_examples(nlp, data))
    assert nlp.get_pipe(factory).labels == ("LAST",)


def test_labels_given_are_sorted_and_distinct(factory: str) -> None:
    nlp = blank_pipeline(factory)
    pipe = nlp.get_pipe(factory)
    examples = make_examples(nlp, NESTED)
    given = ["X", "PER", "GPE", "ORG", "PER"]
    pipe.initialize(lambda: examples, nlp=nlp, labels=given)
    assert pipe.labels == ("GPE", "ORG", "PER", "X")


def test_labels_given_in_config_block(factory: str, tmp_path: Path) -> None:
    config = training_config(factory, tmp_path, {"spans_ents_f": 1.0})
    labels = ["GPE", "ORG", "PER", "SPARE"]
    config["initialize"]["components"] = {factory: {"labels": labels}}
    assert init_nlp(config).get_pipe(factory).labels == tuple(labels)


def test_labels_added_before_initialize_stay(factory: str) -> None:
    nlp = blank_pipeline(factory)
    pipe = nlp.get_pipe(factory)
    assert [pipe.add_label(label) for label in ("Z", "A", "Z")] == [1, 1, 0]
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    assert pipe.labels == ("A", "GPE", "ORG", "PER", "Z")


def test_label_data_makes_the_same_labels(factory: str, tmp_path: Path) -> None:
    pipe = trained_copy(factory).get_pipe(factory)
    srsly.write_json(tmp_path / "labels.json", pipe.label_data)
    nlp = blank_pipeline(factory)
    again = nlp.get_pipe(factory)
    labels = srsly.read_json(tmp_path / "labels.json")
    again.initialize(lambda: make_examples(nlp, NESTED), labels=labels)
    assert again.labels == pipe.labels == ("GPE", "ORG", "PER")


def test_add_label_after_initialize_fails(own_nlp: Language, factory: str) -> None:
    pipe = own_nlp.get_pipe(factory)
    with pytest.raises(ValueError, match=r"SP008.*3 labels and now gets 4"):
        pipe.add_label("NEW")
    assert pipe.labels == ("GPE", "ORG", "PER")
    assert pipe.add_label("GPE") == 0


def test_add_label_that_is_no_text_fails(factory: str) -> None:
    with pytest.raises(ValueError, match="E187"):
        blank_pipeline(factory).get_pipe(factory).add_label(3)


def test_initialize_again_starts_anew(own_nlp: Language, factory: str) -> None:
    examples = make_examples(own_nlp, NESTED)
    learned, _ = own_nlp.get_pipe(factory).get_loss(examples)
    own_nlp.initialize(lambda: examples)
    assert own_nlp.get_pipe(factory).get_loss(examples)[0] > 2 * learned


def test_initialize_again_with_more_labels_fails(own_nlp: Language) -> None:
    more = make_examples(own_nlp, [*NESTED, ("Boston.", [(0, 1, "NEW")])])
    with pytest.raises(ValueError, match=r"SP008.*3 labels and now gets 4"):
        own_nlp.initialize(lambda: more)


def test_label_thresholds_of_unknown_labels_fail(factory: str) -> None:
    nlp = blank_pipeline(factory, label_thresholds={"GEP": 0.5, "ORG": 0.5})
    with pytest.raises(ValueError, match=r"SP006.*: GEP\. .*GPE, ORG, PER"):
        nlp.initialize(lambda: make_examples(nlp, NESTED))


def test_label_thresholds_changed_later_fail_in_prediction(
    own_nlp: Language, factory: str
) -> None:
    own_nlp.get_pipe(factory).cfg["label_thresholds"] = {"GEP": 0.5}
    with pytest.raises(ValueError, match="SP006"):
        own_nlp(COURT)


# --------------------------------------------------------------- weights


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
    with pytest.raises(ValueError, match=r"SP007.*of 3 labels.*name 4.*NEW"):
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


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name,value",
    [
        ("spans_key", ""),
        ("threshold", 1.5),
        ("threshold", -0.1),
        ("label_thresholds", {"GPE": 2.0}),
        ("overlap", "crossing"),
        ("set_ents", "always"),
        ("window", "paragraph"),
        ("max_window", 0),
        ("stride", -1),
        ("stride", 256),
        ("max_cells", 0),
        ("seed", -1),
    ],
)
def test_add_pipe_setting_out_of_limits_fails(
    factory: str, name: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{name}' must be"):
        spacy.blank("en").add_pipe(factory, config={name: value})


@pytest.mark.parametrize(
    "name,value", [("treshold", 0.5), ("threshold", "high"), ("overwrite", "maybe")]
)
def test_add_pipe_unknown_setting_or_type_fails(
    factory: str, name: str, value: Any
) -> None:
    with pytest.raises(ConfigValidationError, match=name):
        spacy.blank("en").add_pipe(factory, config={name: value})


def test_setting_changed_later_out_of_limits_fails(
    own_nlp: Language, factory: str
) -> None:
    own_nlp.get_pipe(factory).cfg["overlap"] = "crossing"
    with pytest.raises(ValueError, match=r"SP002.*'overlap'"):
        own_nlp(COURT)


def test_two_components_do_not_share_settings(factory: str) -> None:
    nlp = spacy.blank("en")
    one, two = nlp.add_pipe(factory, name="one"), nlp.add_pipe(factory, name="two")
    one.cfg["label_thresholds"]["GPE"] = 0.9
    assert two.settings.label_thresholds == {}


def test_initialize_only_empty_docs_builds_a_model(factory: str) -> None:
    nlp = blank_pipeline(factory)
    empty = Example(nlp.make_doc(""), annotate(nlp.make_doc(""), []))
    pipe = nlp.get_pipe(factory)
    pipe.initialize(lambda: [empty], nlp=nlp, labels=["A"])
    assert spans_of(pipe(Doc(nlp.vocab))) == []


@pytest.mark.parametrize("factory", FACTORIES)
def test_initialize_without_labels_names_the_groups_that_exist(factory: str) -> None:
    nlp = blank_pipeline(factory)
    reference = annotate(nlp.make_doc("Ann met Bob"), [(0, 1, "PER")], key="sc")
    reference.set_ents([])
    with pytest.raises(ValueError, match=r"SP004.*Groups that exist: 'sc'"):
        nlp.initialize(lambda: [Example(nlp.make_doc("Ann met Bob"), reference)])


@pytest.mark.parametrize(
    "settings",
    [
        {"lstm_width": 5},
        {"lstm_width": -2},
        {"hidden_width": 0},
        {"n_widths": 0},
        {"width_embedding": 0},
        {"dropout": 1.5},
        {"input_dropout": -1.0},
    ],
)
def test_architecture_out_of_its_limits_fails_at_once(settings: Dict) -> None:
    nlp = spacy.blank("en")
    (name,) = settings
    with pytest.raises(ValueError, match=f"SP002.*'{name}'"):
        nlp.add_pipe("span_biaffine", config={"model": settings})
