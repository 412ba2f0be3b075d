"""Scores after temperature scaling, by themselves and in a component."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.pipeline.temperature import TINY, calibrate, fit_temperature, temper
from spacy_spanner.spans.table import SpanTable

from ..helpers import predict_nested, scored_spans, trained_copy

SCORES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=10)


def test_temper_by_hand() -> None:
    # Log-odds of 0.8 are ln 4; half of that is ln 2, a probability of 2/3.
    scores = np.asarray([0.0, 0.2, 0.5, 0.8, 1.0], dtype="f")
    expected = [0.0, 1 / 3, 0.5, 2 / 3, 1.0]
    assert temper(scores, 2.0).tolist() == pytest.approx(expected)
    assert temper(scores, 1.0) is scores


@given(SCORES, st.floats(0.1, 10))
def test_temper_keeps_order_and_limits(scores: list, temperature: float) -> None:
    ordered = np.sort(np.asarray(scores, dtype="f"))
    found = temper(ordered, temperature)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(st.floats(0.015625, 0.984375, width=32), st.floats(0.25, 4))
def test_temper_can_be_undone(score: float, temperature: float) -> None:
    there = temper(np.asarray([score], dtype="f"), temperature)
    assert temper(there, 1 / temperature)[0] == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_fit_finds_the_temperature_of_the_data(temperature: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.02, 0.98, size=20_000)
    right = rng.random(20_000) < true
    # Scores that are too sure of themselves by this temperature.
    shown = temper(true.astype("f"), 1 / temperature)
    assert fit_temperature(shown, right) == pytest.approx(temperature, rel=0.05)


def test_fit_by_hand() -> None:
    # Three of four spans with log-odds ln 9 are right, which is log-odds ln 3: 2.
    scores = np.full(4, 0.9, dtype="f")
    right = np.asarray([True, True, True, False])
    assert fit_temperature(scores, right) == pytest.approx(2.0, abs=1e-3)


def test_fit_of_scores_that_were_rounded_to_1_calibrates_them() -> None:
    scores = np.ones(1000, dtype="f")
    right = np.arange(1000) % 10 > 0
    temperature = fit_temperature(scores, right)
    assert calibrate(scores, temperature).mean() == pytest.approx(0.9, abs=1e-3)


def test_calibrate_moves_the_ends_and_keeps_the_order() -> None:
    scores = np.asarray([0.0, 0.5, 0.999, 1.0], dtype="f")
    found = calibrate(scores, 4.0)
    assert 0 < found[0] < found[1] == 0.5 < found[2] < found[3] < 1
    assert calibrate(scores, 1.0) is scores


@pytest.mark.parametrize("right", [[], [True, True], [False, False]])
def test_fit_without_contrast_changes_nothing(right: list) -> None:
    scores = np.full(len(right), 0.9, dtype="f")
    assert fit_temperature(scores, np.asarray(right, dtype=bool)) == 1.0


def test_component_applies_its_temperature(factory: str) -> None:
    nlp = trained_copy(factory)
    pipe = nlp.get_pipe(factory)
    pipe.cfg["threshold"] = 0.05
    plain = predict_nested(nlp)
    pipe.cfg["temperature"] = 2.0
    # The same spans reach the threshold when it is moved in the same way.
    pipe.cfg["threshold"] = float(temper(np.asarray([0.05], dtype="f"), 2.0)[0])
    tempered = predict_nested(nlp)
    n_spans = 0
    for one, two in zip(plain, tempered):
        for before, after in zip(scored_spans(one), scored_spans(two), strict=True):
            n_spans += 1
            assert before[:3] == after[:3]
            # A score that has been rounded to 1 counts as very near to it.
            score = min(before[3], 1 - TINY)
            odds = math.sqrt(score / (1 - score))
            expected = odds / (1 + odds)
            assert after[3] == pytest.approx(expected, abs=1e-4)
    assert n_spans


def test_component_threshold_holds_for_tempered_scores(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(temperature=5.0, threshold=0.6)
    scores = [score for doc in predict_nested(nlp) for *_, score in scored_spans(doc)]
    assert all(score >= 0.6 - 1e-6 for score in scores)


@pytest.mark.parametrize("value", [0, -1.0, "warm", None, True])
def test_component_checks_its_temperature(factory: str, value: object) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg["temperature"] = value
    with pytest.raises(ValueError, match=r"SP002.*temperature"):
        nlp("Boston")


def test_component_moves_scores_that_were_rounded_to_1(
    factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = trained_copy(factory)
    pipe: Any = nlp.get_pipe(factory)
    found = SpanTable.of([(0, 1, 0, 1.0), (2, 3, 0, 0.5)])
    monkeypatch.setattr(pipe.model, "_func", lambda *_, **__: (found, None))
    pipe.cfg.update(temperature=5.0, threshold=0.5)
    top = calibrate(np.ones(1, dtype="f"), 5.0).item()
    doc = nlp.make_doc("One two three")
    (spans,) = pipe.predict([doc])
    assert spans.score.tolist() == [top, 0.5]
    pipe.cfg["threshold"] = top + 0.01
    assert pipe.predict([doc])[0].n_spans == 0
