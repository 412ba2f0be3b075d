"""Corpora that are meant to take more time or memory than there is."""

import gzip
import io
import json
import re
import zlib
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest
from spacy.tokens import DocBin

from spacy_spanner.corpus.formats import spacy_docs
from spacy_spanner.corpus.formats.catalogue import FORMATS, detect_format
from spacy_spanner.corpus.markup import read_xml
from spacy_spanner.jobs.annotate import readers

from ..corpus.test_ace import PER, SGM, apf
from ..corpus.test_genia import XML
from ..helpers import doc_of
from ..jobs.annotate.test_readers import read as read_documents
from .helpers import Count, harmless
from .test_encodings import MESSAGE, Outcome, outcome, write

# ----------------------------------------------------------------------------- XML

LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "lol">'
    for n in range(10)
)
DECLARED = {
    "a billion laughs": (LAUGHS, "&l9;"),
    "one large entity many times": (
        f'<!ENTITY large "{"a" * 100_000}">',
        "&large;" * 10_000,
    ),
    "an entity of its own": ('<!ENTITY own "text">', "&own;"),
    "an entity that is not used": ('<!ENTITY own "text">', ""),
    "a file": ('<!ENTITY file SYSTEM "file://{secret}">', "&file;"),
    "a public file": ('<!ENTITY file PUBLIC "x" "file://{secret}">', "&file;"),
    "an address": ('<!ENTITY page SYSTEM "http://127.0.0.1:9/">', "&page;"),
    "a device": ('<!ENTITY zeros SYSTEM "file:///dev/zero">', "&zeros;"),
    "a parameter": ("<!ENTITY % own \"<!ENTITY a 'b'>\"> %own;", "&a;"),
    "a parameter in a file": ('<!ENTITY % own SYSTEM "file://{secret}"> %own;', ""),
    "an unparsed entity": (
        '<!NOTATION n SYSTEM "x"><!ENTITY a SYSTEM "b" NDATA n>',
        "",
    ),
}


@pytest.mark.parametrize("form", list(DECLARED))
@pytest.mark.parametrize("format", ["genia", "ace"])
def test_entities_of_xml_files_are_not_expanded(
    format: str, form: str, tmp_path: Path, tried: Count
) -> None:
    tried("XML files")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf8")
    declared, used = DECLARED[form]
    doctype = f"<!DOCTYPE set [{declared.replace('{secret}', str(secret))}]>"
    sound = XML if format == "genia" else apf(PER)
    body = re.sub(r"^(<\?xml.*?\?>)?\s*(<!DOCTYPE[^>]*>)?", "", sound)
    inside = body.replace("</", f"{used}</", 1)
    found = outcome(format, write(format, tmp_path, (doctype + inside).encode("utf8")))
    assert MESSAGE.match(found.error), found
    assert "ENTITY" in found.error and not found.records


def test_definitions_outside_of_xml_files_are_not_read(
    tmp_path: Path, tried: Count
) -> None:
    """As in GENIA, whose files name one."""
    tried("XML files")
    (tmp_path / "own.dtd").write_text('<!ENTITY own "text">', encoding="utf8")
    doctype = f'<!DOCTYPE set SYSTEM "file://{tmp_path}/own.dtd">'
    for text, known in (("a", True), ("&own;", False)):
        path = tmp_path / "data.xml"
        path.write_text(f"{doctype}<set><a>{text}</a></set>", encoding="utf8")
        with harmless(tmp_path):
            if known:
                assert [node.text() for node in read_xml(path, "a")] == ["a"]
            else:
                with pytest.raises(ValueError, match=r"SP001.*unknown entity &own;"):
                    list(read_xml(path, "a"))


# ---------------------------------------------------------------------------- JSON

DEEP = {
    "lists": "[" * 100_000,
    "closed lists": "[" * 100_000 + "]" * 100_000,
    "objects": '{"a":' * 100_000,
    "a list in a text": '{"text": "a", "spans": ' + "[" * 100_000,
    "an object in tokens": '{"tokens": ' + '{"a":' * 100_000,
    "a list of lists": '[{"tokens": ["a"], "entities": []},' + "[" * 100_000,
    "a huge number": '{"text": ' + "9" * 100_000 + "}",
}


@pytest.mark.parametrize("format", ["json", "jsonl", "rows"])
def test_deep_json_is_refused(format: str, tmp_path: Path, tried: Count) -> None:
    for text in DEEP.values():
        tried("deep JSON")
        path = write(format, tmp_path, f"\n{text}".encode())
        found = outcome(format, path)
        assert MESSAGE.match(found.error), found
        with harmless(tmp_path):
            try:
                assert detect_format(path) in FORMATS
            except ValueError as error:
                assert str(error).startswith("[SP053]")


