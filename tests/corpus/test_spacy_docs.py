"""Existing .spacy files: entities to spans and back, other annotation stays."""

from pathlib import Path
from typing import List

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_spanner.corpus.convert import convert_corpus, read_plain_docs
from spacy_spanner.corpus.options import DocOptions

from .util import docs_and_lost, read_all, spans_of, write_file

NLP = spacy.blank("en")


def save(tmp_path: Path, *docs: Doc) -> Path:
    path = tmp_path / "in.spacy"
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def with_ents() -> Doc:
    doc = Doc(NLP.vocab, words=["US", "won", "."], tags=["NNP", "VBD", "."])
    doc.set_ents([Span(doc, 0, 1, label="GPE")])
    return doc


def convert(source: Path, target: Path, **options: str) -> List[Doc]:
    convert_corpus(source, target, NLP, doc_options=DocOptions(**options))
    return list(read_plain_docs(target))


def test_entities_become_spans_and_the_rest_stays(tmp_path: Path) -> None:
    (doc,) = convert(save(tmp_path, with_ents()), tmp_path / "out.spacy")
    assert spans_of(doc) == [(0, 1, "GPE")]
    assert [ent.label_ for ent in doc.ents] == ["GPE"]
    assert [token.tag_ for token in doc] == ["NNP", "VBD", "."]


def test_spans_become_entities(tmp_path: Path) -> None:
    doc = Doc(NLP.vocab, words=["a", "b", "c"])
    doc.spans["ents"] = [Span(doc, 0, 2, label="X"), Span(doc, 1, 2, label="Y")]
    (found,) = convert(save(tmp_path, doc), tmp_path / "out.spacy", set_ents="longest")
    assert [(ent.start, ent.end, ent.label_) for ent in found.ents] == [(0, 2, "X")]
    assert spans_of(found) == spans_of(doc)


def test_entities_survive_the_way_there_and_back(tmp_path: Path) -> None:
    docs = [with_ents(), Doc(NLP.vocab, words=["x"])]
    docs[1].set_ents([], default="outside")
    path = save(tmp_path, *docs)
    convert(path, tmp_path / "there.spacy")
    again = convert(
        tmp_path / "there.spacy", tmp_path / "back.spacy", set_ents="longest"
    )
    assert [[(e.start, e.end, e.label_) for e in doc.ents] for doc in again] == [
        [(0, 1, "GPE")],
        [],
    ]


def test_a_group_that_loses_nothing_keeps_its_scores(tmp_path: Path) -> None:
    doc = with_ents()
    doc.spans["ents"] = [Span(doc, 1, 2, label="X"), Span(doc, 0, 1, label="Y")]
    doc.spans["ents"].attrs["scores"] = [0.5, 0.75]
    (found,) = convert(save(tmp_path, doc), tmp_path / "out.spacy")
    assert spans_of(found) == spans_of(doc)
    assert list(found.spans["ents"].attrs["scores"]) == [0.5, 0.75]


def test_documents_without_annotation_are_told_and_stay_so(tmp_path: Path) -> None:
    path = save(tmp_path, Doc(NLP.vocab, words=["a"]), with_ents())
    reading = read_all("spacy", path)
    assert reading.notes == ["in.spacy: 1 documents have neither spans nor entities"]
    docs, _ = docs_and_lost("spacy", path)
    assert "ents" not in docs[0].spans


def test_spans_without_a_label_are_lost(tmp_path: Path) -> None:
    doc = with_ents()
    doc.spans["ents"] = [Span(doc, 1, 2), Span(doc, 0, 1, label="Y")]
    (found,), lost = docs_and_lost("spacy", save(tmp_path, doc))
    assert spans_of(found) == [(0, 1, "Y")]
    assert lost.reasons == {"without a label": 1}


@pytest.mark.parametrize("content", [b"", b"abc", DocBin().to_bytes()[:-3]])
def test_what_spacy_has_not_written_is_told(tmp_path: Path, content: bytes) -> None:
    path = write_file(tmp_path, "a.spacy", content)
    with pytest.raises(ValueError, match=r"SP056.*a\.spacy, line 1"):
        read_all("spacy", path)


def test_read_plain_docs_of_a_folder(tmp_path: Path) -> None:
    save(tmp_path, with_ents())
    write_file(tmp_path, "note.txt", "x")
    assert len(list(read_plain_docs(tmp_path))) == 1
