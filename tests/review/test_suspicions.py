"""Errors that a test makes are ranked first, with their kind and what is right."""

from typing import Any, List, Tuple

import numpy as np
import pytest

from spacy_spanner.evaluation.counts import Reading, SpanKey
from spacy_spanner.review import logistic, planting
from spacy_spanner.review.logistic import (
    held_out_log_odds,
    standardized,
    with_products,
)
from spacy_spanner.review.occurrences import Elsewhere
from spacy_spanner.review.planting import plant
from spacy_spanner.review.suspicions import (
    KINDS,
    Suspicion,
    absences,
    rank_suspicions,
)

from .helpers import make_corpus, reading

WORDS, CLEAN = make_corpus()


def with_gold(doc: int, gold: Any) -> List[Reading]:
    readings = list(CLEAN)
    readings[doc] = readings[doc]._replace(gold=set(gold))
    return readings


def first(readings: List[Reading]) -> Suspicion:
    return rank_suspicions(WORDS, readings)[0]


@pytest.fixture(scope="module")
def gold() -> Tuple[SpanKey, SpanKey]:
    one, other = sorted(CLEAN[3].gold)
    return one, other


def other_label(span: SpanKey) -> SpanKey:
    return (*span[:2], "LOC" if span[2] == "PER" else "PER")


def test_missing_span_is_first(gold: Any) -> None:
    found = first(with_gold(3, gold[:1]))
    assert (found.kind, found.doc, found.gold, found.proposed) == (
        "missing",
        3,
        None,
        gold[1],
    )
    assert found.gold_score is None and found.proposed_score > 0.5


def test_spurious_span_is_first(gold: Any) -> None:
    found = first(with_gold(3, [*gold, (7, 9, "PER")]))
    assert (found.kind, found.doc, found.gold) == ("spurious", 3, (7, 9, "PER"))
    assert found.proposed is None and found.gold_score < 0.1


def test_wrong_label_is_first(gold: Any) -> None:
    wrong = other_label(gold[0])
    found = first(with_gold(3, [wrong, gold[1]]))
    assert found.kind in ("label", "inconsistent")
    assert (found.doc, found.gold, found.proposed) == (3, wrong, gold[0])


def test_wrong_boundary_is_first(gold: Any) -> None:
    start, end, label = gold[1]
    wrong = (start, end + 1, label)
    found = first(with_gold(3, [gold[0], wrong]))
    assert (found.doc, found.gold) == (3, wrong)
    assert found.kind == "boundary"
    assert found.proposed == gold[1]


def test_label_against_all_other_occurrences_is_inconsistent() -> None:
    words = [*WORDS, *([["Zoe", "left", "today"]] * 6)]
    own: SpanKey = (0, 1, "PER")
    spans = [own] * 5 + [(0, 1, "LOC")]
    readings = [*CLEAN, *(reading([span], {own: 0.8}) for span in spans)]
    found = rank_suspicions(words, readings)[0]
    assert (found.kind, found.gold, found.proposed) == (
        "inconsistent",
        (0, 1, "LOC"),
        own,
    )
    assert found.elsewhere == Elsewhere({"PER": 5}, 0)


def test_every_annotated_span_is_ranked_once_by_its_suspicion() -> None:
    ranked = rank_suspicions(WORDS, CLEAN)
    found = [(one.doc, one.gold) for one in ranked if one.gold is not None]
    expected = [(doc, span) for doc, r in enumerate(CLEAN) for span in r.gold]
    assert sorted(found) == sorted(expected)
    values = [one.suspicion for one in ranked]
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)
    assert {one.kind for one in ranked} <= set(KINDS)
    assert rank_suspicions(WORDS, CLEAN) == ranked


def test_clean_annotation_is_less_suspicious_than_errors(gold: Any) -> None:
    clean = rank_suspicions(WORDS, CLEAN)[0].suspicion
    assert clean < first(with_gold(3, [*gold, (7, 9, "PER")])).suspicion


