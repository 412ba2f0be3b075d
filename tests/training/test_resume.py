"""A run that was stopped and resumed is the run that was never stopped."""

from pathlib import Path
from typing import Any, Dict

import pytest

from .runs import (
    assert_same_weights,
    callbacks,
    make_config,
    resume,
    run,
    stored_in,
    write_corpus,
)

SCHEDULE = """
[training.optimizer.encoder]
@schedules = "warmup_linear.v1"
warmup_steps = 8
total_steps = 30
initial_rate = 0.02
"""
SHARED = """
[nlp]
pipeline = ["sentencizer","tok2vec","span_biaffine"]

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 32
depth = 1
embed_size = 200
window_size = 1
maxout_pieces = 2
subword_features = true

[components.span_biaffine.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 32
upstream = "*"
"""
BERT = """
[components.span_biaffine.model.tok2vec]
@architectures = "spacy_spanner.Transformer.v1"
name = "{folder}"
"""
FREEZE = """freeze]
@callbacks = "spacy_spanner.freeze_encoder.v1"
steps = {steps}"""
FREEZE_AT = """freeze]
@callbacks = "test.freeze_at.v1"
step = {step}"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


def settings(**values: Any) -> str:
    lines = [f"{name} = {value}" for name, value in values.items()]
    return "\n".join(["[training]", *lines])


# What the run does besides, its callbacks, and where it is stopped.
VARIANTS: Dict[str, Any] = {
    "cnn": ("", (), 13),
    "right after it is stored": ("", (), 11),
    "before the second evaluation": ("", (), 4),
    "shared encoder": (SHARED, (), 13),
    "gradients in parts": (settings(accumulate_gradient=2), (), 13),
    "schedule": (SCHEDULE, (), 18),
    "epochs": (settings(max_steps=0, max_epochs=4), (), 13),
    "first batch of an epoch": (settings(eval_frequency=4, max_steps=14), (), 12),
    "streamed": (settings(max_epochs=-1), (), 13),
    "frozen now": ("", (FREEZE.format(steps=12),), 13),
    "thawed at the stored step": ("", (FREEZE.format(steps=11),), 13),
    "frozen for good": ("", (FREEZE_AT.format(step=7),), 13),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_resumed_run_equals_the_whole(name: str, corpus: Path, tmp_path: Path) -> None:
    text, further, stop_at = VARIANTS[name]
    assert_resumed_equals_whole(tmp_path, corpus, text, further, stop_at)


def assert_resumed_equals_whole(
    tmp_path: Path, corpus: Path, text: str, further: Any, stop_at: int
) -> None:
    folder = tmp_path / "run"
    config = make_config(corpus, text, callbacks(stored_in(folder), *further))
    whole = run(make_config(corpus, text, callbacks(*further)), tmp_path / "whole")
    stopped = run(config, tmp_path / "out", stop_at=stop_at)
    resumed = resume(folder, tmp_path / "out")
    assert len(resumed.rows) > 0
    assert [*stopped.rows, *resumed.rows] == whole.rows
    assert_same_weights(resumed.last, whole.last)
    assert_same_weights(resumed.best, whole.best)
    assert resumed.best.meta["performance"] == whole.best.meta["performance"]
