"""Existing .spacy files: entities to spans and back, other annotation stays."""

from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_spanner.corpus.conversion import convert_corpus, read_plain_docs
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
    assert reading.notes == ["in.spacy: 1 document has neither spans nor entities"]
    docs, _ = docs_and_lost("spacy", path)
    assert "ents" not in docs[0].spans


def test_spans_without_a_label_are_lost(tmp_path: Path) -> None:
    doc = with_ents()
    doc.spans["ents"] = [Span(doc, 1, 2), Span(doc, 0, 1, label="Y")]
    (found,), lost = docs_and_lost("spacy", save(tmp_path, doc))
    assert spans_of(found) == [(0, 1, "Y")]
    assert lost.reasons == {"without a label": 1}


def test_rules_know_punctuation_of_existing_documents(tmp_path: Path) -> None:
    doc = NLP.make_doc('He said "It works." Then he left.')
    path = save(tmp_path, doc)
    (found,), _ = docs_and_lost("spacy", path, sentences="rules")
    texts = [sent.text for sent in found.sents]
    assert texts == ['He said "It works."', "Then he left."]


@pytest.mark.parametrize("scores", [[0.5, 0.75, 0.25], np.asarray([0.5, 0.75, 0.25])])
def test_a_group_that_loses_a_span_keeps_the_rest_of_the_others(
    tmp_path: Path, scores: Any
) -> None:
    doc = with_ents()
    doc.spans["ents"] = [
        Span(doc, 1, 2, label="X", kb_id="Q1", span_id="T1"),
        Span(doc, 0, 2),
        Span(doc, 0, 1, label="Y", kb_id="Q2", span_id="T2"),
    ]
    doc.spans["ents"].attrs.update(scores=scores, note="hand")
    (found,), lost = docs_and_lost("spacy", save(tmp_path, doc))
    group = found.spans["ents"]
    assert [(s.label_, s.kb_id_, s.id_) for s in group] == [
        ("X", "Q1", "T1"),
        ("Y", "Q2", "T2"),
    ]
    assert list(group.attrs["scores"]) == [0.5, 0.25]
    assert group.attrs["note"] == "hand"
    assert lost.reasons == {"without a label": 1}


def test_entities_that_become_spans_keep_their_ids(tmp_path: Path) -> None:
    doc = with_ents()
    doc.set_ents([Span(doc, 0, 1, label="GPE", kb_id="Q30")])
    (found,), _ = docs_and_lost("spacy", save(tmp_path, doc))
    assert [span.kb_id_ for span in found.spans["ents"]] == ["Q30"]


def two_sentences() -> Doc:
    words = ["US", "won", ".", "He", "slept", "."]
    starts: List[Any] = [True, False, False, True, False, False]
    tags = ["NNP", "VBD", ".", "PRP", "VBD", "."]
    doc = Doc(NLP.vocab, words=words, tags=tags, sent_starts=starts)
    doc.set_ents([Span(doc, 0, 1, label="GPE"), Span(doc, 3, 4, label="PER")])
    return doc


def test_split_sentences_keep_the_rest(tmp_path: Path) -> None:
    doc = two_sentences()
    doc.cats = {"sport": 1.0}
    doc.user_data = {"source": "news", ("._.", "sure", 9, None): True}
    doc.spans["ents"] = [Span(doc, 3, 4, label="P"), Span(doc, 0, 2, label="X")]
    doc.spans["ents"].attrs["scores"] = [0.5, 0.75]
    doc.spans["other"] = [Span(doc, 4, 5, label="V")]
    path = save(tmp_path, doc)
    (one, two), lost = docs_and_lost("spacy", path, split_sentences=True)
    assert [token.tag_ for token in two] == ["PRP", "VBD", "."]
    assert [(e.start, e.label_) for d in (one, two) for e in d.ents] == [
        (0, "GPE"),
        (0, "PER"),
    ]
    assert [spans_of(one), spans_of(two)] == [[(0, 2, "X")], [(0, 1, "P")]]
    assert [d.spans["ents"].attrs["scores"] for d in (one, two)] == [[0.75], [0.5]]
    assert [spans_of(one, "other"), spans_of(two, "other")] == [[], [(1, 2, "V")]]
    assert one.cats == two.cats == {"sport": 1.0}
    assert one.user_data == {"source": "news"}
    # "He" begins at character 9 of the document, and at 0 of its sentence.
    assert two.user_data == {"source": "news", ("._.", "sure", 0, None): True}
    assert [len(list(d.sents)) for d in (one, two)] == [1, 1]
    assert not lost.reasons


