"""A corpus of documents that another pipeline has predicted."""

from pathlib import Path
from typing import Any, Iterator, List

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_spanner.corpus.taught import make_taught_corpus
from spacy_spanner.encoders.surroundings import set_neighbours, with_neighbours
from spacy_spanner.pipeline.span_scores import scores_of, write_scores

from ..helpers import annotate, spans_of

WORDS = ["Ada", "met", "Bob", "."]


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A folder with three documents, as a teacher with other components leaves them."""
    nlp = spacy.blank("en")
    docs = []
    for number in range(3):
        words = [*WORDS[:-1], str(number), "."]
        doc = Doc(nlp.vocab, words=words, sent_starts=[True] + [False] * 4)
        annotate(doc, [(0, 1, "PER"), (2, 3, "PER")], "found")
        write_scores(doc, "found", [0.75, 0.25])
        annotate(doc, [(0, 3, "ORG")], "member")
        doc.set_ents([doc.spans["found"][0]])
        doc[0].tag_ = "NN"
        docs.append(doc)
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "part-00000.spacy")
    return tmp_path


def read(corpus: Any) -> List[Example]:
    return list(corpus(spacy.blank("en")))


def test_predictions_become_soft_labels(taught: Path) -> None:
    (first, *_) = read(make_taught_corpus(taught, "found", ["ents", "other"]))
    for key in ("ents:soft", "other:soft"):
        assert spans_of(first.reference, key) == [(0, 1, "PER"), (2, 3, "PER")]
        assert scores_of(first.reference, key) == [0.75, 0.25]
    assert first.predicted.text == first.reference.text
    assert len(first.predicted.spans) == 0


def test_nothing_else_of_a_teacher_is_taken_for_gold(taught: Path) -> None:
    (first, *_) = read(make_taught_corpus(taught, "found", ["ents"]))
    assert list(first.reference.spans) == ["ents:soft"]
    assert not first.reference.has_annotation("ENT_IOB")
    assert not first.reference.has_annotation("TAG")
    assert [token.is_sent_start for token in first.reference][:2] == [True, False]


def test_what_a_teacher_does_not_know_is_noted(taught: Path) -> None:
    labels = ["ORG", "PER"]
    (first, *_) = read(make_taught_corpus(taught, "found", ["ents"], labels))
    assert first.reference.spans["ents:soft"].attrs["labels"] == labels


def test_neighbours_of_sentences_stay(taught: Path) -> None:
    nlp = spacy.blank("en")
    doc = nlp.make_doc("Ada met Bob.")
    set_neighbours(doc, [["Before", "."]], [["After", "."]])
    DocBin(docs=[doc], store_user_data=True).to_disk(taught / "part-00000.spacy")
    (example,) = read(make_taught_corpus(taught, "found", ["ents"]))
    for copy in (example.reference, example.predicted):
        found = with_neighbours(copy, 1)
        assert found.words == ["Before", ".", "Ada", "met", "Bob", ".", "After", "."]


def test_annotated_documents_come_in_turn(taught: Path) -> None:
    def gold(nlp: Language) -> Iterator[Example]:
        for word in "ABCDE":
            yield Example(Doc(nlp.vocab, words=[word]), Doc(nlp.vocab, words=[word]))

    found = read(make_taught_corpus(taught, "found", ["ents"], gold=gold))
    texts = [example.reference[-1].text for example in found]
    assert texts == [".", "A", ".", "B", ".", "C", "D", "E"]
