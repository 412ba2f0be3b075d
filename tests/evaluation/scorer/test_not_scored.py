"""Documents and spans that are not scored."""

from spacy.tokens import Span

from spacy_spanner.evaluation.scorer import score_spans

from ...helpers import annotate
from .helpers import GOLD, PREDICTED, example_of, prf


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
