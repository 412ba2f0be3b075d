"""Thresholds and temperature: chosen for a goal, written, and worth something."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_spanner.cli.evaluate import show_tuning
from spacy_spanner.evaluation.counts import Reading
from spacy_spanner.evaluation.tuning import MIN_GOLD, Goal, choose_thresholds, tune

from ..cli.helpers import run
from ..helpers import NESTED, make_examples, predict_nested, spans_of, trained_copy
from .report.test_page import OTHER
from .test_predicting import ruler, write_corpus


def readings_of(label: str, right: float, wrong: float, n: int) -> list:
    """Make documents with one right and one wrong span of a label, by their scores."""
    predicted = {(0, 1, label): right, (1, 2, label): wrong}
    return [Reading({(0, 1, label)}, dict(predicted), []) for _ in range(n)]


def test_choose_separates_right_from_wrong() -> None:
    found = choose_thresholds(readings_of("A", 0.8, 0.4, 3), Goal())
    # Anything above 0.4 up to 0.8 is as good: the middle.
    assert found["threshold"] == pytest.approx(0.6, abs=0.011)
    assert found["label_thresholds"] == {}


def test_choose_by_label_where_there_is_enough_gold() -> None:
    readings = [
        *readings_of("A", 0.9, 0.7, MIN_GOLD),
        *readings_of("B", 0.5, 0.3, MIN_GOLD),
        *readings_of("C", 0.2, 0.1, MIN_GOLD - 1),
    ]
    found = choose_thresholds(readings, Goal(per_label=True))["label_thresholds"]
    assert list(found) == ["A", "B"]
    assert 0.7 < found["A"] <= 0.9 and 0.3 < found["B"] <= 0.5


def test_choose_for_recall_and_for_precision() -> None:
    readings = readings_of("A", 0.4, 0.4, 2) + readings_of("A", 0.9, 0.1, 1)
    low = choose_thresholds(readings, Goal(beta=5.0))["threshold"]
    high = choose_thresholds(readings, Goal(precision=0.9))["threshold"]
    assert low <= 0.4 < high <= 0.9


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_corpus(tmp_path, spacy.blank("en"), [*NESTED, *OTHER])


def test_tune_changes_the_settings_and_tells_scores(data: Path) -> None:
    nlp = trained_copy("span_biaffine")
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.99999
    found = tune(nlp, data, test=data)
    before, after = found["scores"]["before"], found["scores"]["after"]
    assert after["dev"]["f"] > before["dev"]["f"]
    assert after["test"] == after["dev"]
    cfg = nlp.get_pipe("span_biaffine").cfg
    assert found["settings"]["after"]["threshold"] == cfg["threshold"] < 0.99999
    assert found["settings"]["after"]["temperature"] == cfg["temperature"] != 1.0
    assert found["settings"]["after"]["bias"] == cfg["bias"] != 0.0
    scores = nlp.evaluate(make_examples(nlp, [*NESTED[:3], *OTHER]))
    assert scores["spans_ents_f"] == pytest.approx(after["dev"]["f"])
    assert scores["spans_ents_ece"] == pytest.approx(after["dev"]["ece"])


def test_tune_without_calibration_leaves_it(data: Path) -> None:
    nlp = trained_copy("span_biaffine")
    nlp.get_pipe("span_biaffine").cfg.update(temperature=1.5, bias=0.1)
    found = tune(nlp, data, goal=Goal(calibrate=False))
    after = found["settings"]["after"]
    assert (after["temperature"], after["bias"]) == (1.5, 0.1)
    assert list(found["scores"]["after"]) == ["dev"]


def test_tune_of_spancat(data: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("spancat", config={"spans_key": "ents", "threshold": 0.9})
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    found = tune(nlp, data)
    assert set(found["settings"]["after"]) == {"threshold"}
    chosen = nlp.get_pipe("spancat").cfg["threshold"]  # type: ignore[attr-defined]
    assert found["settings"]["after"]["threshold"] == chosen != 0.9
    # Nothing was learned, so there is nothing to gain, but nothing to lose either.
    scores = found["scores"]
    assert scores["after"]["dev"]["f"] >= scores["before"]["dev"]["f"]


def test_tune_of_spans_without_scores_fails(data: Path) -> None:
    with pytest.raises(ValueError, match=r"SP075.*span_ruler"):
        tune(ruler("ents"), data)


def test_tune_on_documents_without_entities_fails(tmp_path: Path) -> None:
    nlp = trained_copy("span_biaffine")
    before = dict(nlp.get_pipe("span_biaffine").cfg)
    doc = nlp.make_doc("Nothing happens here.")
    doc.spans["ents"] = []
    path = tmp_path / "empty.spacy"
    DocBin(docs=[doc, doc]).to_disk(path)
    with pytest.raises(ValueError, match=r"SP086.*empty\.spacy.* 2 documents.*'ents'"):
        tune(nlp, path)
    assert nlp.get_pipe("span_biaffine").cfg == before


def test_tune_of_a_component_that_finds_nothing_fails(data: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("spancat", config={"spans_key": "ents"})
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    pipe: Any = nlp.get_pipe("spancat")
    scorer = pipe.model.get_ref("scorer")
    (linear,) = [node for node in scorer.walk() if node.name == "linear"]
    linear.set_param("b", linear.get_param("b") - 100)
    message = r"SP161.*'spancat'.*'ents'.*0\.05 in 6 documents"
    with pytest.raises(ValueError, match=message):
        tune(nlp, data)


def test_tune_command_writes_a_pipeline(data: Path, tmp_path: Path) -> None:
    nlp = trained_copy("span_biaffine")
    nlp.to_disk(tmp_path / "model")
    words = ("tune", tmp_path / "model", data, "-o", tmp_path / "tuned")
    printed = run(*words, "--test", data, "--per-label")
    assert "before" in printed and "after" in printed and "SW070" not in printed
    found = srsly.read_json(tmp_path / "tuned" / "tuning.json")
    tuned = spacy.load(tmp_path / "tuned")
    cfg = tuned.get_pipe("span_biaffine").cfg
    assert cfg["threshold"] == found["settings"]["after"]["threshold"]
    tune(nlp, data, goal=Goal(per_label=True))
    pairs = zip(predict_nested(tuned), predict_nested(nlp))
    assert all(spans_of(one) == spans_of(two) for one, two in pairs)
    assert "SP070" in run(*words, code=1)
    assert "SW070" in run(*words, "--force")


def test_settings_from_before_tuning_are_not_ignored_in_silence(
    data: Path, tmp_path: Path
) -> None:
    name, made = "span_biaffine", 0.61
    nlp = trained_copy(name)
    nlp.to_disk(tmp_path / "model")
    given = {"components": {name: {"threshold": made}}}
    nlp = spacy.load(tmp_path / "model", config=given)
    nlp.to_disk(tmp_path / "model")
    tune(nlp, data, goal=Goal(per_label=True))
    nlp.to_disk(tmp_path / "tuned")
    chosen = dict(nlp.get_pipe(name).cfg)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert spacy.load(tmp_path / "tuned").get_pipe(name).cfg == chosen
        again = spacy.load(tmp_path / "tuned", config=given)
    assert again.get_pipe(name).cfg["threshold"] == made
    reset = {"components": {name: {"temperature": 1.0}}}
    with pytest.warns(UserWarning, match=r"SW008.*temperature = 1\.0 \(stored"):
        spacy.load(tmp_path / "tuned", config=reset)


def test_tune_command_shows_settings_as_they_were_set(
    capsys: pytest.CaptureFixture,
) -> None:
    read = srsly.json_loads("0.3")
    assert read != 0.3  # how spaCy reads configs
    scores = {"dev": {"p": 1.0, "r": 1.0, "f": 1.0, "ece": None}}
    before = {"threshold": read, "label_thresholds": {"GPE": read}}
    after = {"threshold": 0.35, "label_thresholds": {}}
    show_tuning(
        {
            "scores": {"before": scores, "after": scores},
            "settings": {"before": before, "after": after},
        }
    )
    printed = capsys.readouterr().out
    assert "threshold: 0.3 -> 0.35\n" in printed
    assert "label_thresholds: {'GPE': 0.3} -> {}\n" in printed
