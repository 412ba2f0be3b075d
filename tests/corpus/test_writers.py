"""Out to brat, JSON Lines, columns and .spacy, and in again: nothing changes."""

from pathlib import Path
from typing import Any, List, Tuple

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from srsly.msgpack import Packer

from spacy_spanner.corpus import spacy_files
from spacy_spanner.corpus.conversion import (
    convert_corpus,
    make_writer,
    read_docs,
    target_format,
)
from spacy_spanner.corpus.options import DocOptions, ReadOptions
from spacy_spanner.corpus.records import LostSpans
from spacy_spanner.corpus.spacy_files import LeanDocBin, SpacyWriter, pack_groups
from spacy_spanner.corpus.writers import BratWriter, ColumnsWriter, JsonlWriter

from .util import spans_of, write_file

NLP = spacy.blank("en")
Rows = List[Tuple[int, int, str]]


def make_doc(words: List[str], spans: Rows, starts: Tuple[int, ...] = (0,)) -> Doc:
    flags: List[Any] = [index in starts for index in range(len(words))]
    doc = Doc(NLP.vocab, words=words, sent_starts=flags)
    rows = sorted(spans, key=lambda row: (row[0], -row[1], row[2]))
    doc.spans["ents"] = [Span(doc, s, e, label=label) for s, e, label in rows]
    return doc


def describe(doc: Doc) -> tuple:
    starts = doc.has_annotation("SENT_START")
    sents = [sent.start for sent in doc.sents] if starts else None
    return [token.text for token in doc], sents, spans_of(doc)


SAMPLE = [
    make_doc(
        ["The", "US", "Court", "met", ".", "It", "left", "."],
        [(0, 3, "ORG"), (1, 2, "GPE"), (2, 4, "X"), (1, 2, "LOC"), (5, 6, "ORG")],
        (0, 5),
    ),
    make_doc(["No", "one", "."], []),
]


def back(path: Path, format: str, **options: Any) -> List[Doc]:
    return list(
        read_docs(
            path,
            NLP,
            format=format,
            read_options=ReadOptions(**options),
            doc_options=DocOptions(window="doc"),
        )
    )


def test_jsonl_round_trip_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = JsonlWriter(path, "ents")
    bare = NLP.make_doc("Not annotated.")
    for doc in [*SAMPLE, bare]:
        writer.add(doc)
    writer.close()
    found = back(path, "jsonl")
    assert [describe(doc) for doc in found[:2]] == [describe(doc) for doc in SAMPLE]
    assert found[2].text == bare.text
    assert "ents" not in found[2].spans


