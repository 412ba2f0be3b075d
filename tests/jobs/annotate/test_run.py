"""A run can be stopped anywhere and goes on: every document exactly once."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List

import pytest

from spacy_spanner.jobs.annotate import output as output_module
from spacy_spanner.jobs.annotate.messages import Fields, Report
from spacy_spanner.jobs.annotate.output import STATE
from spacy_spanner.jobs.annotate.pool import run_here
from spacy_spanner.jobs.annotate.run import prepared

from ...helpers import scored_spans, trained
from .helpers import (
    annotate,
    assert_same_results,
    contents,
    lines,
    numbered,
    request,
    results,
    write_rows,
)
from .trouble import DEADLY, POISON

N_TEXTS = 40


@dataclass
class Setup:
    """A corpus with two poisoned documents and a broken line, and its results."""

    model: Path
    corpus: Path
    whole: Path
    reports: List[Report]


@pytest.fixture(scope="module")
def setup(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    folder = tmp_path_factory.mktemp("corpus")
    texts = numbered(N_TEXTS, {3: POISON, 20: POISON})
    write_rows(folder / "in" / "a.jsonl", texts[:25])
    path = write_rows(folder / "in" / "b.jsonl", texts[25:])
    path.write_text(path.read_text("utf8") + "{\n", encoding="utf8")
    reports = annotate(request(model, folder / "in", folder / "out"))
    return Setup(model, folder / "in", folder / "out", reports)


def test_every_document_is_annotated_or_told(setup: Setup) -> None:
    rows = results(setup.whole)
    ids = [f"a.jsonl:{n}" for n in range(1, 26) if n not in (4, 21)]
    assert [row["id"] for row in rows] == ids + [f"b.jsonl:{n}" for n in range(1, 16)]
    errors = lines(setup.whole / "errors.jsonl")
    assert [row["id"] for row in errors] == ["a.jsonl:4", "a.jsonl:21", "b.jsonl:16"]
    assert errors[0]["reason"] == "ArithmeticError: a poisoned document"
    assert "SP001" in errors[2]["reason"]


def test_results_are_those_of_the_pipeline(setup: Setup) -> None:
    rows = results(setup.whole)
    docs = trained("span_biaffine").pipe([row["text"] for row in rows])
    assert any(row["spans"] for row in rows)
    for row, doc in zip(rows, docs):
        found = [
            (s["token_start"], s["token_end"] + 1, s["label"]) for s in row["spans"]
        ]
        assert found == [span[:3] for span in scored_spans(doc)]
        scores = [span["score"] for span in row["spans"]]
        expected = [span[3] for span in scored_spans(doc)]
        assert scores == pytest.approx(expected, abs=1e-5)


def test_reports_count_what_was_written(setup: Setup) -> None:
    rows = results(setup.whole)
    assert len(setup.reports) == len(list(setup.whole.glob("part-*"))) > 3
    assert sum(report.documents for report in setup.reports) == len(rows)
    assert sum(report.failed for report in setup.reports) == 3
    n_spans = sum(len(row["spans"]) for row in rows)
    assert sum(report.spans for report in setup.reports) == n_spans
    n_words = sum(len(doc) for doc in trained("span_biaffine").pipe(
        [row["text"] for row in rows]
    ))  # fmt: skip
    assert sum(report.words for report in setup.reports) == n_words
    size = sum(path.stat().st_size for path in setup.corpus.iterdir())
    assert sum(report.size for report in setup.reports) == size


@pytest.mark.parametrize("limit", [1, 3])
def test_run_that_was_stopped_goes_on(setup: Setup, tmp_path: Path, limit: int) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)
    assert len(annotate(asked, limit=limit)) == limit
    assert len(list(tmp_path.glob("part-*"))) == limit
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("part-*")}
    rest = annotate(asked)
    assert len(rest) == len(setup.reports) - limit
    assert contents(tmp_path) == contents(setup.whole)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    assert annotate(asked) == []
    assert contents(tmp_path) == contents(setup.whole)


@pytest.mark.parametrize("lost", ["shard", "report", "torn"])
def test_part_without_file_or_report_is_done_again(
    setup: Setup, tmp_path: Path, lost: str
) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)
    annotate(asked)
    report = tmp_path / STATE / "finished" / "000001.json"
    if lost == "torn":
        report.write_text("{", encoding="utf8")
    else:
        (report if lost == "report" else tmp_path / "part-000001.jsonl").unlink()
    assert [one.part for one in annotate(asked)] == [1]
    assert contents(tmp_path) == contents(setup.whole)


@pytest.mark.parametrize("moment", ["replace", "write_text", "write_json"])
def test_death_between_two_files_loses_nothing(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    place: Any = os if moment == "replace" else output_module
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(place, moment, die)
        annotate(asked)
    assert not list((tmp_path / STATE).glob("drafts/*"))
    annotate(asked)
    assert contents(tmp_path) == contents(setup.whole)


def test_remains_of_a_killed_run_are_removed(setup: Setup, tmp_path: Path) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)
    annotate(asked, limit=1)
    (tmp_path / STATE / "drafts").mkdir()
    (tmp_path / STATE / "drafts" / "000002-x").write_text("half", encoding="utf8")
    journal = tmp_path / STATE / "attempts" / "000002"
    journal.parent.mkdir()
    journal.write_text("begun\n0\nbegun\n1\n", encoding="utf8")
    annotate(asked)
    assert contents(tmp_path) == contents(setup.whole)
    assert not (tmp_path / STATE / "drafts").exists()
    assert not journal.exists()


def test_document_that_killed_two_runs_is_left_out(
    setup: Setup, tmp_path: Path
) -> None:
    # It would kill this process, if it were worked on.
    corpus = write_rows(tmp_path / "a.jsonl", numbered(3, {1: DEADLY}))
    asked = request(setup.model, corpus, tmp_path / "out")
    journal = tmp_path / "out" / STATE / "attempts" / "000000"
    journal.parent.mkdir(parents=True)
    journal.write_text("begun\n0\n1\nbegun\n0\n1\n", encoding="utf8")
    annotate(asked)
    assert [row["id"] for row in results(tmp_path / "out")] == [
        "a.jsonl:1",
        "a.jsonl:3",
    ]
    (error,) = lines(tmp_path / "out" / "errors.jsonl")
    assert error["id"] == "a.jsonl:2"
    assert "SW120" in error["reason"]


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"format": "spacy"}, "format"),
        ({"fields": Fields(id="key")}, "id-field"),
        ({"with_text": False}, "text"),
        ({"part_size": 7}, "part-size"),
    ],
)
def test_results_of_another_request_are_not_mixed(
    setup: Setup, tmp_path: Path, changes: Any, told: str
) -> None:
    annotate(request(setup.model, setup.corpus, tmp_path), limit=1)
    before = contents(tmp_path)
    asked = request(setup.model, setup.corpus, tmp_path, **changes)
    with pytest.raises(ValueError, match=rf"SP124.*{told}.*--force"):
        annotate(asked)
    assert contents(tmp_path) == before
    annotate(asked, force=True)
    suffix = changes.get("format", "jsonl")
    assert {path.suffix for path in tmp_path.glob("part-*")} == {f".{suffix}"}


def test_other_input_or_model_is_another_run(setup: Setup, tmp_path: Path) -> None:
    shutil.copytree(setup.model, tmp_path / "model")
    shutil.copytree(setup.corpus, tmp_path / "in")
    asked = request(tmp_path / "model", tmp_path / "in", tmp_path / "out")
    annotate(asked, limit=1)
    (tmp_path / "model" / "__pycache__").mkdir()
    (tmp_path / "model" / "__pycache__" / "x.pyc").touch()
    annotate(asked, limit=1)
    meta = json.loads((tmp_path / "model" / "meta.json").read_text("utf8"))
    meta["version"] = "9.9.9"
    (tmp_path / "model" / "meta.json").write_text(json.dumps(meta), encoding="utf8")
    with pytest.raises(ValueError, match=r"SP124.*another model\."):
        annotate(asked)
    annotate(asked, force=True)
    write_rows(tmp_path / "in" / "c.jsonl", ["More."])
    with pytest.raises(ValueError, match=r"SP124.*another input\."):
        annotate(asked)


def test_folder_with_other_things_is_left_alone(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf8")
    asked = request(setup.model, setup.corpus, tmp_path)
    with pytest.raises(ValueError, match="SP070"):
        annotate(asked)
    annotate(asked, force=True)
    assert (tmp_path / "notes.txt").read_text("utf8") == "mine"


def test_two_runs_do_not_write_to_one_folder(setup: Setup, tmp_path: Path) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)
    with prepared(asked), pytest.raises(ValueError, match="SP125"), prepared(asked):
        pass
    annotate(asked)


def test_wrong_field_stops_before_the_work(setup: Setup, tmp_path: Path) -> None:
    asked = request(setup.model, setup.corpus, tmp_path, fields=Fields("body"))
    with pytest.raises(ValueError, match="SP121"):
        annotate(asked)
    annotate(request(setup.model, setup.corpus, tmp_path))  # and leaves no traces


def test_input_that_vanishes_stops_the_work(setup: Setup, tmp_path: Path) -> None:
    corpus = tmp_path / "in"
    shutil.copytree(setup.corpus, corpus)
    with prepared(request(setup.model, corpus, tmp_path / "out")) as run:
        (corpus / "a.jsonl").unlink()
        report = next(run_here(run.job, run.parts))
        assert "FileNotFoundError" in report.problem
    shutil.copytree(setup.corpus, corpus, dirs_exist_ok=True)


def test_fault_of_the_machine_names_what_is_done(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(setup.model, setup.corpus, tmp_path)
    annotate(asked, limit=2)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        total = len(setup.reports)
        with pytest.raises(ValueError, match=rf"SP127.*No space.*2 of {total} parts"):
            annotate(asked)
    annotate(asked)
    assert contents(tmp_path) == contents(setup.whole)


def test_parquet_out_of_jsonl_and_back(setup: Setup, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    annotate(request(setup.model, setup.corpus, tmp_path / "a", format="parquet"))
    fields = Fields(id="id")
    asked = request(setup.model, tmp_path / "a", tmp_path / "b", fields=fields)
    annotate(asked)
    assert_same_results(tmp_path / "b", setup.whole)


def test_spacy_out_of_jsonl_and_back(setup: Setup, tmp_path: Path) -> None:
    annotate(request(setup.model, setup.corpus, tmp_path / "a", format="spacy"))
    fields = Fields(id="id")
    asked = request(setup.model, tmp_path / "a", tmp_path / "b", fields=fields)
    annotate(asked)
    assert_same_results(tmp_path / "b", setup.whole)


def test_corpus_of_empty_files_has_empty_results(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    assert annotate(request(setup.model, tmp_path / "a.jsonl", tmp_path / "out")) == []
    assert contents(tmp_path / "out") == {"errors.jsonl": b""}
