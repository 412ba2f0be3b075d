"""Files are read with their lines; encodings and JSON fail with a code."""

import json
from pathlib import Path
from typing import List

import pytest

from spacy_spanner.corpus.text_files import read_json_items, read_lines, read_text

from .util import write_file


def items(path: Path) -> List[tuple]:
    return [tuple(item) for item in read_json_items(path)]


def test_read_lines_skips_a_byte_order_mark(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", b"\xef\xbb\xbfa\r\nb\n")
    assert list(read_lines(path)) == ["a\n", "b\n"]


@pytest.mark.parametrize("encoding", ["utf8", "UTF-8", "utf_8", "U8"])
def test_a_byte_order_mark_is_skipped_however_utf_8_is_spelled(
    tmp_path: Path, encoding: str
) -> None:
    path = write_file(tmp_path, "a.txt", b"\xef\xbb\xbfa\n")
    assert list(read_lines(path, encoding)) == ["a\n"]
    assert read_text(path, encoding) == "a\n"


def test_read_text_keeps_ends_of_lines_where_asked(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", b"a\r\nb\n")
    assert read_text(path, newlines=False) == "a\r\nb\n"
    assert read_text(path) == "a\nb\n"


def test_read_lines_of_another_encoding(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "北京\n".encode("gb18030"))
    assert list(read_lines(path, "gb18030")) == ["北京\n"]


@pytest.mark.parametrize("read", [read_text, lambda path: list(read_lines(path))])
def test_bytes_that_are_no_text_are_found(tmp_path: Path, read) -> None:  # type: ignore
    path = write_file(tmp_path, "a.txt", "a\n\ufffd\n".encode() + b"\xffc\nd\n")
    with pytest.raises(ValueError, match=r"SP050.*a\.txt, line 3: .*utf-8"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16", "idna", "rot13", "gb18030"])
def test_bytes_of_any_other_encoding_are_told(tmp_path: Path, encoding: str) -> None:
    path = write_file(tmp_path, "a.txt", b"a\n\xff\xff\xff\n")
    with pytest.raises(ValueError, match=r"SP050.*a\.txt, line \d"):
        list(read_lines(path, encoding))


def test_an_unknown_encoding_is_told(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "a")
    with pytest.raises(ValueError, match=r"SP050.*line 1.*unknown encoding"):
        list(read_lines(path, "utf-9"))


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param(
            '{"a": 1}\n\n{"b": 2}\n', [(1, {"a": 1}), (3, {"b": 2})], id="lines"
        ),
        pytest.param('[{"a": 1}]', [(1, {"a": 1})], id="array in a line"),
        pytest.param(
            '[\n{"a": 1},\n\n{"b": 2}\n]\n', [(2, {"a": 1}), (4, {"b": 2})], id="array"
        ),
        pytest.param(
            '{\n"a": 1\n}\n{"b":\n2}', [(1, {"a": 1}), (4, {"b": 2})], id="objects"
        ),
        pytest.param(
            '["x", {"b": 2}]\n[1]', [(1, ["x", {"b": 2}]), (2, [1])], id="lists"
        ),
        pytest.param(
            '[["x", {"b": 2}], ["y", {}]]',
            [(1, ["x", {"b": 2}]), (1, ["y", {}])],
            id="array of pairs",
        ),
        pytest.param("[]", [], id="empty array"),
        pytest.param("", [], id="empty"),
        pytest.param(" \n", [], id="blank"),
        pytest.param('{"a": "\\ud83d\\ude00"}', [(1, {"a": "😀"})], id="escaped pair"),
    ],
)
def test_read_json_items(tmp_path: Path, text: str, expected: List[tuple]) -> None:
    assert items(write_file(tmp_path, "a.json", text)) == expected


@pytest.mark.parametrize(
    "text, line, problem",
    [
        pytest.param('{"a": 1}\n{"b"\n', 2, "delimiter", id="line"),
        pytest.param('[{"a": 1},\n{"b": }]', 2, "Expecting value", id="array"),
        pytest.param('[{"a": 1}\n{"b": 1}]', 2, "',' or ']'", id="no comma"),
        pytest.param('[{"a": 1},\n', 2, "never closed", id="open array"),
        pytest.param('[{"a": 1}]\nx', 2, "after the array", id="text after"),
        pytest.param('{"a": 1}\n{"a": "\\ud83d"}', 2, "surrogate", id="surrogate"),
        pytest.param('[\n{"a": "\\udc00"}]', 2, "surrogate", id="in an array"),
        pytest.param('{"a": 1}\n' + 9 * 10**3 * "[", 2, "", id="deep"),
        pytest.param("[" + 9 * 10**4 * "[", 1, "", id="deep array"),
        pytest.param('{"a": 1}\n{"a": ' + 5000 * "1" + "}", 2, "", id="huge number"),
    ],
)
def test_json_that_is_broken_is_found(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = write_file(tmp_path, "a.json", text)
    with pytest.raises(ValueError, match=rf"SP001.*a\.json, line {line},.*{problem}"):
        items(path)


def test_json_array_is_what_json_reads(tmp_path: Path) -> None:
    values = [{"a": [1, {"b": "]"}]}, {"c": '"},{'}]
    path = write_file(tmp_path, "a.json", json.dumps(values, indent=2))
    assert [value for _, value in items(path)] == values