def test_columns_round_trip_keeps_everything_but_spaces(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    writer = ColumnsWriter(path, "ents", LostSpans())
    for doc in SAMPLE:
        writer.add(doc)
    writer.close()
    assert [describe(doc) for doc in back(path, "conll")] == [
        describe(doc) for doc in SAMPLE
    ]
    lines = path.read_text("utf8").split("\n")
    assert {line.count("\t") for line in lines if line} == {3}
    assert [p.name for p in tmp_path.iterdir()] == ["a.conll"]


def test_columns_list_what_they_cannot_hold(tmp_path: Path) -> None:
    words = ["\n", "New", " ", "York", "\n", "is"]
    spans = [(1, 4, "GPE"), (1, 5, "GPE"), (4, 5, "X"), (3, 6, "Y")]
    lost = LostSpans()
    writer = ColumnsWriter(tmp_path / "a.conll", "ents", lost)
    writer.add(make_doc(words, spans, (0, 5)))
    writer.close()
    (found,) = back(tmp_path / "a.conll", "conll")
    assert describe(found) == (["New", "York", "is"], [0, 2], [(0, 2, "GPE")])
    assert lost.reasons == {
        "duplicate": 1,
        "empty": 1,
        "crosses a sentence boundary": 1,
    }


def test_brat_round_trip_keeps_text_and_entities(tmp_path: Path) -> None:
    doc = NLP.make_doc("The US\nCourt met. Ann left.\r\n")
    spans = [(0, 15, "ORG"), (4, 6, "GPE"), (20, 23, "PER")]
    doc.spans["ents"] = [
        doc.char_span(*span, alignment_mode="expand") for span in spans
    ]
    writer = BratWriter(tmp_path, "ents")
    writer.add(doc)
    writer.close()
    (found,) = back(tmp_path, "brat")
    assert found.text == doc.text
    assert spans_of(found) == spans_of(doc)


@pytest.mark.parametrize(
    "text, place",
    [
        ("in New\r\nYork.", (3, 12)),
        ("in New\rYork.", (3, 11)),
        ("in New\r\n\r\nYork.", (3, 14)),
        ("in \r\n York", (3, 6)),
    ],
)
def test_brat_round_trip_keeps_entities_over_line_ends(
    tmp_path: Path, text: str, place: Tuple[int, int]
) -> None:
    doc = NLP.make_doc(text)
    span = doc.char_span(*place, label="GPE", alignment_mode="expand")
    doc.spans["ents"] = [span]
    writer = BratWriter(tmp_path, "ents")
    writer.add(doc)
    writer.close()
    (found,) = back(tmp_path, "brat")
    assert found.text == doc.text
    assert spans_of(found) == spans_of(doc)
    assert (tmp_path / "000001.ann").read_bytes().count(b"\r") == 0


def test_brat_round_trip_keeps_discontinuous_entities(tmp_path: Path) -> None:
    write_file(tmp_path, "in/a.txt", "left and right lungs")
    ann = "T1\tORGAN 0 4;15 20\tleft lungs\n"
    write_file(tmp_path, "in/a.ann", ann)
    flag = ReadOptions(discontinuous="flag")
    summary = convert_corpus(
        tmp_path / "in", tmp_path / "out", NLP, to="brat", read_options=flag
    )
    assert (tmp_path / "out" / "000001.ann").read_text("utf8") == ann
    assert not summary.lost.reasons


@pytest.mark.parametrize("to", ["brat", "conll"])
def test_labels_with_white_space_have_no_place(tmp_path: Path, to: str) -> None:
    source = write_file(tmp_path, "a.txt", "[a](cell type)")
    with pytest.raises(ValueError, match=r"SP059.*'cell type'"):
        convert_corpus(source, tmp_path / "out", NLP, to=to)


words = st.lists(
    st.text(st.sampled_from("ab.#-é京"), min_size=1, max_size=3), min_size=1, max_size=6
)


@st.composite
def documents(draw: st.DrawFn) -> Doc:
    found = draw(words)
    size = len(found)
    place = st.integers(0, size - 1)
    rows = draw(st.sets(st.tuples(place, place, st.sampled_from("AB")), max_size=5))
    starts = draw(st.sets(place)) | {0}
    ordered = {(min(a, b), max(a, b) + 1, label) for a, b, label in rows}
    return make_doc(found, list(ordered), tuple(starts))


@pytest.mark.parametrize("format", ["jsonl", "conll"])
@given(docs=st.lists(documents(), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_round_trip_of_any_documents(
    tmp_path: Path, format: str, docs: List[Doc]
) -> None:
    path, lost = tmp_path / "a.out", LostSpans()
    options = DocOptions()
    writer = make_writer(path, format, options, shard_tokens=1, lean=True, lost=lost)
    for doc in docs:
        writer.add(doc)
    writer.close()
    found = [describe(doc) for doc in back(path, format)]
    expected = [describe(doc) for doc in docs]
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert all(set(one[2]) <= set(two[2]) for one, two in zip(found, expected))
    n_found = sum(len(row[2]) for row in found)
    assert n_found + lost.n_listed == sum(len(row[2]) for row in expected)
    assert set(lost.reasons) <= {"crosses a sentence boundary"}
    assert format == "conll" or not lost.reasons


# --------------------------------------------------------------------- .spacy


def test_packed_groups_are_those_of_spacy() -> None:
    doc = make_doc(["a", "b"], [(0, 1, "A"), (0, 2, "B")])
    doc.spans["other"] = [Span(doc, 1, 2, label="C", kb_id="Q1", span_id="T1")]
    doc.spans["other"].attrs["note"] = "x"
    doc.spans["empty"] = []
    packer = Packer(use_bin_type=True)
    assert pack_groups(doc, packer) == doc.spans.to_bytes()
    assert (
        pack_groups(make_doc(["a"], []), packer) == make_doc(["a"], []).spans.to_bytes()
    )
    bare = Doc(NLP.vocab, words=["a"])
    assert pack_groups(bare, packer) == bare.spans.to_bytes()


@pytest.mark.parametrize("with_ents", [False, True])
def test_lean_file_holds_what_documents_hold(with_ents: bool) -> None:
    docs = [make_doc(["US", "won"], [(0, 1, "GPE")]), *SAMPLE]
    docs[0].set_ents([Span(docs[0], 0, 1, label="NEW")])
    found = LeanDocBin(with_ents=with_ents)
    for doc in docs:
        found.add(doc)
    loaded = list(DocBin().from_bytes(found.to_bytes()).get_docs(Vocab()))
    assert [describe(doc) for doc in loaded] == [describe(doc) for doc in docs]
    assert [ent.label_ for ent in loaded[0].ents] == ["NEW"] * with_ents
    assert loaded[0].has_unknown_spaces == docs[0].has_unknown_spaces


def test_lean_file_of_a_spacy_with_another_format_of_spans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spacy_files, "pack_groups", lambda doc, packer: b"other")
    found = LeanDocBin()
    with pytest.warns(UserWarning, match="SW060") as warned:
        for doc in SAMPLE:
            found.add(doc)
    assert len(warned) == 1
    loaded = list(DocBin().from_bytes(found.to_bytes()).get_docs(Vocab()))
    assert [describe(doc) for doc in loaded] == [describe(doc) for doc in SAMPLE]


def test_lean_file_holds_ids_of_parts() -> None:
    doc = Doc(NLP.vocab, words=["a", "b"])
    doc.spans["parts"] = [Span(doc, 0, 1, label="X", span_id="T77")]
    found = LeanDocBin()
    found.add(doc)
    (loaded,) = DocBin().from_bytes(found.to_bytes()).get_docs(Vocab())
    assert loaded.spans["parts"][0].id_ == "T77"


def test_writer_of_a_folder_makes_files_of_limited_size(tmp_path: Path) -> None:
    writer = SpacyWriter(tmp_path / "out", shard_tokens=10)
    for doc in SAMPLE * 2:
        writer.add(doc)
    writer.close()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["00000.spacy", "00001.spacy"]
    found = [describe(doc) for doc in back(tmp_path / "out", "spacy")]
    assert found == [describe(doc) for doc in SAMPLE * 2]


def test_writer_of_a_smaller_corpus_leaves_nothing_of_the_larger(
    tmp_path: Path,
) -> None:
    for docs in (SAMPLE * 2, SAMPLE[:1]):
        shards = SpacyWriter(tmp_path / "shards", shard_tokens=1)
        brat = BratWriter(tmp_path / "brat", "ents")
        for doc in docs:
            shards.add(doc)
            brat.add(doc)
        shards.close()
        brat.close()
    names = sorted(path.name for path in tmp_path.rglob("*.*"))
    assert names == ["00000.spacy", "000001.ann", "000001.txt"]


def test_writer_of_a_file_makes_one_even_if_empty(tmp_path: Path) -> None:
    writer = SpacyWriter(tmp_path / "out.spacy", shard_tokens=1)
    writer.close()
    assert list(DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab())) == []


@pytest.mark.parametrize(
    "name, format",
    [
        ("a.jsonl", "jsonl"),
        ("a.conll", "conll"),
        ("a.iob2", "conll"),
        ("a.spacy", "spacy"),
        ("folder", "spacy"),
    ],
)
def test_target_format_is_told_by_the_name(name: str, format: str) -> None:
    assert target_format(Path(name)) == format
