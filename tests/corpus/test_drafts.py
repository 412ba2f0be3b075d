"""What is there already is replaced when a conversion is complete, and not before."""

import json
from pathlib import Path

import pytest
import spacy

from spacy_spanner.corpus.conversion import convert_corpus
from spacy_spanner.corpus.options import DocOptions
from spacy_spanner.corpus.records import LostSpans

from .util import docs_and_lost, write_file

NLP = spacy.blank("en")
COLUMNS = "Ann B-PER\nleft O\n\nBob B-PER\nwon O\n"
LINES = "".join(
    json.dumps({"text": text, "spans": [[0, 3, "PER"]]}) + "\n"
    for text in ("Ann left.", "Bob won.")
)


def names(folder: Path) -> list:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name, content", [("a.jsonl", LINES), ("a.conll", COLUMNS)])
def test_a_file_can_be_converted_into_itself(
    tmp_path: Path, name: str, content: str
) -> None:
    path = write_file(tmp_path, name, content)
    summary = convert_corpus(path, path, NLP)
    again = convert_corpus(path, path, NLP)
    assert (summary.documents, summary.spans) == (2, 2)
    assert (again.documents, again.spans) == (2, 2)
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("to", ["brat", "spacy"])
def test_a_folder_can_be_converted_into_itself(tmp_path: Path, to: str) -> None:
    text = "[Ann](PER) left. [Bob](PER) won.\n\n[Eve](PER) slept.\n"
    folder = tmp_path / "out"
    convert_corpus(write_file(tmp_path, "a.txt", text), folder, NLP, to=to)
    options = DocOptions(sentences="rules", split_sentences=True)
    summary = convert_corpus(
        folder, folder, NLP, to=to, doc_options=options, shard_tokens=1
    )
    assert (summary.documents, summary.spans) == (3, 3)
    assert names(tmp_path) == ["a.txt", "out"]
    assert not any(name.startswith(".") for name in names(folder))


@pytest.mark.parametrize("to", ["jsonl", "conll", "brat", "spacy"])
def test_a_conversion_that_fails_leaves_what_was_there(tmp_path: Path, to: str) -> None:
    source = write_file(tmp_path, "in.txt", "Ann B-PER\n\nBob B-PER\n\nleft\n")
    folder, file = tmp_path / "out", "000001.ann" if to == "brat" else "00000.spacy"
    target = folder if to in ("brat", "spacy") else folder / "old"
    old = write_file(folder, file if target == folder else "old", "as it was")
    with pytest.raises(ValueError, match="SP001"):
        convert_corpus(source, target, NLP, format="conll", to=to, shard_tokens=1)
    assert old.read_text("utf8") == "as it was"
    assert names(folder) == [old.name]
    assert names(tmp_path) == ["in.txt", "out"]


@pytest.mark.parametrize("format", ["brat", "conll"])
def test_what_is_left_of_a_killed_conversion_is_not_read(
    tmp_path: Path, format: str
) -> None:
    write_file(tmp_path, ".7.draft/a.ann", "T1\tX 0 3\tAnn\n")
    write_file(tmp_path, ".7.draft/a.txt", "Ann O\n")
    if format == "conll":
        write_file(tmp_path, "b.conll", COLUMNS)
    docs, _ = docs_and_lost(format, tmp_path)
    assert len(docs) == (2 if format == "conll" else 0)


def test_a_folder_is_no_target_for_a_file(tmp_path: Path) -> None:
    source = write_file(tmp_path, "in.jsonl", LINES)
    with pytest.raises(IsADirectoryError):
        convert_corpus(source, tmp_path, NLP, to="jsonl", lost=LostSpans())
