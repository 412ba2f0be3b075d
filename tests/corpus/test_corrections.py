"""Reviewed annotation replaces that of the same texts, or nothing changes."""

import json
from pathlib import Path
from typing import Any, Dict, List, Set

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_spanner.corpus.corrections import CharSpan, correct, read_reviewed

from ..helpers import NESTED, annotate
from .util import spans_of

NLP = spacy.blank("en")


def make_docs() -> List[Doc]:
    return [annotate(NLP.make_doc(text), spans) for text, spans in NESTED[:3]]


def chars_of(doc: Doc) -> Set[CharSpan]:
    return {(s.start_char, s.end_char, s.label_) for s in doc.spans["ents"]}


def write_rows(path: Path, *rows: Dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    return path


words = st.integers(0, len(NLP.make_doc(NESTED[0][0])) - 1)
places = st.tuples(words, words).filter(lambda place: place[0] < place[1])
rows = st.sets(st.tuples(places, st.sampled_from(["ORG", "NEW"])), max_size=6)


@given(rows)
def test_corrected_document_has_exactly_the_reviewed_spans(found: Set[Any]) -> None:
    docs = make_docs()
    before = chars_of(docs[0])
    spans = [(docs[0][start:end], label) for (start, end), label in found]
    wanted = {(span.start_char, span.end_char, label) for span, label in spans}
    changes = correct(docs, {docs[0].text: wanted}, "ents")
    assert chars_of(docs[0]) == wanted
    assert spans_of(docs[1]) == spans_of(make_docs()[1])
    assert (changes.added, changes.removed) == (
        len(wanted - before),
        len(before - wanted),
    )
    assert changes.reviewed == 1 and changes.changed == (wanted != before)


def test_every_copy_of_a_text_is_corrected() -> None:
    docs = [*make_docs(), *make_docs()]
    changes = correct(docs, {docs[0].text: {(4, 6, "NEW")}}, "ents")
    assert spans_of(docs[0]) == spans_of(docs[3]) == [(1, 2, "NEW")]
    assert changes.reviewed == changes.changed == 2


def test_entities_of_doc_ents_become_spans() -> None:
    doc = make_docs()[1]
    doc.ents = [span for span in doc.spans.pop("ents") if span.label_ == "GPE"]
    correct([doc], {doc.text: {(13, 19, "GPE")}}, "ents")
    assert [span.text for span in doc.spans["ents"]] == ["Boston"]


def test_ids_of_spans_that_stay_are_kept() -> None:
    doc = make_docs()[0]
    doc.spans["ents"] = [Span(doc, 0, 4, "ORG"), Span(doc, 1, 2, "GPE", span_id="Q30")]
    correct([doc], {doc.text: {(4, 6, "GPE"), (46, 57, "GPE")}}, "ents")
    assert [span.id_ for span in doc.spans["ents"]] == ["Q30", ""]


@pytest.mark.parametrize("place", [(5, 6), (0, 999), (6, 6), (-3, 2)])
def test_span_that_fits_no_tokens_changes_nothing(place: Any) -> None:
    docs = make_docs()
    reviewed = {docs[1].text: set(), docs[0].text: {(*place, "GPE")}}
    with pytest.raises(ValueError, match=r"SP183.*GPE.*--align"):
        correct(docs, reviewed, "ents")
    assert [spans_of(doc) for doc in docs] == [spans_of(doc) for doc in make_docs()]


def test_boundaries_inside_tokens_are_moved_on_request() -> None:
    docs = make_docs()
    correct(docs, {docs[0].text: {(5, 6, "GPE")}}, "ents", align="expand")
    assert spans_of(docs[0]) == [(1, 2, "GPE")]


def test_text_that_is_not_in_the_data() -> None:
    docs = make_docs()
    reviewed: Dict[str, Set[CharSpan]] = {docs[0].text: set(), "Another text": set()}
    with pytest.raises(ValueError, match=r"SP184.*1 of 2.*Another text"):
        correct(docs, reviewed, "ents")
    assert spans_of(docs[0]) == spans_of(make_docs()[0])
    with pytest.raises(ValueError, match="SP184"):
        correct(docs, {}, "ents")


def test_reviewed_file_without_annotation_or_answer_is_left_out(tmp_path: Path) -> None:
    span = {"start": 0, "end": 2, "label": "X"}
    path = write_rows(
        tmp_path / "reviewed.jsonl",
        {"text": "It rained.", "spans": [span]},
        {"text": "It snowed.", "spans": [span], "answer": "reject"},
        {"text": "It froze."},
    )
    assert read_reviewed(path) == {"It rained.": {(0, 2, "X")}}


def test_two_versions_of_a_text_contradict_each_other(tmp_path: Path) -> None:
    row = {"text": "It rained.", "spans": []}
    other = {**row, "spans": [{"start": 0, "end": 2, "label": "X"}]}
    path = write_rows(tmp_path / "reviewed.jsonl", row, row)
    assert read_reviewed(path) == {"It rained.": set()}
    write_rows(path, row, other)
    with pytest.raises(ValueError, match=r"SP182.*two different versions.*rained"):
        read_reviewed(path)


def test_answers_to_some_spans_are_no_review(tmp_path: Path) -> None:
    span = {"start": 0, "end": 2, "label": "X"}
    row = {"text": "It rained.", "spans": [span], "answer": "accept"}
    path = write_rows(tmp_path / "reviewed.jsonl", row)
    assert read_reviewed(path) == {"It rained.": {(0, 2, "X")}}
    write_rows(path, {**row, "_view_id": "ner"})
    with pytest.raises(ValueError, match=r"SP182.*only some spans"):
        read_reviewed(path)


def test_tasks_that_were_not_submitted_are_no_review(tmp_path: Path) -> None:
    prediction = {"result": []}
    row = {"data": {"text": "It rained."}, "predictions": [prediction]}
    path = write_rows(tmp_path / "reviewed.jsonl", row)
    with pytest.raises(ValueError, match=r"SP182.*no document.*submit the tasks"):
        read_reviewed(path)


def test_file_without_texts_or_with_lost_spans(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.conll"
    path.write_text("It\tO\nrained\tB-X\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"SP182.*no texts"):
        read_reviewed(path)
    span = {"start": 0, "end": 2, "label": "X", "text": "other"}
    path = write_rows(tmp_path / "a.jsonl", {"text": "It rained.", "spans": [span]})
    with pytest.raises(ValueError, match=r"SP183.*'other' \(X\): different text"):
        read_reviewed(path)


def test_documents_of_spacy_are_reviewed_too(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.spacy"
    DocBin(docs=make_docs(), store_user_data=True).to_disk(path)
    assert read_reviewed(path) == {doc.text: chars_of(doc) for doc in make_docs()}
