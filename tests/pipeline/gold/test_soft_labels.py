"""Spans that are entities with a probability."""

from typing import Any, List, Optional, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import fix_random_seed

from spacy_spanner.corpus.copied_groups import make_copy_spans
from spacy_spanner.evaluation.scorer import annotated_examples
from spacy_spanner.pipeline.annotations import gold_spans, spans_to_learn
from spacy_spanner.pipeline.marks import read_marks
from spacy_spanner.pipeline.soft_labels import SOFT, draw, drawn_spans
from spacy_spanner.pipeline.span_scores import scores_of, write_scores

from ...helpers import (
    NESTED,
    Gold,
    annotate,
    blank_pipeline,
    doc_of,
    make_examples,
    predict_nested,
    spans_of,
    train,
)
from .helpers import LABELS, coded_warnings, rows

WORDS = ["Ada", "Lovelace", "met", "Charles", "Babbage", "in", "London", "."]
SPANS: Gold = [(0, 2, "PER"), (3, 5, "PER"), (6, 7, "GPE"), (6, 7, "ORG")]
chances = st.lists(st.floats(0, 1), min_size=len(SPANS), max_size=len(SPANS))


def soft(scores: Sequence[float], vocab: Optional[Vocab] = None, **groups: Gold) -> Doc:
    """RETURNS (Doc): a document with soft labels, stored and read again."""
    doc = annotate(doc_of(WORDS), SPANS, "ents" + SOFT)
    write_scores(doc, "ents" + SOFT, list(scores))
    for key, gold in groups.items():
        annotate(doc, gold, key)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (found,) = (
        DocBin().from_bytes(stored).get_docs(doc.vocab if vocab is None else vocab)
    )
    return found


def example_of(reference: Doc) -> Example:
    return Example(Doc(reference.vocab, words=WORDS), reference)


@given(chances)
def test_spans_are_drawn_as_often_as_they_are_likely(scores: List[float]) -> None:
    doc, rng, times = soft(scores), np.random.default_rng(0), 400
    counts = dict.fromkeys(spans_of(doc, "ents" + SOFT), 0)
    for _ in range(times):
        for span in drawn_spans(doc, "ents", rng):
            counts[span.start, span.end, span.label_] += 1
    shares = np.asarray(list(counts.values())) / times
    assert np.abs(shares - scores).max() < 0.13  # more than 5 standard deviations


def test_certain_and_impossible_spans_are_no_matter_of_chance() -> None:
    example = example_of(soft([1.0, 0.0, 1.0, 0.0]))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = gold_spans(example, "ents", LABELS, rng)
        assert rows(found) == [(0, 2, LABELS["PER"]), (6, 7, LABELS["GPE"])]


@pytest.mark.parametrize(
    "scores", [None, [0.1], [0.1] * 3, [10, 20], [float("nan"), 0.1], ["a", "b"]]
)
def test_groups_need_a_probability_for_each_span(scores: Any) -> None:
    doc = annotate(doc_of(WORDS), SPANS[:2], "ents" + SOFT)
    if scores is not None:
        doc.spans["ents" + SOFT].attrs["scores"] = scores
    with pytest.raises(ValueError, match=r"SP255.*ents:soft.*Ada Lovelace"):
        drawn_spans(doc, "ents", np.random.default_rng(0))


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=6), st.integers(0, 99))
def test_labels_of_one_span_exclude_each_other(scores: List[float], seed: int) -> None:
    """Where their probabilities allow it; and all are drawn as often as they say."""
    chances = np.asarray(scores) / max(1.0, sum(scores))
    rng, place = np.random.default_rng(seed), np.zeros(len(scores), dtype=np.int64)
    draws = np.stack([draw(place, place + 1, chances, rng) for _ in range(400)])
    assert draws.sum(axis=1).max() <= 1
    assert np.abs(draws.mean(axis=0) - chances).max() < 0.13


def test_labels_that_are_likely_together_are_drawn_together() -> None:
    rng, place = np.random.default_rng(0), np.zeros(2, dtype=np.int64)
    chances = np.asarray([0.9, 0.8])
    draws = np.stack([draw(place, place + 1, chances, rng) for _ in range(2000)])
    assert draws.mean(axis=0) == pytest.approx(chances, abs=0.05)
    assert draws.all(axis=1).mean() == pytest.approx(0.72, abs=0.05)


