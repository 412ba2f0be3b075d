"""The commands `spanner analyze …` on trained pipelines."""

from pathlib import Path

import srsly

from ..evaluation.test_predicting import write_corpus
from ..helpers import trained
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


def test_analysis_mistakes_are_messages(tmp_path: Path) -> None:
    nlp = trained("span_biaffine")
    nlp.to_disk(tmp_path / "model")
    data = write_corpus(tmp_path, nlp)
    words = ("analyze", "grid", tmp_path / "model", data, "-o", tmp_path / "out")
    assert "SP081" in run(*words, "--rows", "x", "--columns", "y=1", code=1)
    assert "SP080" in run(*words, "--rows", "x=1", "--columns", "y=1", code=1)
    assert not (tmp_path / "out").exists()
