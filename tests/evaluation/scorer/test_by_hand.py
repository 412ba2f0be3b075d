"""Precision and recall, against numbers worked out by hand."""

import json

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_spanner.evaluation.scorer import score_spans

from ...helpers import annotate
from .helpers import GOLD, PREDICTED, example_of, prf


def test_scorer_strict_by_hand() -> None:
    # 2 of 3 predicted spans are right, 2 of 3 gold spans are found.
    scores = score_spans([example_of(PREDICTED, GOLD)])
    assert prf(scores) == [0.6667, 0.6667, 0.6667]


def test_scorer_per_type_by_hand() -> None:
    per_type = score_spans([example_of(PREDICTED, GOLD)])["spans_ents_per_type"]
    assert per_type == {
        "A": {"p": 1.0, "r": 1.0, "f": 1.0},
        "B": {"p": 0.0, "r": 0.0, "f": 0.0},
    }


def test_scorer_flat_by_hand() -> None:
    # Apart from all others: 3 predicted spans, 2 of them right; 1 gold span, found.
    scores = score_spans([example_of(PREDICTED, GOLD)])
    assert prf(scores, "spans_ents_flat") == [0.6667, 1.0, 0.8]


def test_scorer_nested_by_hand() -> None:
    # Nested are predicted (0, 4), (0, 2) and gold (0, 4), (1, 2): one each is right.
    predicted = [(0, 4, "A"), (0, 2, "A"), (6, 7, "A")]
    scores = score_spans([example_of(predicted, GOLD)])
    assert prf(scores, "spans_ents_nested") == [0.5, 0.5, 0.5]


def test_scorer_nested_gold_is_found_by_a_flat_prediction() -> None:
    # Gold (0, 4) and (1, 2) are nested, 1 is found; no predicted span is nested.
    scores = score_spans([example_of([(0, 4, "A"), (6, 7, "A")], GOLD)])
    assert prf(scores, "spans_ents_nested") == [0.0, 0.5, 0.0]
    assert prf(scores, "spans_ents_flat") == [1.0, 1.0, 1.0]


def test_scorer_two_labels_on_one_span_are_nested() -> None:
    gold = [(0, 2, "A"), (0, 2, "B"), (4, 5, "A")]
    scores = score_spans([example_of([(0, 2, "A"), (0, 2, "C")], gold)])
    assert prf(scores, "spans_ents_nested") == [0.5, 0.5, 0.5]
    assert prf(scores, "spans_ents_flat") == [0.0, 0.0, 0.0]


def test_scorer_macro_by_hand() -> None:
    # A: 1, 1, 1; B: nothing right; C: predicted only. Every type counts the same.
    scores = score_spans([example_of([*PREDICTED, (2, 3, "C")], GOLD)])
    assert prf(scores, "spans_ents_macro") == [0.3333, 0.3333, 0.3333]


def test_scorer_by_length_by_hand() -> None:
    by_length = score_spans([example_of(PREDICTED, GOLD)])["spans_ents_by_length"]
    one, four = by_length.pop("1"), by_length.pop("4")
    # Of length 1: predicted (6, 7) is right, (7, 8) is not; gold (1, 2) is missed.
    assert one == {"p": 0.5, "r": 0.5, "f": 0.5, "gold": 2, "predicted": 2}
    assert four == {"p": 1.0, "r": 1.0, "f": 1.0, "gold": 1, "predicted": 1}
    assert by_length == {}


def test_scorer_lengths_are_in_order() -> None:
    words = [str(number) for number in range(40)]
    doc = Doc(Vocab(), words=words)
    spans = [(0, width, "A") for width in (30, 10, 9, 6, 5, 1)]
    example = Example(annotate(doc, spans), annotate(doc.copy(), spans))
    by_length = score_spans([example])["spans_ents_by_length"]
    assert list(by_length) == ["1", "5", "6-9", "10+"]
    assert [row["gold"] for row in by_length.values()] == [1, 1, 2, 2]


def test_scorer_reliability_by_hand() -> None:
    example = example_of(PREDICTED, [(0, 4, "A"), (7, 8, "B")], [0.95, 0.91, 0.55])
    table = score_spans([example])["spans_ents_reliability"]
    assert [row["n_spans"] for row in table] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert table[9]["confidence"] == pytest.approx(0.93, abs=1e-6)
    assert table[9]["accuracy"] == 0.5
    assert table[5]["accuracy"] == 1.0
    assert table[0]["confidence"] is table[0]["accuracy"] is None
    assert (table[9]["low"], table[9]["high"]) == (0.9, 1.0)


def test_scorer_scores_can_be_stored_as_json() -> None:
    scores = score_spans([example_of(PREDICTED, GOLD, [0.9, 0.8, 0.7])])
    assert json.loads(json.dumps(scores)) == scores


def test_scorer_adjacent_spans_are_flat() -> None:
    spans = [(0, 2, "A"), (2, 4, "A")]
    scores = score_spans([example_of(spans, spans)])
    assert prf(scores, "spans_ents_flat") == [1.0, 1.0, 1.0]
    assert prf(scores, "spans_ents_nested") == [None, None, None]


@pytest.mark.parametrize("wrong", [(0, 4, "B"), (0, 3, "A"), (1, 4, "A")])
def test_scorer_boundaries_and_label_must_be_right(wrong: tuple) -> None:
    scores = score_spans([example_of([wrong], [(0, 4, "A")])])
    assert prf(scores) == [0.0, 0.0, 0.0]


def test_scorer_duplicates_count_once() -> None:
    predicted = [(0, 4, "A"), (0, 4, "A"), (6, 7, "B")]
    scores = score_spans([example_of(predicted, [(0, 4, "A"), (0, 4, "A")])])
    assert prf(scores) == [0.5, 1.0, 0.6667]


def test_scorer_counts_are_summed_over_docs() -> None:
    # 3 right of 4 predicted; 3 found of 4 gold.
    examples = [
        example_of(PREDICTED, GOLD),
        example_of([(0, 1, "A")], [(0, 1, "A")]),
    ]
    assert prf(score_spans(examples)) == [0.75, 0.75, 0.75]
