"""Scores against numbers worked out by hand."""

import json
from typing import Dict, List, Optional, Sequence

import numpy as np
import pytest
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_spanner.evaluation.calibration import calibration_error
from spacy_spanner.scorers import make_spans_scorer, score_spans

from .helpers import Gold, annotate

WORDS = list("abcdefgh")
GOLD: Gold = [(0, 4, "A"), (1, 2, "B"), (6, 7, "A")]
PREDICTED: Gold = [(0, 4, "A"), (6, 7, "A"), (7, 8, "B")]


def example_of(
    predicted: Optional[Gold],
    gold: Optional[Gold],
    scores: Optional[Sequence[float]] = None,
    key: str = "ents",
) -> Example:
    vocab = Vocab()
    docs = Doc(vocab, words=WORDS), Doc(vocab, words=WORDS)
    for doc, spans in zip(docs, (predicted, gold)):
        if spans is not None:
            annotate(doc, spans, key)
    if scores is not None:
        docs[0].spans[key].attrs["scores"] = np.asarray(scores, dtype="f")
    return Example(*docs)


def prf(scores: Dict, prefix: str = "spans_ents") -> List[Optional[float]]:
    values = [scores[f"{prefix}_{letter}"] for letter in "prf"]
    return [value if value is None else round(value, 4) for value in values]


# ------------------------------------------------------------ precision, recall


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


# ----------------------------------------------------------- what is not scored


def test_scorer_nothing_to_score_is_none() -> None:
    scores = score_spans([example_of([], [])])
    assert prf(scores) == [None, None, None]
    assert prf(scores, "spans_ents_flat") == [None, None, None]
    assert prf(scores, "spans_ents_nested") == [None, None, None]
    assert scores["spans_ents_per_type"] is None
    assert scores["spans_ents_ece"] is None


def test_scorer_without_examples_is_none() -> None:
    assert set(score_spans([]).values()) == {None}


def test_scorer_doc_without_annotation_is_left_out() -> None:
    examples = [example_of(PREDICTED, GOLD), example_of([(2, 3, "A")] * 5, None)]
    assert score_spans(examples) == score_spans(examples[:1])


def test_scorer_doc_with_empty_group_counts() -> None:
    scores = score_spans([example_of(PREDICTED, GOLD), example_of([(2, 3, "A")], [])])
    assert prf(scores) == [0.5, 0.6667, 0.5714]


def test_scorer_gold_entities_where_group_is_absent() -> None:
    example = example_of([(0, 4, "A")], None)
    example.reference.set_ents([Span(example.reference, 0, 4, label="A")])
    assert prf(score_spans([example])) == [1.0, 1.0, 1.0]


def test_scorer_nothing_predicted_is_zero() -> None:
    assert prf(score_spans([example_of(None, GOLD)])) == [0.0, 0.0, 0.0]


def test_scorer_entities_of_other_components_are_no_predictions() -> None:
    example = example_of(None, [(0, 4, "A")])
    example.predicted.set_ents([Span(example.predicted, 0, 4, label="A")])
    assert prf(score_spans([example])) == [0.0, 0.0, 0.0]


def test_scorer_reads_its_key_only() -> None:
    example = example_of(PREDICTED, GOLD, key="sc")
    annotate(example.predicted, [(2, 3, "X")], key="ents")
    scores = score_spans([example], spans_key="sc")
    assert prf(scores, "spans_sc") == [0.6667, 0.6667, 0.6667]
    assert all(name.startswith("spans_sc_") for name in scores)


def test_scorer_does_not_change_docs() -> None:
    example = example_of(PREDICTED, GOLD, [0.5, 0.6, 0.7])
    before = example.predicted.to_bytes(), example.reference.to_bytes()
    score_spans([example])
    assert (example.predicted.to_bytes(), example.reference.to_bytes()) == before


# -------------------------------------------------------------- tokenisation


def retokenized(
    words: List[str], spaces: List[bool], predicted: Gold, gold: Gold
) -> Example:
    """Gold stands on the tokens "New York - based"."""
    vocab = Vocab()
    reference = Doc(
        vocab, words=["New", "York", "-", "based"], spaces=[True, False, False, False]
    )
    doc = annotate(Doc(vocab, words=words, spaces=spaces), predicted)
    doc.spans["ents"].attrs["scores"] = np.full(len(predicted), 0.75, dtype="f")
    return Example(doc, annotate(reference, gold))


