"""Trainings by two real processes, compared with those by one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

import numpy as np
import pytest
import spacy
from thinc.api import Config

from spacy_spanner.training.tensor_states import slots_of

from ..training.runs import make_config, run, settings, write_corpus
from ..training.test_resume import BERT, SCHEDULE, SHARED

pytestmark = pytest.mark.slow

ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
TOLERANCE = 1e-5
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
ADAM = """
[training.optimizer]
@optimizers = "Adam.v1"
learn_rate = 0.001
L2 = 0.01
L2_is_weight_decay = true
grad_clip = 1.0
use_averages = false
"""
CONSOLE = """
[training.logger]
@loggers = "spacy.ConsoleLogger.v1"
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


def command(config: Path, output: Path, *more: object) -> List[str]:
    words = ["-m", "spacy", "spanner", "train-parallel", config, "--n-proc", 2]
    return [sys.executable, *map(str, [*words, "--output", output, *more])]


def write_config(config: Config, path: Path) -> Path:
    config = config.copy()
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config.to_disk(path)
    return path


def weights_of(path: Path) -> Dict[str, np.ndarray]:
    nlp = spacy.load(path)
    return {slot.place: slot.weights.detach().numpy() for slot in slots_of(nlp)}


def farthest(one: Path, other: Path) -> Dict[str, float]:
    ones, others = weights_of(one), weights_of(other)
    assert ones.keys() == others.keys() and ones
    return {place: float(abs(ones[place] - others[place]).max()) for place in ones}


TEXTS: Dict[str, str] = {
    "cnn": "",
    "cnn, Adam": ADAM,
    "shared cnn, in parts": SHARED + settings(accumulate_gradient=2),
    "schedule": SCHEDULE,
    "transformer": BERT,
}


@pytest.mark.parametrize("name", TEXTS)
def test_two_processes_learn_what_one_does(
    name: str, corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    text = TEXTS[name].replace("{folder}", str(tiny_bert))
    config = make_config(corpus, ALIKE, text)
    if name == "cnn, Adam":
        config["training"]["optimizer"].pop("encoder")
        config["training"]["optimizer"].pop("head")
        config["training"]["optimizer"].pop("weight_decay")
    alone = run(config, tmp_path / "alone")
    path = write_config(config, tmp_path / "config.cfg")
    subprocess.run(command(path, tmp_path / "both"), check=True, env=ENV)
    distances = farthest(alone.last, tmp_path / "both" / "model-last")
    print({k: v for k, v in distances.items() if v > 1e-6})
    assert max(distances.values()) < TOLERANCE