def test_deep_json_is_one_failed_document_of_annotate(
    tmp_path: Path, tried: Count
) -> None:
    path = tmp_path / "a.jsonl"
    rows = ['{"text": "one"}', *DEEP.values(), '{"text": "two"}']
    tried("deep JSON", len(DEEP))
    path.write_text("\n".join(rows), encoding="utf8")
    with harmless(tmp_path):
        found = read_documents(path)
    assert [found[0].text, found[-1].text] == ["one", "two"]
    assert len(found) == len(rows)
    assert all(re.match(r"\[SP(001|121)\]", one.problem) for one in found[1:-1])


# ---------------------------------------------------------------------- long lines

SIZE = 50_000_000
WORDS = "word " * (SIZE // 5)
LONG: Dict[str, Tuple[str, str]] = {
    "conll": ("w" * SIZE, " B-X\n"),
    "json": ('{"tokens": ["', '"], "entities": [{"start": 0, "end": 0, "type": "X"}]}'),
    "jsonl": ('{"text": "', '", "spans": [{"start": 0, "end": 4, "label": "X"}]}'),
    "brackets": ("[Ann](PER) ", " [Bo](PER)"),
    "ontonotes-name": ('<ENAMEX TYPE="X">word</ENAMEX> ', ""),
    "rows": ('{"tokens": ["', '"], "ner_tags": ["B-X"]}'),
}


OFTEN = ("conll", "jsonl")
SELDOM = [
    pytest.param(name, marks=pytest.mark.slow) for name in LONG if name not in OFTEN
]


@pytest.mark.parametrize("format", [*OFTEN, *SELDOM])
def test_line_of_fifty_megabytes_is_read_whole(
    format: str, tmp_path: Path, tried: Count
) -> None:
    tried("large files")
    before, after = LONG[format]
    text = "" if format == "conll" else WORDS
    path = write(format, tmp_path, (before + text + after).encode("ascii"))
    del text
    (record,) = whole(outcome(format, path))
    assert record.mentions
    if record.text is not None:
        assert len(record.text) >= SIZE
    else:
        assert record.words and sum(map(len, record.words)) >= 4 * SIZE // 5


def whole(found: Outcome) -> List[spacy_docs.Record]:
    assert not found.error
    return found.records


# To the format "ontonotes-name", this is text.
@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"spacy", "ontonotes-name"}))
def test_long_line_that_is_broken_is_shown_in_part(
    format: str, tmp_path: Path, tried: Count
) -> None:
    tried("large files")
    content = b"\n" + b"[<T1 \t{" * 100_000
    found = outcome(format, write(format, tmp_path, content))
    assert MESSAGE.match(found.error), found.error[:300]
    assert len(found.error) < 1000


# --------------------------------------------------- work that grows with its square

N = 30_000


def many_names() -> str:
    return '<ENAMEX TYPE="X">a</ENAMEX> ' * N


def nested_names() -> str:
    return '<ENAMEX TYPE="X">a' * N + "</ENAMEX>" * N


def many_terms() -> str:
    sentence = '<cons sem="G#protein_x">term</cons> and ' * N
    return f"<set><article><sentence>{sentence}</sentence></article></set>"


def many_sentences() -> str:
    text = "<sentence>a</sentence>" * N
    return f"<set><article>{text}</article></set>"


def other_texts() -> str:
    span = {"start": 10**6, "end": 10**6 + 4, "label": "X", "text": "other"}
    row = {"text": "\U0001f600 word " * N, "spans": [span] * 20_000}
    return json.dumps(row)


def many_brackets() -> str:
    return "[a](X) " * N


def open_brackets() -> str:
    return "[" * N + "a" + "](X)" * N


def many_columns() -> str:
    return "word" + " O" * N + "\n"


def many_sentences_of_columns() -> str:
    return "word B-X\n\n" * N


SQUARES: List[Tuple[str, Callable[[], str]]] = [
    ("ontonotes-name", many_names),
    ("ontonotes-name", nested_names),
    ("genia", many_terms),
    ("genia", many_sentences),
    ("jsonl", other_texts),
    ("brackets", many_brackets),
    ("brackets", open_brackets),
    ("conll", many_columns),
    ("conll", many_sentences_of_columns),
]


