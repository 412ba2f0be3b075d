"""Every format gives documents with stable ids; what is broken says why."""

import gzip
import json
from pathlib import Path
from typing import List, Tuple

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_spanner.jobs.annotate.messages import Document, Fields, Part
from spacy_spanner.jobs.annotate.plan import find_sources, make_parts
from spacy_spanner.jobs.annotate.readers import check_fields, read_part

FIELDS = Fields()


def parts_of(path: Path, *, size: int = 10**6, by_line: bool = False) -> List[Part]:
    sources = find_sources([str(path)], by_line=by_line)
    return make_parts(sources, size)


def read(path: Path, fields: Fields = FIELDS, **options: int) -> List[Document]:
    parts = parts_of(path, **options)  # type: ignore[arg-type]
    return [one for part in parts for one in read_part(part, fields, Vocab())]


def pairs(documents: List[Document]) -> List[Tuple[str, str]]:
    assert all(not one.problem for one in documents)
    return [(one.id, one.text) for one in documents]


def write(path: Path, content: object) -> Path:
    content = content if isinstance(content, bytes) else str(content).encode("utf8")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_file_is_a_document(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "\ufeffOne.\nTwo.\r\n")
    assert pairs(read(path)) == [(name, "One.\nTwo.")]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_line_is_a_document(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "One.\r\n\n \t\nTwo \u2028 too.\nThree")
    expected = [(1, "One."), (4, "Two \u2028 too."), (5, "Three")]
    assert pairs(read(path, by_line=True)) == [
        (f"{name}:{number}", text) for number, text in expected
    ]


@pytest.mark.parametrize("size", [1, 30, 60, 10**6])
def test_ids_do_not_depend_on_how_a_file_is_cut(tmp_path: Path, size: int) -> None:
    rows = [json.dumps({"text": f"Text {n}."}) for n in range(9)]
    path = write(tmp_path / "a.jsonl", "\n".join([*rows[:4], "", *rows[4:]]))
    numbers = [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert pairs(read(path, size=size)) == [
        (f"a.jsonl:{number}", f"Text {n}.") for n, number in enumerate(numbers)
    ]


def test_own_ids_are_kept_as_text(tmp_path: Path) -> None:
    rows = ['{"body": "A", "n": 7}', '{"body": "B", "n": "x"}', '{"body": "C"}']
    documents = read(write(tmp_path / "a.jsonl", "\n".join(rows)), Fields("body", "n"))
    assert pairs(documents[:2]) == [("7", "A"), ("x", "B")]
    assert documents[2].id == "a.jsonl:3"
    assert "SP122" in documents[2].problem


def test_broken_rows_stop_no_others(tmp_path: Path) -> None:
    rows = [b'{"text": "A"}', b"{", b"[1]", b'{"text": 3, "b": 1}', b'{"text": "\xff"}']
    path = write(tmp_path / "a.jsonl", b"\n".join([*rows, b'{"text": "B"}']))
    documents = read(path)
    assert [one.id for one in documents] == [f"a.jsonl:{n}" for n in range(1, 7)]
    found = [one.problem[:7] for one in documents]
    assert found == ["", "[SP001]", "[SP001]", "[SP121]", "[SP001]", ""]
    assert "line 5, column 11: not UTF-8" in documents[4].problem
    assert "text, b" in documents[3].problem


def test_damaged_archive_gives_what_is_whole(tmp_path: Path) -> None:
    lines = "".join(f"Line {n} of many.\n" for n in range(20_000))
    path = write(tmp_path / "a.txt.gz", lines)
    path.write_bytes(path.read_bytes()[:-2000])
    *whole, last = read(path, by_line=True)
    assert len(whole) > 1000
    assert all(not one.problem for one in whole)
    assert "SP001" in last.problem and "damaged" in last.problem


def test_documents_of_spacy_keep_tokens_and_ids(tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["New", "York-"]), Doc(Vocab(), words=["Rome"])]
    docs[0].user_data["key"] = 12
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "a.spacy")
    first, second = read(tmp_path / "a.spacy")
    assert [first.id, second.id] == ["a.spacy:1", "a.spacy:2"]
    assert [token.text for token in first.doc] == ["New", "York-"]
    first, second = read(tmp_path / "a.spacy", Fields(id="key"))
    assert first.id == "12"
    assert "SP122" in second.problem


def test_broken_spacy_file_is_one_problem(tmp_path: Path) -> None:
    (one,) = read(write(tmp_path / "a.spacy", "nothing"))
    assert "SP056" in one.problem


def test_rows_of_parquet_are_read_by_groups(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    texts = [f"Text {n}." for n in range(10)]
    table = pyarrow.table({"text": [*texts, None], "n": range(11)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    assert len(parts_of(tmp_path / "a.parquet", size=1)) == 4
    *documents, last = read(tmp_path / "a.parquet", size=1)
    assert pairs(documents) == [(f"a.parquet:{n}", t) for n, t in enumerate(texts, 1)]
    assert last.id == "a.parquet:11" and "SP121" in last.problem
    *documents, _ = read(tmp_path / "a.parquet", Fields(id="n"))
    assert [one.id for one in documents] == [str(n) for n in range(10)]
    with pytest.raises(ValueError, match=r"SP121.*text, n"):
        (part,) = parts_of(tmp_path / "a.parquet")
        check_fields(part.pieces[0], Fields("body"))


def test_parquet_of_another_format_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="SP001"):
        parts_of(write(tmp_path / "a.parquet", "PAR0 and more, but no table"))


def test_parquet_needs_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r'SP123.*pip install "pyarrow'):
        parts_of(write(tmp_path / "a.parquet", ""))


def test_small_files_share_a_part(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.txt", 10 * "x")
    parts = parts_of(tmp_path, size=20)
    assert [part.size for part in parts] == [20, 20, 10]
    assert [part.number for part in parts] == [0, 1, 2]
    assert [len(part.pieces) for part in parts] == [2, 2, 1]


def test_field_that_no_row_has_is_an_error_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"body": "A"}\n{"body": "B", "x": 1}\n')
    (part,) = parts_of(path)
    check_fields(part.pieces[0], Fields("body"))
    with pytest.raises(ValueError, match=r"SP121.*body.*--text-field"):
        check_fields(part.pieces[0], Fields())
    with pytest.raises(ValueError, match="SP122"):
        check_fields(part.pieces[0], Fields("body", "id"))
    check_fields(part.pieces[0], Fields("body", "x"))  # one of them has it
