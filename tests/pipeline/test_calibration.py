"""Scores that are calibrated, by themselves and in a component."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.pipeline.calibration import TINY, Calibration, fit_calibration
from spacy_spanner.spans.table import SpanTable

from ..helpers import predict_nested, scored_spans, trained_copy

SCORES = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=10)


CALIBRATIONS = st.builds(Calibration, st.floats(0.25, 4), st.floats(-2, 2))


def test_calibration_by_hand() -> None:
    # Log-odds of 0.8 are ln 4; half of that is ln 2, a probability of 2/3.
    scores = np.asarray([0.2, 0.5, 0.8], dtype="f")
    tempered = Calibration(temperature=2.0).of(scores)
    assert tempered.tolist() == pytest.approx([1 / 3, 0.5, 2 / 3])
    # ln 2 more: the odds double.
    raised = Calibration(temperature=2.0, bias=math.log(2)).of(scores)
    assert raised.tolist() == pytest.approx([0.5, 2 / 3, 0.8])
    assert Calibration().of(scores) is Calibration().undo(scores) is scores


@given(SCORES, CALIBRATIONS)
def test_calibration_keeps_order_and_limits(
    scores: list, calibration: Calibration
) -> None:
    found = calibration.of(np.sort(np.asarray(scores, dtype="f")))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(st.floats(0.015625, 0.984375, width=32), CALIBRATIONS)
def test_calibration_can_be_undone(score: float, calibration: Calibration) -> None:
    there = calibration.of(np.asarray([score], dtype="f"))
    assert calibration.undo(there)[0] == pytest.approx(score, abs=1e-3)


def test_limits_stay_when_a_calibration_is_undone() -> None:
    limits = np.asarray([0.0, 1.0], dtype="f")
    assert Calibration(3.0, -1.0).undo(limits).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("bias", [-1.5, 0.0, 1.0])
def test_fit_finds_the_calibration_of_the_data(temperature: float, bias: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.02, 0.98, size=20_000).astype("f")
    right = rng.random(20_000) < true
    truth = Calibration(temperature, bias)
    found = fit_calibration(truth.undo(true), right)
    assert found == pytest.approx(truth, rel=0.05, abs=0.05)


def test_fit_of_equal_scores_moves_them_to_their_share() -> None:
    scores = np.full(1000, 0.9, dtype="f")
    right = np.arange(1000) % 4 > 0
    found = fit_calibration(scores, right).of(scores)
    assert found[0] == pytest.approx(0.75, abs=2e-3)


def test_fit_of_few_spans_is_never_certain() -> None:
    # Two right spans above, three wrong ones below: they could be told apart for sure.
    scores = np.asarray([0.9, 0.8, 0.3, 0.2, 0.1], dtype="f")
    right = np.asarray([True, True, False, False, False])
    found = fit_calibration(scores, right).of(scores)
    # Platt's targets: (2 + 1) / (2 + 2) and 1 / (3 + 2).
    assert found[right].mean() == pytest.approx(3 / 4, abs=0.05)
    assert found[~right].mean() == pytest.approx(1 / 5, abs=0.05)


def test_fit_of_scores_that_were_rounded_to_1_calibrates_them() -> None:
    scores = np.ones(1000, dtype="f")
    right = np.arange(1000) % 10 > 0
    found = fit_calibration(scores, right).of(scores)
    assert found.mean() == pytest.approx(0.9, abs=2e-3)


def test_calibration_moves_the_ends_and_keeps_the_order() -> None:
    scores = np.asarray([0.0, 0.5, 0.999, 1.0], dtype="f")
    found = Calibration(temperature=4.0).of(scores)
    assert 0 < found[0] < found[1] == 0.5 < found[2] < found[3] < 1


@pytest.mark.parametrize("right", [[], [True, True], [False, False]])
def test_fit_without_contrast_changes_nothing(right: list) -> None:
    scores = np.full(len(right), 0.9, dtype="f")
    assert fit_calibration(scores, np.asarray(right, dtype=bool)) == Calibration()


def test_component_applies_its_calibration(factory: str) -> None:
    nlp = trained_copy(factory)
    pipe = nlp.get_pipe(factory)
    pipe.cfg["threshold"] = 0.05
    plain = predict_nested(nlp)
    calibration = Calibration(temperature=2.0, bias=-0.5)
    pipe.cfg.update(calibration._asdict())
    # The same spans reach the threshold when it is moved in the same way.
    pipe.cfg["threshold"] = calibration.of(np.asarray([0.05], dtype="f")).item()
    calibrated = predict_nested(nlp)
    n_spans = 0
    for one, two in zip(plain, calibrated):
        for before, after in zip(scored_spans(one), scored_spans(two), strict=True):
            n_spans += 1
            assert before[:3] == after[:3]
            # A score that has been rounded to 1 counts as very near to it.
            score = min(before[3], 1 - TINY)
            odds = math.sqrt(score / (1 - score)) * math.exp(-0.5)
            expected = odds / (1 + odds)
            assert after[3] == pytest.approx(expected, abs=1e-4)
    assert n_spans


def test_component_threshold_holds_for_calibrated_scores(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(temperature=5.0, bias=-0.1, threshold=0.6)
    scores = [score for doc in predict_nested(nlp) for *_, score in scored_spans(doc)]
    assert all(score >= 0.6 - 1e-6 for score in scores)


@pytest.mark.parametrize(
    "name, value",
    [("temperature", value) for value in (0, -1.0, "warm", None, True)]
    + [("bias", value) for value in (math.nan, -math.inf, "low", None, True)],
)
def test_component_checks_its_calibration(
    factory: str, name: str, value: object
) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg[name] = value
    with pytest.raises(ValueError, match=rf"SP002.*{name}"):
        nlp("Boston")


def test_component_moves_scores_that_were_rounded_to_1(
    factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = trained_copy(factory)
    pipe: Any = nlp.get_pipe(factory)
    found = SpanTable.of([(0, 1, 0, 1.0), (2, 3, 0, 0.5)])
    monkeypatch.setattr(pipe.model, "_func", lambda *_, **__: (found, None))
    pipe.cfg.update(temperature=5.0, threshold=0.5)
    top = Calibration(temperature=5.0).of(np.ones(1, dtype="f")).item()
    doc = nlp.make_doc("One two three")
    (spans,) = pipe.predict([doc])
    assert spans.score.tolist() == [top, 0.5]
    pipe.cfg["threshold"] = top + 0.01
    assert pipe.predict([doc])[0].n_spans == 0
