"""Corpora in encodings that nobody announced, and with bytes that no text has."""

import json
import re
from pathlib import Path
from typing import Any, List, NamedTuple

import pytest

from spacy_spanner.corpus.formats.catalogue import FORMATS, detect_format
from spacy_spanner.corpus.options import ReadOptions
from spacy_spanner.corpus.records import Record
from spacy_spanner.jobs.annotate.messages import Document

from ..corpus.damage import BESIDE, NAMES, SOUND
from ..jobs.annotate.test_readers import read as read_documents
from .helpers import Count, harmless

TEXTS = [name for name in FORMATS if name != "spacy"]
XML = ("genia", "ace")
MESSAGE = re.compile(r"\[SP(001|050|056|060|061)\] \S+.*line \d+", flags=re.DOTALL)


class Outcome(NamedTuple):
    """What a reader yields before it stops, and why it stops."""

    records: List[Record]
    error: str = ""


def write(format: str, folder: Path, content: bytes) -> Path:
    path = folder / NAMES.get(format, "data.txt")
    path.write_bytes(content)
    if format in BESIDE:
        name, text = BESIDE[format]
        (folder / name).write_text(text, encoding="utf8")
    return folder if FORMATS[format].folder and format != "rows" else path


def outcome(format: str, path: Path, **options: Any) -> Outcome:
    records: List[Record] = []
    with harmless(path):
        try:
            for record in FORMATS[format].read(path, ReadOptions(**options), print):
                records.append(record)
        except ValueError as error:
            return Outcome(records, str(error))
    return Outcome(records)


def sound(format: str, folder: Path, content: bytes, **options: Any) -> List[Record]:
    found = outcome(format, write(format, folder, content), **options)
    assert found.records and not found.error
    return found.records


def refused(format: str, folder: Path, content: bytes) -> str:
    """RETURNS (str): the error, which names file and line."""
    found = outcome(format, write(format, folder, content))
    assert MESSAGE.match(found.error), found
    return found.error


@pytest.mark.parametrize("format", TEXTS)
def test_byte_order_marks_are_no_text(
    format: str, tmp_path: Path, tried: Count
) -> None:
    for text in SOUND[format]:
        expected = sound(format, tmp_path, text.encode("utf8"))
        tried("files in other encodings")
        assert sound(format, tmp_path, text.encode("utf-8-sig")) == expected
        if format in ("brat", "ace", "kbp", "genia"):
            continue  # the other file has another encoding, or XML declares its own
        for encoding in ("utf-16", "utf-16-le", "utf-32-be", "utf-16-be"):
            tried("files in other encodings", 2)
            for mark in ("", "\ufeff"):
                content = (mark + text).encode(encoding)
                found = sound(format, tmp_path, content, encoding=encoding)
                assert found == expected


@pytest.mark.parametrize("format", TEXTS)
def test_other_encodings_are_noticed(format: str, tmp_path: Path, tried: Count) -> None:
    for text in SOUND[format]:
        expected = sound(format, tmp_path, text.encode("utf8"))
        for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"):
            tried("files in other encodings")
            content = text.encode(encoding)
            found = outcome(format, write(format, tmp_path, content))
            # XML shows its encoding, unless it declares another one.
            known = format in XML and found.records == expected
            assert known or MESSAGE.match(found.error), found


BYTES = {
    "not UTF-8": b"\xff\xfe\xfd",
    "half a surrogate pair": b"\xed\xa0\xbd",
    "too long": b"\xc0\x80",
    "cut off": b"\xf0\x9f\x98",
    "Latin 1": "Müller".encode("latin-1"),
}


