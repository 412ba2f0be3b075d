"""Rows of Hugging Face datasets, in files, in folders and in memory."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import spacy

from spacy_spanner.corpus.conversion import convert_corpus
from spacy_spanner.corpus.formats.dataset_rows import read_rows
from spacy_spanner.corpus.options import ReadOptions
from spacy_spanner.corpus.text_files import JsonItem

from .util import read_all, write_file

NLP = spacy.blank("en")
ROW = {"id": "0", "tokens": ["US", "Court", "won"], "ner_tags": [1, 2, 0]}
NAMES = ["O", "B-ORG", "I-ORG"]
FEATURES = {"ner_tags": {"feature": {"names": NAMES, "_type": "ClassLabel"}}}


def save(tmp_path: Path, *rows: Any) -> Path:
    return write_file(tmp_path, "rows.jsonl", "\n".join(map(json.dumps, rows)))


def test_read_of_numbers_with_given_names(tmp_path: Path) -> None:
    reading = read_all("rows", save(tmp_path, ROW), label_names=tuple(NAMES))
    assert reading.mentions == [(0, 2, "ORG")]


def test_read_of_numbers_with_a_description_beside(tmp_path: Path) -> None:
    write_file(tmp_path, "dataset_info.json", json.dumps({"features": FEATURES}))
    reading = read_all("rows", save(tmp_path, ROW))
    assert reading.mentions == [(0, 2, "ORG")]
    assert "features" in reading.notes[0]


def test_read_of_tags(tmp_path: Path) -> None:
    row = {"words": ["US", "won"], "labels": ["S-GPE", "O"]}
    assert read_all("rows", save(tmp_path, row)).mentions == [(0, 1, "GPE")]


def test_read_of_an_empty_row_is_an_empty_document(tmp_path: Path) -> None:
    path = save(tmp_path, ROW, {"tokens": [], "ner_tags": []}, ROW)
    names = ReadOptions(label_names=tuple(NAMES))
    summary = convert_corpus(path, tmp_path / "o", NLP, read_options=names)
    assert (summary.documents, summary.spans, summary.empty) == (2, 2, 1)


def test_read_of_numbers_without_names_asks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP060.*rows\.jsonl, line 1.*--label-names"):
        read_all("rows", save(tmp_path, ROW))


def test_read_of_a_folder_without_the_package_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ValueError, match="SP058"):
        read_all("rows", tmp_path)


def test_read_of_a_folder_takes_rows_and_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dataset(list):
        features = SimpleNamespace(to_dict=lambda: FEATURES)

    install(monkeypatch, lambda path: Dataset([ROW]))
    assert read_all("rows", tmp_path).mentions == [(0, 2, "ORG")]


def test_read_of_a_folder_of_several_parts_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda path: {"train": [], "test": []})
    with pytest.raises(ValueError, match=r"SP001.*train, test.*name the folder"):
        read_all("rows", tmp_path)


def test_read_of_a_folder_that_cannot_be_loaded_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str) -> None:
        raise FileNotFoundError("no state")

    install(monkeypatch, broken)
    with pytest.raises(ValueError, match=r"SP001.*not a saved dataset: no state"):
        read_all("rows", tmp_path)


def install(monkeypatch: pytest.MonkeyPatch, load_from_disk: Any) -> None:
    """Put something in the place of the package."""
    module = ModuleType("datasets")
    module.load_from_disk = load_from_disk  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_read_rows_of_a_dataset_in_memory() -> None:
    (record,) = read_rows([JsonItem(5, ROW)], NAMES)
    assert record.words == ROW["tokens"]
    assert [(m[:3], m.line) for m in record.mentions or ()] == [((0, 2, "ORG"), 5)]


@pytest.mark.parametrize(
    "row, problem",
    [
        pytest.param([1], "not a JSON object", id="list"),
        pytest.param({"ner_tags": [0]}, "no tokens", id="no tokens"),
        pytest.param({"tokens": [""], "ner_tags": [0]}, "no tokens", id="empty token"),
        pytest.param({"tokens": ["a"]}, "no tag", id="no tags"),
        pytest.param({"tokens": ["a"], "ner_tags": []}, "no tag", id="too few tags"),
        pytest.param({"tokens": [], "ner_tags": [0]}, "no tag", id="too many tags"),
        pytest.param(
            {"tokens": ["a"], "ner_tags": ["I-ORG|U-GPE"]}, "several tags", id="joined"
        ),
        pytest.param({"tokens": ["a"], "ner_tags": [9]}, "number 9", id="number"),
        pytest.param({"tokens": ["a"], "ner_tags": ["X"]}, "not a tag", id="tag"),
        pytest.param({"tokens": ["a"], "ner_tags": [None]}, "not a tag", id="null"),
    ],
)
def test_read_of_a_broken_row_names_the_line(
    tmp_path: Path, row: Any, problem: str
) -> None:
    path = save(tmp_path, ROW, row)
    with pytest.raises(ValueError, match=rf"SP001.*line 2,.*{problem}"):
        read_all("rows", path, label_names=tuple(NAMES))
