"""Formats are told by names and content, or the user is asked."""

import json
from pathlib import Path

import pytest
import spacy

from spacy_spanner.corpus.conversion import convert_corpus, read_docs, resolve_format
from spacy_spanner.corpus.formats.catalogue import (
    FORMATS,
    detect_format,
    find_files,
)
from spacy_spanner.corpus.options import ReadOptions

from .util import spans_of, write_file

QUOTED = ['["Time" magazine](ORG) b\n', '["Time", "Life"](ORG) b\n', '["a](ORG) b']
CONTENT = {
    "conll": [
        "a O\nb B-X\n",
        "-DOCSTART- -X- O O\n\na NN B-NP O\n",
        "a\tO\tB-X\n",
        "[a](b) O\n",
    ],
    "json": [
        '[{"tokens": ["a"], "entities": []}]',
        '{"sentences": [["a"]], "ner": [[]]}\n',
        '{"sentence": ["a"], "ner": []}',
    ],
    "jsonl": [
        '{"text": "a", "spans": []}\n',
        '[{"data": {"text": "a"}, "annotations": []}]',
        '["a", {"entities": []}]\n',
        '["a \\"b\\"", {"entities": []}]\n',
        '[["a", {"entities": []}], ["b", {"entities": []}]]',
        '[\n  [\n    "a",\n    {"entities": []}\n  ]\n]\n',
        json.dumps([30_000 * "a", {"entities": []}]),
        '{"data": "a", "label": []}',
    ],
    "rows": ['{"tokens": ["a"], "ner_tags": [0]}'],
    "brackets": ["[the [US](GPE) Court](ORG) met.\n", "# note\n[a](X) b\n", *QUOTED],
    "genia": ['<?xml version="1.0"?><set><article/></set>'],
}
CASES = [(name, text) for name, texts in CONTENT.items() for text in texts]


@pytest.mark.parametrize("name, text", CASES)
def test_detect_format_by_content(tmp_path: Path, name: str, text: str) -> None:
    assert detect_format(write_file(tmp_path, "data", text)) == name


@pytest.mark.parametrize(
    "file, name",
    [
        ("a.ann", "brat"),
        ("a.apf.xml", "ace"),
        ("a.v4_gold_conll", "ontonotes"),
        ("a.gold_conll", "ontonotes"),
        ("a.name", "ontonotes-name"),
        ("a.spacy", "spacy"),
        ("dataset_info.json", "rows"),
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_detect_format_by_name(
    tmp_path: Path, file: str, name: str, folder: bool
) -> None:
    path = write_file(tmp_path, f"deep/{file}", "")
    assert detect_format(tmp_path if folder else path) == name


def test_detect_format_of_a_folder_asks_its_first_file(tmp_path: Path) -> None:
    write_file(tmp_path, "b.txt", "a O\n")
    write_file(tmp_path, ".hidden", "?")
    write_file(tmp_path, "a.txt", "")
    assert detect_format(tmp_path) == "conll"


@pytest.mark.parametrize(
    "text",
    ["some words\nand more\n", "{", "<html>", "[1, 2]", '{"a": 1}', "[" * 9999],
)
def test_detect_format_of_something_else_asks(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"SP053.*data.*--format.*ontonotes"):
        detect_format(write_file(tmp_path, "data", text))


@pytest.mark.parametrize("content", [b"", b" \r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_told(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"SP061.*data: it is empty"):
        detect_format(write_file(tmp_path, "data", content))


@pytest.mark.parametrize("folder", [False, True])
def test_detect_format_reads_another_encoding(tmp_path: Path, folder: bool) -> None:
    path = write_file(tmp_path / "in", "data", "Ann B-X\n".encode("utf-16"))
    source, nlp = path.parent if folder else path, spacy.blank("en")
    options = ReadOptions(encoding="utf-16")
    (doc,) = read_docs(source, nlp, read_options=options)
    assert spans_of(doc) == [(0, 1, "X")]
    summary = convert_corpus(source, tmp_path / "o", nlp, read_options=options)
    assert summary.spans == 1


def test_detect_format_of_an_unknown_encoding_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP050.*unknown encoding: utf-9"):
        detect_format(write_file(tmp_path, "data", "a O\n"), "utf-9")


def test_an_empty_folder_and_a_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SP061"):
        detect_format(tmp_path)
    with pytest.raises(ValueError, match="SP061"):
        resolve_format(tmp_path / "no", None, print)
    with pytest.raises(ValueError, match=r"SP061.*format ontonotes"):
        find_files(tmp_path, FORMATS["ontonotes"])
    with pytest.raises(ValueError, match=r"SP062.*--format must be one of conll"):
        resolve_format(tmp_path, "xyz", print)


def test_json_that_is_larger_than_the_head_is_still_told(tmp_path: Path) -> None:
    text = json.dumps({"text": 30_000 * "a", "spans": []})
    with pytest.raises(ValueError, match="SP053"):
        detect_format(write_file(tmp_path, "data", text))
