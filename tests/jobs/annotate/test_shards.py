"""Every format holds the same documents, and a bad one leaves no trace."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_spanner.corpus.formats.offset_json import read as read_offsets
from spacy_spanner.corpus.options import ReadOptions
from spacy_spanner.jobs.annotate.messages import Annotated, Report
from spacy_spanner.jobs.annotate.output import OutputFolder
from spacy_spanner.jobs.annotate.result_files import SHARDS

ROW = {
    "id": "a",
    "text": "Über Rom",
    "spans": [
        {
            "start": 5,
            "end": 8,
            "token_start": 1,
            "token_end": 1,
            "label": "GPE",
            "text": "Rom",
            "score": 0.75,
        }
    ],
}


def document(name: str = "a") -> Annotated:
    doc = Doc(Vocab(), words=["Über", "Rom"], spaces=[True, False])
    doc.spans["ents"] = [Span(doc, 1, 2, label="GPE")]
    doc.spans["ents"].attrs["scores"] = [0.75]
    return Annotated(name, doc)


def write(path: Path, *documents: Annotated, with_text: bool = True) -> Path:
    shard = SHARDS[path.suffix[1:]](path, "ents", with_text)
    assert [shard.add(one) for one in documents] == [1 for _ in documents]
    shard.close()
    return path


def test_jsonl_has_rows_that_convert_can_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", document())
    assert json.loads(path.read_text("utf8")) == ROW
    (record,) = read_offsets(path, ReadOptions(), lambda _: None)
    assert record.mentions is not None
    assert [mention[:3] for mention in record.mentions] == [(5, 8, "GPE")]


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = write(tmp_path / "a.parquet", *[document()] * 1025)
    assert parquet.read_table(path).to_pylist() == [ROW] * 1025
    assert parquet.ParquetFile(path).num_row_groups == 2


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_texts_may_be_left_out(tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    path = write(tmp_path / f"a{suffix}", document(), with_text=False)
    without = {name: value for name, value in ROW.items() if name != "text"}
    if suffix == ".parquet":
        assert parquet.read_table(path).to_pylist() == [without]
    else:
        assert json.loads(path.read_text("utf8")) == without


def test_spacy_has_documents_with_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.spacy", document(), document("b"))
    docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    assert [doc.user_data["id"] for doc in docs] == ["a", "b"]
    for doc in docs:
        assert [(span.text, span.label_) for span in doc.spans["ents"]] == [
            ("Rom", "GPE")
        ]
        assert list(doc.spans["ents"].attrs["scores"]) == [0.75]


def lone_surrogate() -> Annotated:
    return Annotated("\ud83d", document().doc)


def unknown_object() -> Annotated:
    one = document()
    one.doc.user_data["key"] = object()
    return one


@pytest.mark.parametrize(
    "suffix, bad",
    [
        (".jsonl", lone_surrogate),
        (".parquet", lone_surrogate),
        (".spacy", unknown_object),
    ],
)
def test_document_that_cannot_be_written_leaves_no_trace(
    tmp_path: Path, suffix: str, bad: Any
) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        shard = SHARDS[suffix[1:]](path, "ents", True)
        shard.add(document())
        if path == paths[0]:
            with pytest.raises(Exception):  # noqa: B017 (of each format its own)
                shard.add(bad())
        shard.add(document("b"))
        shard.close()
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_files_of_parts_are_moved_to_a_stream_in_order(tmp_path: Path) -> None:
    folder, stream = OutputFolder(tmp_path, ".jsonl"), io.BytesIO()
    for part in range(4):
        folder.shard(part).write_text(f"{part}\n", "utf8")
    seen = []
    for report in folder.move_shards(map(Report, [2, 0, 3, 1]), stream):
        seen.append((report.part, stream.getvalue()))
    assert seen == [(2, b""), (0, b"0\n"), (3, b"0\n"), (1, b"0\n1\n2\n3\n")]
    assert not list(tmp_path.iterdir())
