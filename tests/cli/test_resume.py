"""The command `spanner resume`, and a run that is killed without warning."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest
from spacy.cli import app
from typer.testing import CliRunner

import spacy_spanner.cli  # noqa: F401
from spacy_spanner.jobs.run.checkpoint import last_checkpoint

from ..runs import (
    assert_same_weights,
    callbacks,
    make_config,
    parse_part,
    run,
    settings,
    stored_in,
    write_corpus,
)

# As in `conftest.one_torch_thread`.
ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
CONSOLE = """
[training.logger]
@loggers = "spacy.ConsoleLogger.v1"
progress_bar = false
"""
ADAM = """
[training.optimizer]
@optimizers = "Adam.v1"
learn_rate = 0.01
L2 = 0.01
use_averages = true
"""
PLAIN_STORE = """
[training.before_update]
@callbacks = "spacy_spanner.checkpoint.v1"
path = "{folder}"
every = 1
"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped")
    corpus = write_corpus(folder / "corpus.spacy")
    config = make_config(corpus, CONSOLE, callbacks(stored_in(folder / "run")))
    run(config, folder / "out", stop_at=11)
    return folder


def spanner(*arguments: object) -> tuple:
    result = CliRunner().invoke(app, ["spanner", "resume", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def test_resume_command_prints_and_saves(stopped: Path) -> None:
    output = stopped / "out"
    code, text = spanner(stopped / "run", "--output", output)
    assert code == 0
    assert "Resuming at epoch 2, step 10" in text
    meta = json.loads((output / "model-last" / "meta.json").read_text("utf8"))
    score = f"{100 * meta['performance']['spans_ents_f']:.2f}"
    assert re.search(rf"------ 2 12 \d+\.\d\d {re.escape(score)} ", text)
    assert re.search(r"Saved pipeline to output directory.*model-last", text)
    assert (output / "model-last" / "meta.json").exists()


def test_resume_command_tells_of_a_complete_run(stopped: Path) -> None:
    code, text = spanner(stopped / "run", "--training.max_steps", 9)
    assert (code, "already complete" in text) == (0, True)


def test_resume_command_imports_code(stopped: Path, tmp_path: Path) -> None:
    code_path = tmp_path / "own.py"
    code_path.write_text("raise SystemExit(7)")
    assert spanner(stopped / "run", "--code", code_path)[0] == 7


def test_resume_command_tells_mistakes_without_a_traceback(tmp_path: Path) -> None:
    code, text = spanner(tmp_path / "none")
    assert code == 1
    assert "[SP112]" in text and "Traceback" not in text


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["", ADAM], ids=["AdamW", "Adam"])
def test_killed_training_resumes_to_the_same_weights(
    optimizer: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus.spacy")
    longer = settings(max_steps=40)
    store = PLAIN_STORE.format(folder=tmp_path / "run")
    for name, callback in (("stored", store), ("whole", "")):
        config = make_config(corpus, longer, CONSOLE, optimizer)
        config["training"]["before_update"] = None
        config.merge(parse_part(callback)).to_disk(tmp_path / f"{name}.cfg")
    whole = command("train", tmp_path / "whole.cfg", "-o", tmp_path / "whole")
    subprocess.run(whole, check=True, capture_output=True, env=ENV)
    killed = command("train", tmp_path / "stored.cfg", "-o", tmp_path / "out")
    process = subprocess.Popen(killed, stdout=subprocess.DEVNULL, env=ENV)
    wait_for_step(tmp_path / "run", 10)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    rest = command("spanner", "resume", tmp_path / "run", "-o", tmp_path / "out")
    subprocess.run(rest, check=True, capture_output=True, env=ENV)
    for model in ("model-last", "model-best"):
        assert_same_weights(tmp_path / "out" / model, tmp_path / "whole" / model)


def command(*words: object) -> List[str]:
    return [sys.executable, "-m", "spacy", *map(str, words)]


def wait_for_step(folder: Path, step: int, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stored = last_checkpoint(folder)
        if stored is not None and int(stored.name.rsplit("-", 1)[1]) >= step:
            return
        time.sleep(0.01)
    raise TimeoutError(f"{folder} has no step {step} after {seconds} seconds")
