"""Labels are found or given, and stay as they are."""

from pathlib import Path

import pytest
import srsly
from spacy.language import Language
from spacy.training.initialize import init_nlp

from ...helpers import NESTED, blank_pipeline, make_examples, trained_copy
from .helpers import COURT, training_config


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


def test_labels_given_keep_their_order_and_are_distinct(factory: str) -> None:
    nlp = blank_pipeline(factory)
    pipe = nlp.get_pipe(factory)
    examples = make_examples(nlp, NESTED)
    given = ["X", "PER", "GPE", "ORG", "PER"]
    pipe.initialize(lambda: examples, nlp=nlp, labels=given)
    assert pipe.labels == ("X", "PER", "GPE", "ORG")


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
    assert pipe.labels == ("Z", "A", "GPE", "ORG", "PER")


def test_label_data_makes_the_same_labels(factory: str, tmp_path: Path) -> None:
    pipe = trained_copy(factory).get_pipe(factory)
    srsly.write_json(tmp_path / "labels.json", pipe.label_data)
    nlp = blank_pipeline(factory)
    again = nlp.get_pipe(factory)
    labels = srsly.read_json(tmp_path / "labels.json")
    again.initialize(lambda: make_examples(nlp, NESTED), labels=labels)
    assert again.labels == pipe.labels == ("GPE", "ORG", "PER")


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
    with pytest.raises(ValueError, match=r"SP008.*3 labels, but now gets 4"):
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
