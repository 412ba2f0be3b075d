"""What counts as gold: the group, or the entities where it is absent."""

import pytest
from spacy.tokens import Span

from spacy_spanner.pipeline.annotations import gold_spans

from ...helpers import NESTED, annotate, blank_pipeline, spans_of, train
from .helpers import LABELS, initialized, rows, same_words

COURT = NESTED[0][0]


def test_gold_group_comes_before_entities(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="FROM_ENTS")])
    annotate(example.reference, [(0, 4, "FROM_GROUP")])
    nlp.initialize(lambda: [example])
    assert nlp.get_pipe(factory).labels == ("FROM_GROUP",)


def test_gold_entities_where_group_is_absent(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="FROM_ENTS")])
    annotate(example.reference, [(0, 4, "OTHER")], key="sc")
    nlp.initialize(lambda: [example])
    assert nlp.get_pipe(factory).labels == ("FROM_ENTS",)


def test_gold_entities_are_learned(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="GPE")])
    train(nlp, [example])
    assert spans_of(nlp(COURT)) == [(1, 2, "GPE")]
    assert nlp.evaluate([example])["spans_ents_f"] == 1.0


def test_gold_empty_group_is_not_filled_from_entities(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    example.reference.set_ents([Span(example.reference, 1, 2, label="GPE")])
    annotate(example.reference, [])
    assert rows(gold_spans(example, "ents", LABELS)) == []


def test_gold_of_predicted_doc_is_not_read(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    annotate(example.predicted, [(0, 4, "ORG")])
    assert gold_spans(example, "ents", LABELS) is None


def test_gold_entities_said_to_be_none_mean_no_entities(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    example.reference.set_ents([])
    assert rows(gold_spans(example, "ents", LABELS)) == []


def test_gold_exact_duplicates_are_removed(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    spans = [(0, 4, "ORG"), (1, 2, "GPE"), (0, 4, "ORG"), (0, 4, "PER")]
    annotate(example.reference, spans)
    gold = gold_spans(example, "ents", LABELS)
    assert rows(gold) == [(0, 4, 1), (1, 2, 0), (0, 4, 2)]


def test_gold_exact_duplicates_do_not_change_loss(factory: str) -> None:
    pipe = initialized(factory).get_pipe(factory)
    once, twice = same_words(pipe), same_words(pipe)
    annotate(once.reference, [(0, 4, "ORG")])
    annotate(twice.reference, [(0, 4, "ORG"), (0, 4, "ORG")])
    assert pipe.get_loss([twice])[0] == pytest.approx(pipe.get_loss([once])[0])