@pytest.mark.parametrize("format", TEXTS)
def test_bytes_that_are_no_text_are_refused_with_their_line(
    format: str, tmp_path: Path, tried: Count
) -> None:
    for text in SOUND[format]:
        content = text.encode("utf8")
        for broken in BYTES.values():
            for place in (0, len(content) // 2, len(content)):
                tried("files in other encodings")
                refused(format, tmp_path, content[:place] + broken + content[place:])


@pytest.mark.parametrize("format", TEXTS)
def test_zero_bytes_end_no_text(format: str, tmp_path: Path, tried: Count) -> None:
    """Either they are part of the text or an error, but nothing after them is lost."""
    for text in SOUND[format]:
        content = text.encode("utf8")
        whole = size_of(sound(format, tmp_path, content))
        for place in range(0, len(content) + 1, max(len(content) // 12, 1)):
            tried("files in other encodings")
            zeros = content[:place] + b"\0" + content[place:]
            found = outcome(format, write(format, tmp_path, zeros))
            if found.error:
                assert MESSAGE.match(found.error), found
            else:
                lost = [row for record in found.records for row in record.lost]
                assert lost or size_of(found.records) >= whole


def size_of(records: List[Record]) -> int:
    """Count the characters of texts and words."""
    return sum(
        len(record.text or "") or len("".join(record.words or [])) for record in records
    )


HALVES = ('"\\ud83d"', '"\\ude00"', '"\\uDE00 a"', '"a\\ud83d\\ud83d"')


@pytest.mark.parametrize("format", ["json", "jsonl", "rows"])
def test_halves_of_characters_in_json_are_refused(
    format: str, tmp_path: Path, tried: Count
) -> None:
    for half in HALVES:
        tried("files in other encodings")
        rows = {
            "json": f'{{"tokens": [{half}], "entities": []}}',
            "jsonl": f'{{"text": {half}, "spans": []}}',
            "rows": f'{{"tokens": [{half}], "ner_tags": ["O"]}}',
        }
        content = "\n\n" + rows[format]
        assert "line 3" in refused(format, tmp_path, content.encode("utf8"))


def test_encoding_is_noticed_before_the_format(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(SOUND["brackets"][0].encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"SP050.*zero bytes"):
        detect_format(path)


# ------------------------------------------------------------------------ annotate


def annotated(path: Path, content: bytes, **options: Any) -> List[Document]:
    path.write_bytes(content)
    with harmless(path):
        return read_documents(path, **options)


TEXT = "The court of Leon County met today, and nobody came.\nNot one.\n"
KINDS = [("a.txt", False), ("a.txt", True), ("a.jsonl", False)]


@pytest.mark.parametrize("name, by_line", KINDS)
def test_annotate_has_each_text_or_says_why_not(
    name: str, by_line: bool, tmp_path: Path, tried: Count
) -> None:
    text, path = TEXT, tmp_path / name
    if name.endswith(".jsonl"):
        lines = [json.dumps({"text": line}) for line in TEXT.splitlines()]
        text = "\n".join(lines)
    expected = annotated(path, text.encode("utf8"), by_line=by_line)
    assert not any(one.problem for one in expected)
    found = annotated(path, text.encode("utf-8-sig"), by_line=by_line)
    assert found == expected
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"):
        tried("files in other encodings")
        found = annotated(path, text.encode(encoding), by_line=by_line)
        # The line end of the last line may have left a half.
        texts = [one for one in found if one.problem or one.text.strip("\0")]
        assert texts
        assert all(re.match(r"\[SP001\] a\..*line \d+", one.problem) for one in texts)
    for broken in BYTES.values():
        tried("files in other encodings")
        found = annotated(path, text.encode("utf8") + b"\n" + broken, by_line=by_line)
        assert re.match(r"\[SP001\] a\..*line \d+", found[-1].problem)
        assert found[:-1] == (expected if name != "a.txt" or by_line else [])
    for half in HALVES if name.endswith(".jsonl") else ():
        tried("files in other encodings")
        found = annotated(path, f'{text}\n{{"text": {half}}}'.encode())
        assert "line 3" in found[-1].problem and found[:-1] == expected


def test_annotate_keeps_zero_bytes_of_a_text(tmp_path: Path) -> None:
    (found,) = annotated(tmp_path / "a.txt", b"A text\0 with two\0 zeros.")
    assert found.text == "A text\0 with two\0 zeros."
