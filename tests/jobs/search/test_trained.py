"""Trials that are trained are accounted for, and scored once on test data."""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.training import Corpus

from spacy_spanner.jobs.search.one_trial import run_here
from spacy_spanner.jobs.search.search import run_search, score_test
from spacy_spanner.jobs.search.trials import Plan

from ...runs import NAME, write_corpus
from .helpers import SETTING, Fake, search_in, smoothing


@pytest.fixture(scope="module")
def real(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two trials that were really trained, in this process."""
    folder = tmp_path_factory.mktemp("real")
    later = {"threshold": [0.01]}
    search = search_in(folder, plan, seeds=[0, 1], grid={SETTING: [0.1]}, later=later)
    return search, run_search(search, engine=run_here)


def test_trained_trials_are_accounted_for(real: Any) -> None:
    _, found = real
    assert len(found.rows) == 2
    for trial in found.trials:
        result = trial.result()
        assert result["component"] == NAME
        assert result["overrides"] == trial.variant.overrides
        assert [row["step"] for row in result["history"]] == [0, 3, 6]
        assert set(result["scores"]) == {"dev"}
        assert result["scores"]["dev"]["f"] == max(r["f"] for r in result["history"])
    seeds = [trial.result()["history"][-1]["loss"] for trial in found.trials]
    assert seeds[0] != seeds[1]


def test_test_data_are_scored_once(real: Any, tmp_path: Path) -> None:
    search, found = real
    test = write_corpus(tmp_path / "test.spacy", times=1)
    scored = score_test(search, found, test)
    assert len(scored["runs"]) == 2
    by_hand = spacy.load(found.trials[1].folder / "model")
    if found.best.later:
        by_hand.get_pipe(NAME).cfg.update(found.best.later)  # type: ignore[attr-defined]
    corpus = Corpus(test)
    expected = by_hand.evaluate(list(corpus(by_hand)))["spans_ents_f"]
    assert scored["runs"][1]["scores"]["test"]["f"] == pytest.approx(expected)
    known = json.loads((search.output / "test.json").read_text(encoding="utf8"))
    known["summary"]["f"]["mean"] = "as read"
    srsly.write_json(search.output / "test.json", known)
    assert score_test(search, found, test)["summary"]["f"]["mean"] == "as read"
    other = write_corpus(tmp_path / "other.spacy", times=2)
    assert score_test(search, found, other)["summary"]["f"]["mean"] != "as read"


def test_test_scores_need_the_pipelines(plan: Plan, tmp_path: Path) -> None:
    search = search_in(tmp_path, plan)
    found = run_search(search, engine=Fake(smoothing))
    for trial in found.trials:
        if (trial.folder / "model").exists():
            (trial.folder / "model").rmdir()
    with pytest.raises(ValueError, match=r"\[SP139\]"):
        score_test(search, found, plan.config)
