"""`tune` of an ensemble: what its members are judged by, and what it may change."""

from typing import Any, List

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

from spacy_spanner.evaluation.ensemble_tuning import tune_members
from spacy_spanner.evaluation.predicting import find_source
from spacy_spanner.evaluation.tuning import Goal, choose_settings

from ..helpers import annotate
from ..pipeline.test_ensemble import GOLD, SURE, TEXT, joined, members

# A member that is often wrong, and one that is right where nothing is annotated, too.
WRONG = [[0, 2, "PER", 0.6], [2, 3, "PER", 0.7], [3, 4, "GPE", 0.6]]
BEYOND = [*SURE, [5, 6, "PER", 0.9], [5, 7, "GPE", 0.9]]


def ensemble_of(**rows: List[list]) -> Language:
    nlp = members(**rows)
    joined(nlp, *rows)
    return nlp


def dev_data(nlp: Language, *, marked: bool = True) -> List[Example]:
    docs = [annotate(nlp.make_doc(TEXT), GOLD) for _ in range(5)]
    if marked:
        docs = [annotate(doc, [(5, 7, "")], "ents:incomplete") for doc in docs]
    return [Example(nlp.make_doc(TEXT), doc) for doc in docs]


def tuned(nlp: Language, dev: List[Example]) -> Any:
    choose_settings(nlp, find_source(nlp), dev)
    return nlp.get_pipe("span_ensemble").cfg  # type: ignore[attr-defined]


def test_members_are_not_judged_where_gold_is_incomplete() -> None:
    usual, beyond, wrong = (
        ensemble_of(one=rows, two=WRONG) for rows in (SURE, BEYOND, BEYOND)
    )
    expected = tuned(usual, dev_data(usual, marked=False))
    assert tuned(beyond, dev_data(beyond)) == expected
    assert tuned(wrong, dev_data(wrong, marked=False)) != expected


def test_nothing_is_fitted_to_spans_that_cannot_be_judged() -> None:
    nlp = ensemble_of(one=[[5, 6, "PER", 0.9]], two=[[5, 6, "PER", 0.8]])
    ensemble: Any = nlp.get_pipe("span_ensemble")
    tune_members(nlp, ensemble, dev_data(nlp))
    assert ensemble.cfg["weights"] == [0.5, 0.5]
    assert ensemble.cfg["temperatures"] == [1.0, 1.0]
    assert ensemble.cfg["biases"] == [0.0, 0.0]


def test_without_calibration_all_temperatures_and_biases_stay() -> None:
    nlp = ensemble_of(one=SURE, two=WRONG)
    ensemble: Any = nlp.get_pipe("span_ensemble")
    own = {"temperatures": [1.0, 2.0], "biases": [0.0, 0.1]}
    own.update(temperature=1.5, bias=0.2)
    ensemble.cfg.update(own)
    choose_settings(nlp, find_source(nlp), dev_data(nlp), Goal(calibrate=False))
    assert {name: ensemble.cfg[name] for name in own} == own
    assert ensemble.cfg["weights"][0] > 0.9
    choose_settings(nlp, find_source(nlp), dev_data(nlp))
    assert not any(ensemble.cfg[name] == value for name, value in own.items())
    right, wrong = ensemble.settings.calibrations
    sure = np.full(1, 0.9, dtype="f")
    assert wrong.of(sure) < 0.5 < right.of(sure)


def test_settings_are_put_back_if_tuning_fails() -> None:
    # Joint scores of 0.04 are below all thresholds that are tried.
    nlp = ensemble_of(one=[[0, 2, "PER", 0.04]], two=[[3, 5, "GPE", 0.04]])
    ensemble: Any = nlp.get_pipe("span_ensemble")
    ensemble.cfg.update(temperature=1.5, threshold="auto", chosen_threshold=0.6)
    before = dict(ensemble.cfg)
    with pytest.raises(ValueError, match="SP161"):
        choose_settings(nlp, find_source(nlp), dev_data(nlp))
    assert ensemble.cfg == before
