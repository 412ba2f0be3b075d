"""The command `spanner agreement`."""

import csv
import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_spanner.cli.agreement import version_names

from ..helpers import NESTED, annotate, texts
from .helpers import invoke, run

COURT, BOSTON, RAIN = texts(NESTED)[:3]
ROWS: Dict[str, List[Any]] = {
    "a": [
        (COURT, [(0, 20, "ORG"), (4, 6, "GPE"), (46, 57, "GPE")]),
        (BOSTON, [(13, 19, "GPE")]),
        (RAIN, []),
    ],
    "b": [
        (RAIN, []),
        (BOSTON, [(13, 19, "PER"), (24, 32, "PER")]),
        (COURT, [(0, 20, "ORG"), (46, 57, "GPE")]),
    ],
}


def write(folder: Path, name: str, rows: List[Any]) -> Path:
    path = folder / f"{name}.jsonl"
    names = ("start", "end", "label")
    lines = [
        {"text": text, "spans": [dict(zip(names, span)) for span in spans]}
        for text, spans in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf8")
    return path


@pytest.fixture
def versions(tmp_path: Path) -> List[Path]:
    return [write(tmp_path, name, rows) for name, rows in ROWS.items()]


def test_scores_are_printed_and_written(versions: List[Path], tmp_path: Path) -> None:
    output = tmp_path / "out"
    printed = run("agreement", *versions, "-o", output, "--samples", 50)
    assert "3 documents. Spans: a.jsonl 4, b.jsonl 4" in printed
    assert "kappa and alpha are only given by label" in printed
    names = {path.name for path in output.iterdir()}
    stem = "agreement"
    assert names == {f"{stem}.json", f"{stem}.csv", f"{stem}.html", "documents.csv"}
    found = json.loads((output / "agreement.json").read_text("utf8"))
    assert found["labels"] == ["GPE", "ORG", "PER"] and found["overlapping"]
    strict = {
        (one["first"], one["label"]): one["value"]
        for one in found["scores"]
        if one["measure"] == "strict"
    }
    assert strict["(all)", "(all)"] == strict["a.jsonl", "(all)"] == 0.5
    assert strict["(all)", "ORG"] == 1 and strict["(all)", "PER"] == 0
    with (output / "agreement.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(found["scores"])
    row = next(r for r in table if r["measure"] == "strict" and r["label"] == "(all)")
    assert row["value"] == "0.5" and 0 <= float(row["low"]) <= float(row["high"])
    empty = [r for r in table if r["measure"] == "kappa" and r["label"] == "(all)"]
    assert [r["value"] for r in empty] == [""] * 2
    with (output / "documents.csv").open(encoding="utf-8-sig", newline="") as file:
        docs = list(csv.DictReader(file))
    assert [doc["not_shared"] for doc in docs] == ["1", "3", "0"]
    assert [doc["spans of a.jsonl"] for doc in docs] == ["3", "1", "0"]
    assert docs[2]["strict"] == "" and docs[2]["text"] == RAIN


def test_page_shows_all_versions(versions: List[Path], tmp_path: Path) -> None:
    output = tmp_path / "out"
    run("agreement", *versions, versions[0], "-o", output, "--samples", 5)
    page = (output / "agreement.html").read_text("utf8")
    assert page.count("<li data-kinds=") == 2
    for name in ("a.jsonl (1)", "b.jsonl", "a.jsonl (2)"):
        assert page.count(f"<dt>{name}</dt>") == 2
    assert "GPE: same boundaries, different labels" in page
    assert "PER: only in some versions" in page
    assert "ORG: in all versions" in page


def test_formats_may_differ(versions: List[Path], tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    docs = [annotate(nlp.make_doc(text), spans, "mine") for text, spans in NESTED[:3]]
    path = tmp_path / "docs.spacy"
    DocBin(docs=docs).to_disk(path)
    words = ("agreement", versions[0], path, "--spans-key", "mine", "--samples", 5)
    assert "docs.spacy 6" in run(*words)


def test_versions_of_other_texts(versions: List[Path], tmp_path: Path) -> None:
    other = write(tmp_path, "c", [(COURT, []), ("Something else.", [])])
    shown = " ".join(run("agreement", *versions, other, code=1).split())
    assert "[SP230] a.jsonl and c.jsonl" in shown
    assert "c.jsonl lacks 2" in shown and "a.jsonl lacks 1 ('Something else.')" in shown
    printed = run("agreement", *versions, other, "--common", "--samples", 5)
    assert "1 document." in printed
    alone = write(tmp_path, "d", [("Nobody has this.", [])])
    assert "SP232" in run("agreement", versions[0], alone, "--common", code=1)
    assert "SP231" in run("agreement", versions[0], code=1)


def test_a_text_that_occurs_twice_is_compared_in_order(tmp_path: Path) -> None:
    gpe = [(13, 19, "GPE")]
    one = write(tmp_path, "one", [(BOSTON, gpe), (BOSTON, [])])
    two = write(tmp_path, "two", [(BOSTON, gpe), (BOSTON, [])])
    lines = run("agreement", one, two, "--samples", 5).splitlines()
    (strict,) = (line for line in lines if line.startswith("strict"))
    assert "1.000" in strict
    assert "SP230" in run(
        "agreement", one, write(tmp_path, "three", [(BOSTON, gpe)]), code=1
    )


def test_spans_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    one = write(tmp_path, "one", [(BOSTON, [(13, 19, "GPE"), (40, 99, "PER")])])
    two = write(tmp_path, "two", [(BOSTON, [(13, 19, "GPE")])])
    with pytest.warns(UserWarning, match="SW230.*1 spans.*PER"):
        invoke("agreement", one, two, "--samples", "5")


def test_boundaries_inside_tokens_are_compared(tmp_path: Path) -> None:
    one = write(tmp_path, "one", [(BOSTON, [(13, 18, "GPE")])])
    two = write(tmp_path, "two", [(BOSTON, [(13, 19, "GPE")])])
    lines = run("agreement", one, two, "--samples", 5).splitlines()
    values = {line.split()[0]: line for line in lines if line.strip()}
    assert "0.000" in values["strict"] and "1.000" in values["overlap"]


def test_names_of_versions() -> None:
    assert version_names([Path("x/a"), Path("x/b")]) == ["a", "b"]
    assert version_names([Path("x/a"), Path("y/a")]) == ["x/a", "y/a"]
    assert version_names([Path("x/a"), Path("x/a")]) == ["a (1)", "a (2)"]
