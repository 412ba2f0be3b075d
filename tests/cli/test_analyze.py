"""The commands `spanner analyze …` on trained pipelines."""

import re
import sys
from pathlib import Path

import pytest
import srsly

from ..evaluation.test_predicting import write_corpus
from ..helpers import trained, trained_copy
from .helpers import run


def test_analyses_of_trained_pipelines(tmp_path: Path) -> None:
    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "model")
    model, data = tmp_path / "model", write_corpus(tmp_path, nlp)
    out = tmp_path / "out"
    parts = ("--train", data, "--dev", data)
    run("analyze", "landscape", model, *parts, "-o", out, "--points", 3)
    run("analyze", "lengths", model, model, "-d", data, "-o", out)
    run("analyze", "offsets", model, data, "-o", out, "--limit", 2)
    axes = ("--rows", "threshold=0.3,0.5", "--columns", "overlap=flat,any")
    run("analyze", "grid", model, data, "-o", out, *axes)
    names = {"landscape", "lengths", "offsets", "grid"}
    expected = {f"{name}.{end}" for name in names for end in ("json", "png", "svg")}
    assert {path.name for path in out.iterdir()} == expected
    landscape = srsly.read_json(out / "landscape.json")
    assert list(landscape["losses"]) == ["train", "dev"]
    assert len(landscape["positions"]) == 3
    offsets = srsly.read_json(out / "offsets.json")
    assert offsets["counts"][2] == [0, 0, 6, 0, 0]
    assert srsly.read_json(out / "grid.json")["f"][0][1] == 1.0


def test_analyses_of_models_and_their_errors(tmp_path: Path) -> None:
    nlp = trained("span_biaffine")
    data = write_corpus(tmp_path, nlp)
    nlp.to_disk(tmp_path / "good")
    worse = trained_copy("span_biaffine")
    worse.get_pipe("span_biaffine").cfg["threshold"] = 1.0  # type: ignore[attr-defined]
    worse.to_disk(tmp_path / "worse")
    out, models = tmp_path / "out", (tmp_path / "good", tmp_path / "worse")
    printed = run("analyze", "costs", *models, "-d", data, "-o", out)
    assert re.search(r"\ngood +[\d,]+ +[\d,]+ +0 +100\.0 +[\d,]+\n", printed)
    printed = run("analyze", "cases", *models, "-d", data, "-o", out, "--limit", 1)
    assert re.search(r"\n.*\(ORG\) +yes +[\d.]+ +-!\n", printed), printed
    (case,) = srsly.read_json(out / "cases.json")
    assert all(span["gold"] and "good" in span["scores"] for span in case["spans"])
    printed = run("analyze", "cases", models[0], "-d", data)
    assert "no errors" in printed
    told = run("analyze", "classes", models[0], data, "-o", out, code=1)
    assert "SP093" in told and "span_offset" in told
    names = {"costs.json", "costs.png", "costs.svg", "cases.json"}
    assert {path.name for path in out.iterdir()} == names


def test_classes_of_offsets(tmp_path: Path) -> None:
    nlp = trained("span_offset")
    nlp.to_disk(tmp_path / "model")
    data = write_corpus(tmp_path, nlp)
    out = tmp_path / "out"
    printed = run("analyze", "classes", tmp_path / "model", data, "-o", out)
    assert re.search(r"\n0 +[\d.]+ +[\d.]+ +[\d.]+ +6\n", printed)
    assert re.search(r"\nall +[\d.]+ +[\d.]+ +[\d.]+ +\d+\n", printed)
    assert {path.suffix for path in out.iterdir()} == {".json", ".png", ".svg"}


def test_analyses_without_matplotlib_print_and_write_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "model")
    model, data = tmp_path / "model", write_corpus(tmp_path, nlp)
    parts = ("--train", data, "--dev", data)
    printed = run("analyze", "landscape", model, *parts, "--points", 3)
    assert re.search(r"position +train +dev\n", printed)
    assert re.search(r"[\d,]+ parameters are moved\. [\d,]+\s+stay as trained", printed)
    assert re.search(r"\n-1\.00 +[\d.e+]+ +[\d.e+]+\n", printed)
    printed = run("analyze", "lengths", model, "-d", data)
    assert re.search(r"tokens +model\n", printed)
    assert re.search(r"\n1 +100\.0\n", printed)
    axes = ("--rows", "threshold=0.3,0.5", "--columns", "overlap=flat,any")
    printed = run("analyze", "grid", model, data, *axes)
    assert re.search(r"\n0\.3 +any +100\.0 +[\d,]+\n", printed)
    assert {path.name for path in tmp_path.iterdir()} == {"model", data.name}
    printed = run("analyze", "offsets", model, data, "-o", tmp_path / "out")
    assert re.search(r"\n0 +0 +0 +0 +6 +0 +0 +0\n", printed)
    assert "SW151" in printed and "pip install" in printed
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["offsets.json"]


def test_analysis_mistakes_are_messages(tmp_path: Path) -> None:
    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "model")
    data = write_corpus(tmp_path, nlp)
    words = ("analyze", "grid", tmp_path / "model", data, "-o", tmp_path / "out")
    assert "SP081" in run(*words, "--rows", "x", "--columns", "y=1", code=1)
    assert "SP080" in run(*words, "--rows", "x=1", "--columns", "y=1", code=1)
    assert not (tmp_path / "out").exists()