def test_split_sentences_list_what_crosses_in_other_groups(tmp_path: Path) -> None:
    doc = two_sentences()
    doc.set_ents([Span(doc, 2, 4, label="E")])
    doc.spans["ents"] = [Span(doc, 0, 1, label="GPE")]
    doc.spans["other"] = [Span(doc, 1, 5, label="O")]
    path = save(tmp_path, doc)
    found, lost = docs_and_lost("spacy", path, split_sentences=True)
    assert [list(part.ents) for part in found] == [[], []]
    assert sorted(row.label for row in lost.examples) == ["E", "O"]
    assert lost.reasons == {"crosses a sentence boundary": 2}


@pytest.mark.parametrize("content", [b"", b"abc", DocBin().to_bytes()[:-3]])
def test_what_spacy_has_not_written_is_told(tmp_path: Path, content: bytes) -> None:
    path = write_file(tmp_path, "a.spacy", content)
    with pytest.raises(ValueError, match=r"SP056.*a\.spacy, document 1"):
        read_all("spacy", path)


def test_read_plain_docs_of_a_folder(tmp_path: Path) -> None:
    save(tmp_path, with_ents())
    write_file(tmp_path, "note.txt", "x")
    assert len(list(read_plain_docs(tmp_path))) == 1


def marked(*, annotated: bool) -> Doc:
    doc = Doc(NLP.vocab, words=["a", "b", "c", "d"], sent_starts=[1, 0, 1, 0])
    if annotated:
        doc.spans["ents"] = [Span(doc, 0, 1, label="X")]
        doc.spans["ents:incomplete"] = [Span(doc, 1, 3, label="X"), doc[3:4]]
    doc.spans["ents:not"] = [Span(doc, 3, 4, label="X")]
    return doc


def test_incomplete_regions_are_cut_at_sentences(tmp_path: Path) -> None:
    path = save(tmp_path, marked(annotated=True))
    docs, lost = docs_and_lost("spacy", path, split_sentences=True)
    assert not lost.reasons
    found = [spans_of(doc, "ents:incomplete") for doc in docs]
    assert found == [[(1, 2, "X")], [(0, 1, "X"), (1, 2, "")]]
    assert [spans_of(doc, "ents:not") for doc in docs] == [[], [(1, 2, "X")]]


@pytest.mark.parametrize("split", [False, True])
def test_documents_with_marks_alone_stay_incomplete(
    tmp_path: Path, split: bool
) -> None:
    path = save(tmp_path, marked(annotated=False))
    docs, _ = docs_and_lost("spacy", path, split_sentences=split)
    for doc in docs:
        assert spans_of(doc, "ents:incomplete") == [(0, len(doc), "")]


def test_a_copied_group_takes_its_marks_along(tmp_path: Path) -> None:
    doc = marked(annotated=True)
    doc.spans["other"] = [Span(doc, 1, 2, label="Y")]
    doc.spans["other:incomplete"] = [doc[2:4]]
    doc.spans["other:soft"] = [Span(doc, 0, 1, label="X")]
    doc.spans["other:soft"].attrs["scores"] = [0.5]
    (record,) = read_all("spacy", save(tmp_path, doc), from_key="other").records
    assert spans_of(record.doc, "ents") == [(1, 2, "Y")]
    assert spans_of(record.doc, "ents:soft") == [(0, 1, "X")]
    assert record.doc.spans["ents:soft"].attrs["scores"] == [0.5]
    assert spans_of(record.doc, "ents:incomplete") == [(2, 4, "")]
    assert "ents:not" not in record.doc.spans