@pytest.mark.parametrize(
    "readings",
    [
        [reading([])],
        [reading([(0, 1, "X")])],
        [reading([], {(0, 1, "X"): 0.9})],
        [reading([(0, 1, "X")], {(0, 1, "X"): 0.9, (1, 2, "X"): 0.8})],
    ],
)
def test_tiny_corpora_are_ranked(readings: List[Reading]) -> None:
    found = rank_suspicions([["one", "two"]], readings)
    n_absent = sum(len(absences(one)) for one in readings)
    assert len(found) == len(readings[0].gold) + n_absent
    assert all(np.isfinite(one.suspicion) for one in found)


def test_absences_are_no_versions_of_annotated_or_better_spans() -> None:
    scores = {
        (0, 2, "X"): 0.9,  # nearly the annotated one
        (0, 3, "Y"): 0.8,  # the annotated one with another label
        (5, 8, "X"): 0.6,
        (5, 7, "X"): 0.7,
        (5, 7, "Y"): 0.1,
        (9, 10, "X"): 0.01,  # too low
    }
    assert absences(reading([(0, 3, "X")], scores)) == [(5, 7, "X")]


def test_planted_errors_differ_from_the_annotation() -> None:
    planted = plant(WORDS, CLEAN, seed=1)
    assert {kind: len(items) > 50 for kind, items in planted.items()} == dict.fromkeys(
        ["missing", "spurious", "label", "boundary"], True
    )
    for kind, items in planted.items():
        for doc, (start, end, label), own in items:
            gold = CLEAN[doc].gold
            assert 0 <= start < end <= len(WORDS[doc])
            assert ((start, end, label) in gold) == (kind == "missing")
            assert (own is None) == (kind == "spurious")
            if kind == "spurious":
                assert not any(s < end and start < e for s, e, _ in gold)
            elif own is not None:
                assert own in gold
                moved = abs(own[0] - start) + abs(own[1] - end)
                assert moved == (kind == "boundary")
                assert (own[2] == label) == (kind != "label")
    assert plant(WORDS, CLEAN, seed=1) == planted != plant(WORDS, CLEAN, seed=2)


def test_planting_in_annotation_of_one_label_or_none() -> None:
    planted = plant([["a"]], [reading([(0, 1, "X")])])
    assert {kind: len(items) for kind, items in planted.items()} == {
        "missing": 1,
        "spurious": 0,
        "label": 0,
        "boundary": 0,
    }
    assert not any(plant([["a"]], [reading([])]).values())
    assert planting.N_PLANTED >= 1000


def test_regression_learns_what_a_product_tells() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    wrong = rows[:, 0] * rows[:, 1] > 0.5
    log_odds = held_out_log_odds(rows, wrong, seed=0)
    assert log_odds[wrong].mean() > 1 > -1 > log_odds[~wrong].mean()


def test_regression_does_not_see_the_example_itself() -> None:
    """What cannot be predicted is not learned by heart."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 12))
    wrong = rng.random(300) < 0.5
    log_odds = held_out_log_odds(rows, wrong, seed=0)
    assert ((log_odds > 0) == wrong).mean() < 0.6


def test_inputs_have_no_scale_and_constant_features_do_no_harm() -> None:
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    inputs = with_products(standardized(rows))
    assert inputs.shape == (3, 1 + 2 + 3)
    assert np.allclose(inputs, with_products(standardized(rows * 1000)))
    assert np.allclose(inputs[:, 2], 0)


def test_regression_on_a_part_of_the_examples_predicts_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    wrong = rows[:, 0] > 0
    whole = held_out_log_odds(rows, wrong, seed=0)
    monkeypatch.setattr(logistic, "MOST", 300)
    part = held_out_log_odds(rows, wrong, seed=0)
    assert ((part > 0) == wrong).mean() > 0.95
    assert np.corrcoef(part, whole)[0, 1] > 0.95