@pytest.mark.parametrize("format, make", SQUARES)
def test_time_grows_with_the_file(
    format: str, make: Callable[[], str], tmp_path: Path, tried: Count
) -> None:
    tried("large files")
    found = outcome(format, write(format, tmp_path, make().encode("utf8")))
    assert found.records or MESSAGE.match(found.error)


def test_time_to_strip_markup_grows_with_the_file(tmp_path: Path, tried: Count) -> None:
    for piece in ("<a", "<", "&", "&amp;", "<!", "< a >", "<a\n"):
        tried("large files")
        text = SGM.replace("</TEXT>", piece * N + "</TEXT>")
        path = write("ace", tmp_path, apf(PER).encode("utf8"))
        (path / "data.sgm").write_text(text, encoding="utf8")
        found = outcome("ace", path)
        assert found.records


# ------------------------------------------------------------------------ compressed


def test_compressed_documents_are_not_expanded_without_limit(
    tmp_path: Path, tried: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "LONGEST", 2**20)
    bomb = gzip.compress(b"a" * 2**20, 9) * 20
    for name, by_line in (
        ("a.txt.gz", False),
        ("a.txt.gz", True),
        ("a.jsonl.gz", False),
    ):
        tried("compressed files")
        path = tmp_path / name
        path.write_bytes(bomb)
        with harmless(tmp_path):
            (found,) = read_documents(path, by_line=by_line)
        assert re.match(r"\[SP001\] a\..*line 1.*longer than", found.problem)
        path.unlink()


def test_lines_after_one_that_is_too_long_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "LONGEST", 50)
    path = tmp_path / "a.txt"
    for length in (49, 50, 51, 101, 102, 103, 500):
        text = "one\n" + "a" * length + "\ntwo\n" + "b" * length
        path.write_text(text, encoding="utf8")
        for size in (1, 10**6):
            found = read_documents(path, by_line=True, size=size)
            assert [one.text for one in found[::2]] == ["one", "two"]
            long = [bool(one.problem) for one in found[1::2]]
            assert long == [length + 1 > 50, length > 50]


def test_spacy_files_of_compressed_zeros_are_refused(
    tmp_path: Path, tried: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried("compressed files")
    monkeypatch.setattr(spacy_docs, "ANY_SIZE", 2**22)
    (tmp_path / "a.spacy").write_bytes(zlib.compress(bytes(2**24), 9))
    found = outcome("spacy", tmp_path / "a.spacy")
    assert re.match(r"\[SP056\] a.spacy, document 1: .*expands to", found.error)


DAMAGED = {
    "nothing": b"",
    "text": b"text",
    "deep": zlib.compress(b"\x91" * 100_000),
    "a long list": zlib.compress(b"\xdd\xff\xff\xff\xff"),
    "a number": zlib.compress(b"\x01"),
    "cut off": zlib.compress(bytes(1000))[:-5],
}


def test_spacy_files_of_something_else_are_refused(
    tmp_path: Path, tried: Count
) -> None:
    for data in DAMAGED.values():
        tried("compressed files")
        path = tmp_path / "a.spacy"
        path.write_bytes(data)
        found = outcome("spacy", path)
        assert re.match(r"\[SP056\] a.spacy, document 1", found.error), found
        with harmless(tmp_path):
            (one,) = read_documents(path)
        assert re.match(r"\[SP056\]", one.problem)


def test_large_spacy_files_of_documents_are_read(tmp_path: Path) -> None:
    doc = doc_of(["a"] * 10_000, [(0, 1, "X")])
    DocBin(docs=[doc] * 20).to_disk(tmp_path / "a.spacy")
    assert len(whole(outcome("spacy", tmp_path / "a.spacy"))) == 20


@pytest.mark.parametrize("name", ["a.parquet"])
def test_parquet_files_of_something_else_are_refused(
    name: str, tmp_path: Path, tried: Count
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": ["a", "b"]}), file)
    good = file.getvalue()
    cut = [good[:size] for size in range(0, len(good), len(good) // 8)]
    flipped = [good[:n] + b"\xff" + good[n + 1 :] for n in range(0, len(good), 40)]
    for data in [*cut, *flipped, b"PAR1" + b"\xff" * 100 + b"PAR1"]:
        tried("compressed files")
        (tmp_path / name).write_bytes(data)
        with harmless(tmp_path):
            try:
                found = read_documents(tmp_path / name)
            except ValueError as error:
                assert re.match(r"\[SP\d+\]", str(error)), error
            else:
                assert found and all(one.problem or one.text for one in found)
