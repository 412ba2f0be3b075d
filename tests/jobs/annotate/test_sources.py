"""Files, folders and globs become a list of files with names and formats."""

import os
from pathlib import Path
from typing import List

import pytest

from spacy_spanner.jobs.annotate.plan import Source, find_sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ["b.txt", "a/x.jsonl", "a/y.ndjson", "a/z.parquet", "c.spacy", "d.txt.gz"]
    others = [".hidden.txt", "readme.md", ".git/x.txt", "c.spacy.gz", "e.csv"]
    for name in names + others:
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf8")
    return tmp_path / "in"


def find(*inputs: object, by_line: bool = False) -> List[Source]:
    given = [str(one) for one in inputs]
    return find_sources(given, by_line=by_line)


def test_folder_is_searched_to_the_bottom(folder: Path) -> None:
    assert [(one.name, one.format) for one in find(folder)] == [
        ("a/x.jsonl", "jsonl"),
        ("a/y.ndjson", "jsonl"),
        ("a/z.parquet", "parquet"),
        ("b.txt", "text"),
        ("c.spacy", "spacy"),
        ("d.txt.gz", "text"),
    ]


def test_glob_finds_what_it_matches(folder: Path) -> None:
    assert [one.name for one in find(folder / "*.txt")] == ["b.txt"]
    assert [one.name for one in find(folder / "**" / "*.jsonl")] == ["x.jsonl"]


def test_file_is_read_once_however_often_it_is_named(folder: Path) -> None:
    found = find(folder / "b.txt", folder / "*.txt", folder)
    assert len(found) == len({one.path for one in found}) == 6


def test_names_of_files_in_two_folders_differ(folder: Path) -> None:
    (folder / "n").mkdir()
    (folder / "n" / "x.jsonl").touch()
    found = find(folder / "a" / "x.jsonl", folder / "n" / "x.jsonl")
    assert [one.name for one in found] == ["a/x.jsonl", "n/x.jsonl"]


def test_relative_input_gives_absolute_paths(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (one,) = find("b.txt")
    assert one.path == folder / "b.txt"
    assert (one.name, one.size) == ("b.txt", 5)
    assert one.changed == os.stat(folder / "b.txt").st_mtime_ns


def test_lines_of_text_may_be_documents(folder: Path) -> None:
    formats = {one.name: one.format for one in find(folder, by_line=True)}
    assert formats["b.txt"] == formats["d.txt.gz"] == "lines"
    assert formats["a/x.jsonl"] == "jsonl"


def test_files_of_any_folder_are_read_where_there_is_no_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert len(find(".")) == len(find(folder)) == 6


def test_output_inside_the_input_is_no_input(folder: Path) -> None:
    found = find_sources([str(folder)], output=folder / "a")
    assert [one.name for one in found] == ["b.txt", "c.spacy", "d.txt.gz"]


def test_output_is_no_input_behind_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    found = find_sources([str(tmp_path / "link")], output=folder / "a")
    assert [one.name for one in found] == ["b.txt", "c.spacy", "d.txt.gz"]
    with pytest.raises(ValueError, match="SP120"):
        find_sources([str(folder)], output=tmp_path / "link")


def test_errors_beside_results_are_no_input(tmp_path: Path) -> None:
    (tmp_path / ".annotate").mkdir()
    for name in ("part-000000.jsonl", "errors.jsonl"):
        (tmp_path / name).touch()
    assert [one.name for one in find(tmp_path)] == ["part-000000.jsonl"]


@pytest.mark.parametrize("name", ["missing.txt", "*.tsv", "readme.md"])
def test_input_without_anything_to_read_is_an_error(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="SP120"):
        find(folder, folder / name)
