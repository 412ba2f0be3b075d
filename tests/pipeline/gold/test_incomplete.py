"""Annotation that is marked as incomplete, and spans that are known to be none."""

from typing import Any, Dict, Sequence

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_spanner.evaluation.scorer import score_spans
from spacy_spanner.pipeline.gold import GoldReader, read_batch
from spacy_spanner.pipeline.marks import read_marks
from spacy_spanner.pipeline.state import MadeSettings

from ...helpers import Gold, annotate, blank_pipeline, doc_of, make_examples, train

WORDS = ["Ada", "Lovelace", "met", "Charles", "Babbage", "in", "London", "."]
LABELS = {"PER": 0, "LOC": 1}
SOME: Gold = [(0, 2, "PER")]


def marked(groups: Dict[str, Gold], words: Sequence[str] = WORDS) -> Example:
    """RETURNS (Example): a document with these groups, stored and read again."""
    doc = doc_of(words)
    for key, spans in groups.items():
        annotate(doc, spans, key)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (reference,) = DocBin().from_bytes(stored).get_docs(doc.vocab)
    return Example(Doc(doc.vocab, words=WORDS), reference)


def test_regions_and_negative_spans_are_read() -> None:
    groups = {
        "ents": SOME,
        "ents:incomplete": [(2, 8, ""), (0, 8, "LOC"), (0, 1, "OTHER")],
        "ents:not": [(3, 4, "PER"), (6, 7, "")],
    }
    marks = read_marks(marked(groups), "ents", LABELS, 0.25)
    assert marks.incomplete.rows() == [(2, 8, -1, 0.25), (0, 8, 1, 0.25)]
    assert [row[:3] for row in marks.negative.rows()] == [(3, 4, 0), (6, 7, -1)]


def test_other_tokens_are_covered() -> None:
    words = ["Ada", "Lovelace", "met", "Charles", "Babbage", "in", "Lon", "don", "."]
    doc = Doc(doc_of(WORDS).vocab, words=words, spaces=[*[True] * 6, False, True, True])
    annotate(doc, [], "ents")
    annotate(doc, [(7, 9, "")], "ents:incomplete")
    marks = read_marks(Example(Doc(doc.vocab, words=WORDS), doc), "ents", LABELS, 0.5)
    assert marks.incomplete.rows() == [(6, 8, -1, 0.5)]


def test_without_entities_a_document_is_incomplete() -> None:
    marks = read_marks(marked({"ents:not": [(6, 7, "PER")]}), "ents", LABELS, 0.5)
    assert marks.incomplete.rows() == [(0, 8, -1, 0.5)]


def test_documents_without_marks_have_none() -> None:
    marks = read_marks(marked({"ents": SOME}), "ents", LABELS, 0.5)
    assert not marks.incomplete.n_spans and not marks.negative.n_spans


def loss_and_gradient(nlp: Language, example: Example) -> Any:
    """RETURNS: the loss of a document, and its gradients with those of no document."""
    pipe: Any = nlp.pipeline[0][1]
    pipe.rng = np.random.default_rng(0)
    module = pipe.model.get_ref("output_layer").shims[0].module
    module.zero_grad()
    losses = pipe.update([example])
    grads = [p.grad.abs().sum() for p in module.parameters() if p.grad is not None]
    return losses[pipe.name], float(sum(grads))


@pytest.fixture
def begun(factory: str) -> Language:
    nlp = blank_pipeline(factory, missing_rate=1.0)
    train(nlp, make_examples(nlp, [("Ada met Bob in Rome", PLACES)]), updates=1)
    return nlp


PLACES: Gold = [(0, 1, "PER"), (2, 3, "PER"), (4, 5, "LOC")]


def test_where_everything_is_missing_nothing_is_learned(begun: Language) -> None:
    nothing = loss_and_gradient(begun, marked({"ents": [], "ents:incomplete": ALL}))
    complete = loss_and_gradient(begun, marked({"ents": []}))
    assert nothing == pytest.approx((0.0, 0.0), abs=1e-3 * complete[1])
    negative = [(start, start + 1, "") for start in range(len(WORDS))]
    groups = {"ents": [], "ents:incomplete": ALL, "ents:not": negative}
    some = loss_and_gradient(begun, marked(groups))
    assert complete[0] > some[0] >= 0
    assert complete[1] > 0


ALL: Gold = [(0, len(WORDS), "")]


def test_a_rate_between_teaches_less(begun: Language) -> None:
    pipe: Any = begun.pipeline[0][1]
    found = []
    for rate in (0.0, 0.5, 1.0):
        pipe.cfg["missing_rate"] = rate
        example = marked({"ents": [], "ents:incomplete": ALL})
        found.append(loss_and_gradient(begun, example)[0])
    assert found[0] > found[1] > found[2]
    complete = loss_and_gradient(begun, marked({"ents": []}))[0]
    assert found[0] == pytest.approx(complete, rel=1e-4)


def test_marks_of_complete_annotation_change_nothing(begun: Language) -> None:
    plain = loss_and_gradient(begun, marked({"ents": SOME}))
    negative = marked({"ents": SOME, "ents:not": [(6, 7, "PER")]})
    assert loss_and_gradient(begun, negative) == plain


def test_contradictions_are_reported(begun: Language) -> None:
    pipe: Any = begun.pipeline[0][1]
    made = MadeSettings(pipe.settings, pipe.codec)
    example = marked({"ents": SOME, "ents:not": [(0, 2, "PER"), (6, 7, "LOC")]})
    with pytest.warns(UserWarning, match=r"SW250.*1 spans.*'Ada Lovelace'"):
        read_batch([example], made, LABELS, GoldReader("x"), pipe.rng)


def test_predictions_in_incomplete_regions_are_not_judged() -> None:
    groups = {
        "ents": SOME,
        "ents:incomplete": [(0, 4, ""), (0, 8, "LOC")],
        "ents:not": [(2, 3, "")],
    }
    example = marked(groups)
    doc = example.predicted
    predicted = [(0, 2, "PER"), (3, 5, "PER"), (6, 7, "LOC")]  # right, unknown, unknown
    wrong = [(2, 3, "LOC"), (6, 7, "PER")]
    doc.spans["ents"] = [Span(doc, *place) for place in [*predicted, *wrong]]
    scores = score_spans([example])
    assert scores["spans_ents_p"] == pytest.approx(1 / 3)
    assert scores["spans_ents_r"] == 1.0
    assert scores["spans_ents_flat_p"] == pytest.approx(1 / 3)
