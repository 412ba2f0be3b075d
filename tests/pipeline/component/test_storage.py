"""Components predict the same wherever they were stored, and go on learning."""

import copy
import pickle
from pathlib import Path
from typing import Any, List

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ...helpers import (
    FACTORIES,
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    copy_of,
    make_examples,
    predicted_rows,
    spans_of,
    train,
)
from .helpers import MANY


def test_to_disk_and_back_predicts_the_same(
    nlp: Language, alone: List[Doc], tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_predictions(loaded.pipe(MANY), alone)


def test_to_bytes_and_back_predicts_the_same(nlp: Language, alone: List[Doc]) -> None:
    assert_same_predictions(copy_of(nlp).pipe(MANY), alone)


def test_pickle_and_back_predicts_the_same(nlp: Language, alone: List[Doc]) -> None:
    loaded = pickle.loads(pickle.dumps(nlp))
    assert_same_predictions(loaded.pipe(MANY), alone)


def test_pickled_component_predicts_the_same(nlp: Language, factory: str) -> None:
    pipe = nlp.get_pipe(factory)
    loaded = pickle.loads(pickle.dumps(pipe))
    docs = [nlp.make_doc(text) for text in MANY]
    expected = predicted_rows(pipe, docs)
    assert any(expected)
    assert predicted_rows(loaded, docs) == expected


def test_deepcopied_model_predicts_the_same_and_is_independent(
    own_nlp: Language, factory: str, alone: List[Doc]
) -> None:
    pipe = own_nlp.get_pipe(factory)
    kept = pipe.model
    pipe.model = copy.deepcopy(kept)
    assert_same_predictions(own_nlp.pipe(MANY), alone)
    examples = make_examples(own_nlp, NESTED[2:3])
    for _ in range(5):
        own_nlp.update(examples, sgd=own_nlp.create_optimizer())
    pipe.model = kept
    assert_same_predictions(own_nlp.pipe(MANY), alone)


def test_sourced_component_predicts_the_same(
    nlp: Language, factory: str, alone: List[Doc]
) -> None:
    other = spacy.blank("en")
    other.add_pipe(factory, source=nlp)
    assert_same_predictions(other.pipe(MANY), alone)


def test_sourced_under_other_name_can_be_stored(
    nlp: Language, factory: str, alone: List[Doc], tmp_path: Path
) -> None:
    other = spacy.blank("en")
    other.add_pipe(factory, name="entities", source=copy_of(nlp))
    other.to_disk(tmp_path)
    assert_same_predictions(spacy.load(tmp_path).pipe(MANY), alone)


def test_update_after_reloading_continues(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=20)
    loaded = copy_of(nlp)
    examples = make_examples(loaded, NESTED)
    pipe = loaded.get_pipe(factory)
    before, _ = pipe.get_loss(examples)
    assert before == pytest.approx(nlp.get_pipe(factory).get_loss(examples)[0], 1e-4)
    optimizer = loaded.resume_training()
    for _ in range(80):
        loaded.update(examples, sgd=optimizer)
    assert pipe.get_loss(examples)[0] < before / 2
    assert loaded.evaluate(make_examples(loaded, NESTED))["spans_ents_f"] == 1.0


def test_a_setting_changed_in_place_is_checked_and_holds(
    own_nlp: Language, factory: str
) -> None:
    pipe = own_nlp.get_pipe(factory)
    special = pipe.cfg["label_thresholds"] = {}
    before = own_nlp(NESTED[0][0])
    assert spans_of(before)
    special.update(dict.fromkeys(pipe.labels, 1.0))
    assert not spans_of(own_nlp(NESTED[0][0]))
    special["GPE"] = 2.0
    with pytest.raises(ValueError, match=r"SP002.*label_thresholds"):
        own_nlp(NESTED[0][0])


def test_settings_changed_in_cfg_are_stored(own_nlp: Language, factory: str) -> None:
    own_nlp.get_pipe(factory).cfg["threshold"] = 1.0
    assert copy_of(own_nlp).get_pipe(factory).settings.threshold == 1.0


@pytest.mark.parametrize("value", [0.6, 0.1 + 0.2, 1 / 3, 0.7999999999999999])
@pytest.mark.parametrize("by_disk", [False, True])
def test_numbers_of_settings_are_the_same_after_storing(
    nlp: Language, factory: str, tmp_path: Path, value: float, by_disk: bool
) -> None:
    pipe: Any = copy_of(nlp).get_pipe(factory)
    names = [name for name, old in pipe.cfg.items() if isinstance(old, float)]
    changed = {name: value for name in names}
    pipe.cfg.update(changed, label_thresholds={"GPE": value})
    loaded: Any = copy_of(nlp).get_pipe(factory)
    if by_disk:
        pipe.to_disk(tmp_path / "pipe")
        loaded.from_disk(tmp_path / "pipe")
    else:
        loaded.from_bytes(pipe.to_bytes())
    assert "threshold" in names
    assert loaded.cfg == pipe.cfg


@pytest.mark.parametrize("name", [FACTORIES[0], "span_ensemble"])
def test_threshold_that_was_chosen_before_loading_does_not_stay(name: str) -> None:
    nlp = spacy.blank("en")
    settings = {"members": ["span_biaffine"]} if name == "span_ensemble" else {}
    pipe: Any = nlp.add_pipe(name, config={**settings, "threshold": "auto"})
    default, stored = pipe.settings.threshold, pipe.to_bytes(exclude=["vocab"])
    pipe.cfg["chosen_threshold"] = 0.77
    again: Any = copy_of(nlp).get_pipe(name)
    assert again.settings.threshold == 0.77
    pipe.from_bytes(stored, exclude=["vocab"])
    assert pipe.settings.threshold == default != 0.77