def test_other_spans_are_drawn_for_themselves() -> None:
    rng = np.random.default_rng(0)
    starts, ends = np.asarray([0, 2, 0, 5]), np.asarray([1, 3, 1, 6])
    chances = np.asarray([0.5, 1.0, 0.5, 0.0])
    for _ in range(50):
        first, second, third, last = draw(starts, ends, chances, rng)
        assert first != third and second and not last


def test_nothing_is_learned_about_labels_that_a_teacher_lacks(factory: str) -> None:
    nlp = blank_pipeline(factory)
    gold = [(0, 2, "PER"), (6, 7, "GPE")]
    certain = Doc(nlp.vocab, words=WORDS)
    annotate(certain, gold, "ents")
    taught = soft([1.0, 0.0, 0.0, 0.0], nlp.vocab)
    taught.spans["ents" + SOFT].attrs["labels"] = ["PER"]
    # The texts say that London is no GPE, unless the teacher does not know of GPE.
    train(nlp, [example_of(certain), *[example_of(taught)] * 3])
    assert spans_of(nlp(Doc(nlp.vocab, words=WORDS))) == gold


def test_marks_beside_soft_labels_stay_what_they_are() -> None:
    doc = soft([1.0] * 4)
    annotate(doc, [(5, 6, "")], "ents:incomplete")
    marks = read_marks(example_of(doc), "ents", LABELS, 0.5)
    assert marks.incomplete.rows() == [(5, 6, -1, 0.5)]


def test_annotated_spans_are_learned_in_any_case_and_once() -> None:
    example = example_of(soft([1.0] * 4, ents=[(0, 2, "PER"), (2, 3, "ORG")]))
    found = rows(gold_spans(example, "ents", LABELS, np.random.default_rng(0)))
    assert len(found) == len(set(found)) == 5


def test_likely_spans_stand_for_all_in_a_survey() -> None:
    doc = soft([0.9, 0.4, 0.5, 0.1])
    found = spans_to_learn(doc, "ents") or []
    assert [span.text for span in found] == ["Ada Lovelace", "London"]


def test_soft_labels_are_no_gold_to_evaluate_with() -> None:
    assert annotated_examples([example_of(soft([1.0] * 4))], "ents") == []


def test_labels_of_unlikely_spans_are_known(factory: str) -> None:
    nlp = blank_pipeline(factory, overlap="any")
    with coded_warnings() as found:
        train(nlp, [example_of(soft([0.9, 0.1, 0.1, 0.2]))], updates=1)
    pipe: Any = nlp.get_pipe(factory)
    assert pipe.labels == ("GPE", "ORG", "PER")
    assert not [text for text in found if "SW002" in text or "SW003" in text]


def test_all_models_learn_certain_soft_labels_as_gold(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    for example in examples:
        group = example.reference.spans.pop("ents")
        example.reference.spans["ents" + SOFT] = list(group)
        scores = [1.0] * len(group)
        write_scores(example.reference, "ents" + SOFT, scores)
    train(nlp, examples)
    found = [spans_of(doc) for doc in predict_nested(nlp)]
    assert found == [sorted(spans) for _, spans in NESTED]


@pytest.mark.parametrize(
    "factory, chance", [("span_biaffine", 0.3), ("span_offset", 0.7)]
)
def test_scores_of_a_teacher_become_those_of_a_student(
    factory: str, chance: float
) -> None:
    nlp: Language = blank_pipeline(factory, threshold=0.01, boundary_smoothing=0.0)
    scores = [1.0, chance, 0.0, 0.0]
    examples = [example_of(soft(scores, nlp.vocab)) for _ in range(20)]
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    learned = []
    for step in range(120):
        nlp.update(examples, sgd=optimizer)
        if step >= 60 and step % 3 == 0:  # scores go up and down with the draws
            doc = nlp(Doc(nlp.vocab, words=WORDS))
            found = dict(zip(spans_of(doc), scores_of(doc, "ents")))
            learned.append([found.get(span, 0.0) for span in SPANS])
    expected = pytest.approx(scores, abs=0.12)
    assert np.mean(np.asarray(learned), axis=0).tolist() == expected


def test_soft_labels_are_copied_to_other_groups_with_scores() -> None:
    copy = make_copy_spans(["first", "second"])
    (example,) = copy(blank_pipeline("span_biaffine"), example_of(soft([0.25] * 4)))
    for key in ("first" + SOFT, "second" + SOFT):
        assert spans_of(example.reference, key) == list(SPANS)
        assert scores_of(example.reference, key) == [0.25] * 4
