"""Trainings by two real processes, compared with those by one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import psutil
import pytest
import spacy
from thinc.api import Config

from spacy_spanner.jobs.run.slots import slots_of

from ...runs import Outcome, make_config, run, settings
from ..run.test_resume import BERT, SHARED

pytestmark = pytest.mark.slow

ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
# Sums in another order; AdamW makes steps of 1e-3 also of gradients that nearly vanish.
TOLERANCE = 2e-5
# Equal are only trainings that draw nothing at random; batches of three documents leave
# the last batch of an epoch with one document, so that a process has none.
ALIKE = """
[components.span_biaffine.model]
dropout = 0.0
input_dropout = 0.0

[training]
dropout = 0.0
max_steps = 20
eval_frequency = 5

[training.optimizer]
encoder = 0.001
head = 0.001

[training.batcher]
size = 3
"""
ADAM = {
    "@optimizers": "Adam.v1",
    "learn_rate": 0.001,
    "L2": 0.01,
    "L2_is_weight_decay": True,
    "grad_clip": 1.0,
    "use_averages": False,
}
# The same for all words that a word attends to, so it changes nothing: its gradient is
# zero but for rounding, which Adam makes a step of full size of.
WITHOUT_EFFECT = "attention.self.key.bias"


def command(config: Path, output: Path, *more: object) -> List[str]:
    words = ["-m", "spacy", "spanner", "train-parallel", config, "--n-proc", 2]
    return [sys.executable, *map(str, [*words, "--output", output, *more])]


def write_config(config: Config, path: Path) -> Path:
    config = config.copy()
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config.to_disk(path)
    return path


def weights_of(path: Path) -> Dict[str, np.ndarray]:
    slots = slots_of(spacy.load(path))
    return {slot.place: slot.weights.detach().numpy() for slot in slots}


def assert_close(one: Path, other: Path) -> None:
    ones, others = weights_of(one), weights_of(other)
    assert ones.keys() == others.keys() and ones
    for place in ones:
        if not place.endswith(WITHOUT_EFFECT):
            assert abs(ones[place] - others[place]).max() < TOLERANCE, place


def run_both_ways(config: Config, folder: Path) -> Tuple[Outcome, Path, str]:
    """Train in one process and in two, which must end with the same weights.

    Gives the first training, the folder of the second, and what it printed.
    """
    alone = run(config, folder / "alone")
    path = write_config(config, folder / "config.cfg")
    both = folder / "both"
    done = subprocess.run(
        command(path, both), env=ENV, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert_close(alone.last, both / "model-last")
    return alone, both, done.stdout


TEXTS: Dict[str, str] = {
    "cnn": "",
    "cnn, Adam": "",
    "shared cnn, in parts": SHARED + settings(accumulate_gradient=2),
    "transformer": BERT,
}


@pytest.mark.parametrize("name", TEXTS)
def test_two_processes_learn_what_one_does(
    name: str, corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    config = make_config(corpus, ALIKE, TEXTS[name].replace("{folder}", str(tiny_bert)))
    if name == "cnn, Adam":
        config["training"]["optimizer"] = ADAM
    alone, both, printed = run_both_ways(config, tmp_path)
    assert_close(alone.best, both / "model-best")
    assert "Processes: 2" in printed
    lines = [line.split() for line in printed.splitlines()]
    shown = [words for words in lines if len(words) > 5 and words[1].isdigit()]
    # Losses of all shares, and scores of the first process, as one process shows them.
    assert [int(words[1]) for words in shown] == [row["step"] for row in alone.rows]
    losses = [f"{row['losses']['span_biaffine']:.2f}" for row in alone.rows]
    column = 3 if "shared" in name else 2
    for words, loss in zip(shown, losses):
        assert float(words[column]) == pytest.approx(float(loss), abs=0.02)


def test_new_labels_of_a_trained_component_are_learned_alike(
    corpus: Path, tmp_path: Path
) -> None:
    first = run(make_config(corpus, ALIKE, settings(max_steps=5)), tmp_path / "first")
    nlp = spacy.load(first.last)
    pipe: Any = nlp.get_pipe("span_biaffine")
    pipe.remove_label("ORG")
    pipe.add_label("NEW")
    pipe.add_label("ORG")  # in another place
    pipe.remove_label("GPE")
    nlp.to_disk(tmp_path / "changed")
    config = make_config(corpus, ALIKE)
    config["components"]["span_biaffine"] = {"source": str(tmp_path / "changed")}
    _, both, _ = run_both_ways(config, tmp_path)
    trained: Any = spacy.load(both / "model-last").get_pipe("span_biaffine")
    assert list(trained.head_label_ids) == ["LOC", "PER", "NEW", "ORG"]


def test_patience_ends_all_processes(corpus: Path, tmp_path: Path) -> None:
    text = settings(max_steps=0, patience=6, eval_frequency=3)
    config = make_config(corpus, ALIKE, text)
    alone = run(config, tmp_path / "alone")
    path = write_config(config, tmp_path / "config.cfg")
    both = tmp_path / "both"
    subprocess.run(command(path, both), check=True, env=ENV, timeout=300)
    assert_close(alone.last, both / "model-last")


def test_killed_process_ends_the_others_and_leaves_a_pipeline(
    corpus: Path, tmp_path: Path
) -> None:
    config = make_config(corpus, ALIKE, settings(max_steps=100000, eval_frequency=2))
    path = write_config(config, tmp_path / "config.cfg")
    process = subprocess.Popen(
        command(path, tmp_path / "out"),
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(tmp_path / "out" / "model-best" / "meta.json")
        os.kill(process_of_rank(process.pid, 1), signal.SIGKILL)
        text, _ = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 1
    assert "[SP134] Process 1 of 2 ended by the signal SIGKILL" in one_line(text)
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["model-best", "model-last"]
    for name in left:
        nlp = spacy.load(tmp_path / "out" / name)
        assert nlp("The mayor met Ana Ruiz.").spans["ents"] is not None


def one_line(text: str) -> str:
    return " ".join(text.split())


def wait_for(path: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} is not there after {seconds} seconds"
        time.sleep(0.1)


def process_of_rank(parent: int, rank: int) -> int:
    for child in psutil.Process(parent).children(recursive=True):
        if child.environ().get("RANK") == str(rank):
            return child.pid
    raise AssertionError(f"no process {rank}")


def test_mistakes_of_configs_are_told_by_the_processes(
    corpus: Path, tmp_path: Path
) -> None:
    config = make_config(corpus, ALIKE)
    path = write_config(config, tmp_path / "config.cfg")
    words = command(path, tmp_path / "out", "--components.span_biaffine.threshold", 7)
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=300)
    shown = one_line(done.stdout + done.stderr)
    assert done.returncode == 1
    assert "SP002" in shown and "SP134" in shown and "Traceback" not in shown
