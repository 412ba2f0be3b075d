"""Tasks of annotation tools can be read back with all nested spans."""

import json
from pathlib import Path
from typing import Any, List

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.tasks import TOOLS, Task, utf16_offsets, write_tasks

from ..helpers import annotate
from .util import spans_of

NLP = spacy.blank("en")


def make_docs() -> List[Doc]:
    """Nested spans, one after a character outside of the basic plane, and none."""
    court = NLP.make_doc("😀 The US Supreme Court met. 😀 Ana Ruiz left.")
    annotate(court, [(1, 5, "ORG"), (2, 3, "GPE"), (8, 10, "PER")])
    court.spans["ents"].attrs["scores"] = [0.9, 0.8, 0.7]
    return [court, annotate(NLP.make_doc("It rained."), [])]


def write(folder: Path, tool: str) -> Path:
    tasks = [Task(doc, {"document": 7, "suspicious": "why"}) for doc in make_docs()]
    return write_tasks(tasks, folder, tool, "ents")


def submit(path: Path) -> None:
    """Turn Label Studio's predictions into annotations, as its users do."""
    rows = json.loads(path.read_text(encoding="utf8"))
    for row in rows:
        row["annotations"] = row.pop("predictions")
    path.write_text(json.dumps(rows), encoding="utf8")


@pytest.mark.parametrize("tool", TOOLS)
def test_tasks_are_read_back_with_nested_spans(tool: str, tmp_path: Path) -> None:
    path = write(tmp_path, tool)
    assert path == tmp_path / TOOLS[tool]
    if tool == "label-studio":
        submit(path)
    back = list(read_docs(path, NLP))
    assert [doc.text for doc in back] == [doc.text for doc in make_docs()]
    assert [spans_of(doc) for doc in back] == [spans_of(doc) for doc in make_docs()]


def test_tasks_show_scores_and_reasons(tmp_path: Path) -> None:
    prodigy, _ = map(json.loads, write(tmp_path, "prodigy").open(encoding="utf8"))
    assert [span["score"] for span in prodigy["spans"]] == [0.9, 0.8, 0.7]
    assert prodigy["meta"] == {"document": 7, "suspicious": "why"}
    studio: Any = json.loads(write(tmp_path, "label-studio").read_text("utf8"))
    results = studio[0]["predictions"][0]["result"]
    assert [result["score"] for result in results] == [0.9, 0.8, 0.7]
    assert results[0]["value"]["start"] == 3  # an emoji counts twice in a browser
    assert len({result["id"] for result in results}) == 3
    assert studio[0]["data"]["suspicious"] == "why"
    doccano, _ = map(json.loads, write(tmp_path, "doccano").open(encoding="utf8"))
    assert doccano["label"][0] == [2, 22, "ORG"]
    assert doccano["document"] == 7


@pytest.mark.parametrize("tool", ["prodigy", "doccano", "brat"])
def test_entities_are_a_draft_and_discontinuous_ones_are_not(
    tool: str, tmp_path: Path
) -> None:
    doc = NLP.make_doc("New York and Boston won.")
    doc.ents = [Span(doc, 0, 2, "GPE"), Span(doc, 3, 4, "GPE")]
    doc.spans["ents_discontinuous"] = [Span(doc, 0, 1, "X", span_id="T1")]
    path = write_tasks([Task(doc, {})], tmp_path, tool, "ents")
    (back,) = read_docs(path, NLP)
    assert spans_of(back) == [(0, 2, "GPE"), (3, 4, "GPE")]
    assert "ents" not in doc.spans and "ents_discontinuous" in doc.spans


def test_utf16_offset_counts_as_browsers_do() -> None:
    text = "a😀b"
    units = [len(text[:end].encode("utf-16-le")) // 2 for end in range(4)]
    assert utf16_offsets(text).tolist() == units


def test_unknown_tool_and_broken_label_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP062.*prodigy"):
        write(tmp_path, "paper")
    doc = annotate(NLP.make_doc("It rained."), [(0, 1, "two words")])
    with pytest.raises(ValueError, match="SP059"):
        write_tasks([Task(doc, {})], tmp_path, "brat", "ents")
    assert list(tmp_path.iterdir()) == []