@pytest.mark.parametrize(
    "predicted,gold,expected",
    [
        ((0, 2), (0, 4), 1.0),
        ((1, 2), (1, 4), 1.0),
        ((0, 1), (0, 1), 1.0),
        ((0, 2), (0, 2), 0.0),
    ],
)
def test_scorer_prediction_on_fewer_tokens(
    predicted: tuple, gold: tuple, expected: float
) -> None:
    example = retokenized(
        ["New", "York-based"], [True, False], [(*predicted, "A")], [(*gold, "A")]
    )
    scores = score_spans([example])
    assert scores["spans_ents_f"] == expected
    assert scores["spans_ents_flat_f"] == expected
    # One span of confidence 0.75, right or wrong.
    assert scores["spans_ents_ece"] == pytest.approx(0.25 if expected else 0.75)


def test_scorer_prediction_without_place_counts_for_calibration_only() -> None:
    example = retokenized(
        ["New", "Y", "ork-", "based"],
        [True, False, False, False],
        [(0, 1, "A"), (1, 2, "A")],
        [(0, 1, "A")],
    )
    scores = score_spans([example])
    # As spaCy's own scorer, which leaves out what cannot be aligned.
    assert prf(scores, "spans_ents_flat") == [1.0, 1.0, 1.0]
    assert prf(scores) == [1.0, 1.0, 1.0]
    # Two spans of confidence 0.75, one right: |1.5 - 1| / 2.
    assert scores["spans_ents_ece"] == pytest.approx(0.25)


# --------------------------------------------------------------- calibration


def test_ece_by_hand() -> None:
    # Bin 9: |0.95 + 0.91 - 1| = 0.86; bin 5: |0.55 - 1| = 0.45; over 3 spans.
    example = example_of(PREDICTED, [(0, 4, "A"), (7, 8, "B")], [0.95, 0.91, 0.55])
    scores = score_spans([example])
    assert scores["spans_ents_ece"] == pytest.approx((0.86 + 0.45) / 3, abs=1e-6)


def test_ece_errors_inside_a_bin_cancel_and_between_bins_do_not() -> None:
    same_bin = calibration_error(np.asarray([0.5, 0.5]), np.asarray([1.0, 0.0]))
    assert same_bin == pytest.approx(0.0)
    two_bins = calibration_error(np.asarray([0.45, 0.55]), np.asarray([1.0, 0.0]))
    assert two_bins == pytest.approx(0.55)


def test_ece_score_1_is_in_the_last_bin() -> None:
    # |1.0 + 0.9 - 1| / 2: were they in two bins, |0| + |0.9|, the same; so right twice.
    found = calibration_error(np.asarray([1.0, 0.95]), np.asarray([0.0, 1.0]))
    assert found == pytest.approx(abs(1.0 + 0.95 - 1.0) / 2)


def test_ece_has_ten_bins() -> None:
    # 0.31 and 0.39 share a bin of width 0.1: |0.7 - 1| / 2; in finer bins 0.46.
    found = calibration_error(np.asarray([0.31, 0.39]), np.asarray([1.0, 0.0]))
    assert found == pytest.approx(0.15)
    # 0.39 and 0.41 do not: (0.61 + 0.41) / 2; in wider bins 0.1.
    found = calibration_error(np.asarray([0.39, 0.41]), np.asarray([1.0, 0.0]))
    assert found == pytest.approx(0.51)


def test_ece_without_scores_is_none() -> None:
    assert score_spans([example_of(PREDICTED, GOLD)])["spans_ents_ece"] is None


def test_scorer_fewer_scores_than_spans_is_no_crash() -> None:
    scores = score_spans([example_of(PREDICTED, GOLD, [0.95])])
    assert prf(scores) == [0.6667, 0.6667, 0.6667]


# ---------------------------------------------------------------- spaCy's own


def test_scorer_equals_spacy() -> None:
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(20):
        pools = rng.integers(0, 8, size=(2, 5, 3))
        spans = [
            {(min(a, b), max(a, b) + 1, "AB"[c % 2]) for a, b, c in pool.tolist()}
            for pool in pools
        ]
        examples.append(example_of(*map(sorted, spans)))
    expected = Scorer.score_spans(
        examples,
        "spans_ents",
        getter=lambda doc, _: doc.spans["ents"],
        has_annotation=lambda doc: "ents" in doc.spans,
        allow_overlap=True,
    )
    found = score_spans(examples)
    assert 0 < expected["spans_ents_f"] < 1
    assert {name: found[name] for name in expected} == expected


def test_scorer_registered_is_the_function() -> None:
    examples = [example_of(PREDICTED, GOLD)]
    scores = make_spans_scorer()(examples, spans_key="ents", threshold=0.5)
    assert scores == score_spans(examples)
