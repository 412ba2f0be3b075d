"""A run that was stopped and resumed is the run that was never stopped."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any, Dict

import pytest

from ...runs import (
    Outcome,
    assert_same_weights,
    callbacks,
    make_config,
    resume,
    run,
    settings,
    stored_in,
    stored_steps,
)

SCHEDULE = """
[training.optimizer.encoder]
@schedules = "warmup_linear.v1"
warmup_steps = 8
total_steps = 30
initial_rate = 0.02
"""
WAITS = """
[training.optimizer]
frozen_steps = 9
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
# As our configs with a CNN write it, with a schedule.
ADAM = """
[training.optimizer]
@optimizers = "{name}"
beta1 = 0.9
beta2 = 0.999
L2_is_weight_decay = true
L2 = 0.01
grad_clip = 1.0
use_averages = {averages}
eps = 0.00000001

[training.optimizer.learn_rate]
@schedules = "warmup_linear.v1"
warmup_steps = 8
total_steps = 30
initial_rate = 0.02
"""
AUGMENTED = """
[corpora.dev.augmenter]
@augmenters = "spacy.lower_case.v1"
level = 0.3
"""
FREEZE_AT = """freeze]
@callbacks = "test.freeze_at.v1"
step = 5"""


def freeze(steps: int) -> str:
    name = "spacy_spanner.freeze_encoder.v1"
    return f'freeze]\n@callbacks = "{name}"\nsteps = {steps}'


# What the run does besides, its callbacks, and where it is stopped. Stored are the
# steps 1, 4, 7, 10 and 13; an epoch has 5 steps.
VARIANTS: Dict[str, Any] = {
    "constant": ("", (), 9),
    "right after it was stored": ("", (), 7),
    "before the second evaluation": ("", (), 3),
    "shared, in parts": (SHARED + settings(accumulate_gradient=2), (), 8),
    "schedule, thawed later": (SCHEDULE, (freeze(9),), 8),
    "thawed when stored": ("", (freeze(7),), 8),
    "frozen for good": ("", (FREEZE_AT,), 8),
    "epochs": (settings(max_steps=0, max_epochs=3), (), 12),
    "next is a new epoch": (settings(eval_frequency=4), (), 6),
    "streamed": (settings(max_epochs=-1), (), 8),
    "patience": (settings(max_steps=0, patience=7), (), 17),
    "optimizer that waits": (WAITS, (), 8),
    "Adam": (ADAM.format(name="Adam.v1", averages="false"), (), 8),
    "Adam, stopped at its best": (ADAM.format(name="Adam.v1", averages="true"), (), 4),
    "Adam, averages": (ADAM.format(name="Adam.v1", averages="true"), (), 9),
    "RAdam, shared": (ADAM.format(name="RAdam.v1", averages="true") + SHARED, (), 8),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_resumed_run_equals_the_whole(name: str, corpus: Path, tmp_path: Path) -> None:
    text, further, stop_at = VARIANTS[name]
    assert_resumed_equals_whole(tmp_path, corpus, text, further, stop_at)


def test_resumed_run_of_a_transformer_equals_the_whole(
    corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    text = BERT.format(folder=tiny_bert)
    assert_resumed_equals_whole(tmp_path, corpus, text, (), 8)


def assert_resumed_equals_whole(
    tmp_path: Path, corpus: Path, text: str, further: Any, stop_at: int
) -> None:
    """Resume with nothing from the first run but its folder."""
    stored = callbacks(stored_in(tmp_path / "run"), *further)
    stopped = run(make_config(corpus, text, stored), tmp_path / "out", stop_at)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    whole = whole_run(tmp_path.parent, corpus, text, further)
    first = [row for row in stopped.rows if row["step"] < resumed.rows[0]["step"]]
    assert [*first, *resumed.rows] == whole.rows
    assert_same_weights(resumed.last, whole.last)
    assert_same_weights(resumed.best, whole.best)


def test_resumed_run_can_be_resumed(corpus: Path, tmp_path: Path) -> None:
    config = make_config(corpus, callbacks(stored_in(tmp_path / "run", every=2)))
    first = run(config, tmp_path / "out", stop_at=8)
    assert stored_steps(tmp_path / "run") == ["step-7"]
    second = resume(tmp_path / "run", tmp_path / "out", stop_at=11)
    assert stored_steps(tmp_path / "run") == ["step-7"]
    third = resume(tmp_path / "run", tmp_path / "out", stop_at=13)
    assert stored_steps(tmp_path / "run") == ["step-13"]
    fourth = resume(tmp_path / "run", tmp_path / "out", **{"training.max_steps": 18})
    assert [[row["step"] for row in part.rows] for part in (first, second, third)] == [
        [0, 3, 6],
        [9],
        [9, 12],
    ]
    longer = whole_run(tmp_path.parent, corpus, settings(max_steps=18), ())
    assert [*first.rows, *third.rows, *fourth.rows] == longer.rows
    assert_same_weights(fourth.last, longer.last)
    assert_same_weights(fourth.best, longer.best)


def test_resumed_run_draws_alike_in_evaluations(corpus: Path, tmp_path: Path) -> None:
    """An augmenter draws from Python's `random`, which also shuffles the data."""
    stored = callbacks(stored_in(tmp_path / "run"))
    run(make_config(corpus, stored, AUGMENTED), tmp_path / "out", stop_at=9)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    stored = callbacks(stored_in(tmp_path / "other"))
    whole = run(make_config(corpus, stored, AUGMENTED), tmp_path / "whole")
    assert resumed.rows == whole.rows[-len(resumed.rows) :]
    assert_same_weights(resumed.last, whole.last)


def test_resumed_run_stores_where_it_came_from(corpus: Path, tmp_path: Path) -> None:
    config = make_config(corpus, callbacks(stored_in(tmp_path / "run")))
    run(config, tmp_path / "out", stop_at=5)
    (tmp_path / "run").rename(tmp_path / "moved")
    resume(tmp_path / "moved", tmp_path / "out")
    assert stored_steps(tmp_path / "moved") == ["step-13"]
    assert not (tmp_path / "run").exists()


def test_resume_takes_data_that_has_moved(corpus: Path, tmp_path: Path) -> None:
    here, moved = tmp_path / "here.spacy", tmp_path / "moved.spacy"
    shutil.copy(corpus, here)
    config = make_config(here, callbacks(stored_in(tmp_path / "run")))
    run(config, tmp_path / "out", stop_at=8)
    here.rename(moved)
    places = {"paths.train": str(moved), "paths.dev": str(moved)}
    resumed = resume(tmp_path / "run", tmp_path / "out", **places)
    whole = whole_run(tmp_path.parent, corpus, "", ())
    assert_same_weights(resumed.last, whole.last)


@cache
def whole_run(folder: Path, corpus: Path, text: str, further: Any) -> Outcome:
    """Train in one go, without storing anything."""
    config = make_config(corpus, text, callbacks(*further))
    return run(config, folder / f"whole-{whole_run.cache_info().misses}")
