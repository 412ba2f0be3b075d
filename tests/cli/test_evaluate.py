"""The command `spanner evaluate`."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import srsly
from markupsafe import escape
from spacy.tokens import DocBin

from spacy_spanner.cli.shell import distinct_names, track
from spacy_spanner.errors import Warnings
from spacy_spanner.errors.install import install_command
from spacy_spanner.evaluation.report.displacy import KIND_NAMES
from spacy_spanner.evaluation.report.figures.scores import kinds_figure

from ..evaluation.test_predicting import ruler, write_corpus
from ..helpers import hear_interruptions, trained
from .helpers import invoke, run


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write_corpus(tmp_path, trained("span_biaffine")))


def test_evaluate_writes_metrics_report_and_figures(
    model: str, data: str, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    printed = run("evaluate", model, data, "-o", output, "--samples", 20)
    assert "model: P 100.0, R 100.0, F 100.0" in printed
    names = {path.name for path in output.iterdir()}
    assert names == {"metrics.json", "errors.json", "report.html", "figures"}
    metrics = srsly.read_json(output / "metrics.json")
    assert metrics["scores"]["f"] == 1.0
    assert metrics["data"]["documents"] == 3
    assert metrics["intervals"]["f"] == [1.0, 1.0]
    assert srsly.read_json(output / "errors.json") == []


def test_evaluate_twice_writes_the_same(model: str, data: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("evaluate", model, data, "-o", tmp_path / name, "--samples", 20)
    for path in (tmp_path / "one").rglob("*.*"):
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes(), path.name


def test_evaluate_compares_two_pipelines(model: str, data: str, tmp_path: Path) -> None:
    other = ruler("ents")
    other.to_disk(tmp_path / "ruler")
    words = ("evaluate", model, data, "-o", tmp_path / "out", "--samples", 20)
    printed = run(*words, "--compare", tmp_path / "ruler")
    assert "ruler: P 100.0, R 16.7" in printed
    shown = r"ruler minus model: F1 -71\.4 \(95 %: -\d.* to .*\), p = [01]\.\d{3}\n"
    assert re.search(shown, printed)
    metrics = srsly.read_json(tmp_path / "out" / "metrics.json")
    assert metrics["comparison"]["names"] == ["model", "ruler"]
    assert metrics["comparison"]["found_by"]["first"] == 5
    assert metrics["other"]["scores"]["f"] < 1
    assert (tmp_path / "out" / "figures" / "comparison.png").exists()


def test_evaluate_compares_only_on_the_same_gold(
    model: str, data: str, tmp_path: Path
) -> None:
    nlp = trained("span_biaffine")
    (docs,) = [list(DocBin().from_disk(data).get_docs(nlp.vocab))]
    for doc in docs:
        doc.spans["other"] = list(doc.spans["ents"])[:1]
    DocBin(docs=docs).to_disk(data)
    ruler("other").to_disk(tmp_path / "ruler")
    words = ("evaluate", model, data, "-o", tmp_path / "out", "--samples", 20)
    assert "SP082" in run(*words, "--compare", tmp_path / "ruler", code=1)


@pytest.mark.slow
def test_evaluate_interrupted_by_the_keyboard_leaves_no_files(
    model: str, data: str, tmp_path: Path
) -> None:
    words = ["-m", "spacy", "spanner", "analyze", "landscape", model, "--train", data]
    words += ["--dev", data, "-o", f"{tmp_path}/out", "--points", "1000001"]
    before = sorted(tmp_path.rglob("*"))
    pipe = subprocess.PIPE
    work = subprocess.Popen(
        [sys.executable, "-u", *words],
        stdout=pipe,
        stderr=pipe,
        preexec_fn=hear_interruptions,
    )
    assert work.stdout is not None
    assert b"Computing losses" in work.stdout.readline()  # it is in the middle of it
    work.send_signal(signal.SIGINT)
    _, errors = work.communicate(timeout=60)
    assert work.returncode != 0
    assert b"Traceback" not in errors
    assert sorted(tmp_path.rglob("*")) == before


def test_evaluate_mistakes_are_messages(model: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert "SP072" in run("evaluate", model, tmp_path / "no", "-o", output, code=1)
    assert "E050" in run("evaluate", "no_model", tmp_path, "-o", output, code=1)
    assert not output.exists()


def test_evaluate_without_output_prints_the_numbers(
    model: str, data: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    printed = run("evaluate", model, data, "--samples", 20)
    assert "model: P 100.0, R 100.0, F 100.0" in printed
    assert re.search(r"GPE +100\.0 +100\.0 +100\.0 +3\n", printed)
    assert "SW151" not in printed
    assert sorted(tmp_path.iterdir()) == before


def test_evaluate_without_matplotlib_writes_what_needs_no_figures(
    model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    printed = run("evaluate", model, data, "-o", tmp_path / "out", "--samples", 20)
    assert "model: P 100.0, R 100.0, F 100.0" in printed
    warning = Warnings.SW151.format(command=install_command("plots"))
    assert warning in " ".join(printed.split())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"metrics.json", "errors.json", "report.html"}
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf8")
    assert escape(warning) in html
    assert "<figure" not in html
    assert f'<th scope="row">{KIND_NAMES["boundary"]}</th><td>0</td>' in html
    assert "SW151" not in run("evaluate", model, data, "--samples", 20)


def test_figures_without_matplotlib_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r'SP074.*pip install "matplotlib'):
        kinds_figure({})


def test_evaluate_stopped_leaves_no_files(
    model: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spacy_spanner.evaluation.report.page.save_figure", stop)
    before = sorted(tmp_path.iterdir())
    done = invoke("evaluate", model, data, "-o", tmp_path / "out")
    assert done.exit_code != 0
    assert sorted(tmp_path.iterdir()) == before


def test_progress_in_a_log_is_plain_lines(capsys: pytest.CaptureFixture) -> None:
    assert list(track(iter("abc"), total=3, what="Reading")) == list("abc")
    printed = capsys.readouterr()
    assert "Reading: 3 done" in printed.out
    assert "\r" not in printed.out + printed.err


def test_progress_on_a_terminal_is_a_bar(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(track(iter("abc"), total=3, what="Reading")) == list("abc")
    printed = capsys.readouterr()
    assert "Reading" in printed.err and "\r" in printed.err


def test_names_tell_models_apart() -> None:
    assert distinct_names(["a/b"]) == ["b"]
    assert distinct_names(["x/a/model-best"]) == ["a/model-best"]
    assert distinct_names(["x/a/model-best", "y/a/model-best"]) == [
        "x/a/model-best",
        "y/a/model-best",
    ]
    assert distinct_names(["a", "a"]) == ["a", "a"]


def test_commands_import_what_is_slow_when_they_run() -> None:
    code = "import spacy_spanner.cli, sys; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "spacy_spanner.cli.evaluate" in done.stdout
    for module in ("matplotlib", "spacy_spanner.pipeline.component"):
        assert f"'{module}'" not in done.stdout
