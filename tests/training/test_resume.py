"""A run that was stopped and resumed is the run that was never stopped."""

import json
import random
import shutil
import warnings
from functools import cache
from pathlib import Path
from typing import Any, Dict, List

import pytest

from spacy_spanner.training.continued import finish_run
from spacy_spanner.training.resume import load_run

from .runs import (
    Outcome,
    assert_same_weights,
    callbacks,
    make_config,
    resume,
    run,
    settings,
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
FREEZE_AT = """freeze]
@callbacks = "test.freeze_at.v1"
step = 5"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


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
    "patience": (settings(max_steps=0, patience=7), (), 23),
    "optimizer that waits": (WAITS, (), 8),
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


@pytest.fixture(scope="module")
def stopped(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is stored at step 10, whose best score is that of step 6."""
    folder = tmp_path_factory.mktemp("stopped")
    run(make_config(corpus, callbacks(stored_in(folder))), folder / "out", stop_at=11)
    assert stored_steps(folder) == ["step-10"]
    return folder


def test_best_model_stays_until_a_better_one_comes(
    stopped: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    shutil.copytree(stopped / "out", output)
    (output / "model-best" / "mark").touch()
    resume(copy_of_run(stopped, tmp_path), output, stop_at=12)
    assert (output / "model-best" / "mark").exists()
    resume(copy_of_run(stopped, tmp_path), output)
    assert not (output / "model-best" / "mark").exists()


def test_resume_warns_when_the_best_model_is_elsewhere(
    stopped: Path, tmp_path: Path
) -> None:
    meta = json.loads((stopped / "out" / "model-best" / "meta.json").read_text("utf8"))
    score = f"{meta['performance']['spans_ents_f']:.4f}"
    with pytest.warns(UserWarning, match=rf"SW110.*step 6.*score {score}"):
        resume(copy_of_run(stopped, tmp_path), tmp_path / "new", stop_at=12)
    assert not (tmp_path / "new" / "model-best").exists()


def test_resume_of_a_run_whose_last_model_is_the_best_saves_it(
    corpus: Path, tmp_path: Path
) -> None:
    config = make_config(corpus, callbacks(stored_in(tmp_path / "run")))
    run(config, tmp_path / "out", stop_at=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        resumed = resume(tmp_path / "run", tmp_path / "new", stop_at=8)
    assert_same_weights(resumed.best, tmp_path / "out" / "model-best")


def test_resume_without_output_writes_nothing(stopped: Path, tmp_path: Path) -> None:
    folder = copy_of_run(stopped, tmp_path)
    assert finish_run(load_run(folder)) == 4
    assert stored_steps(folder) == ["step-13"]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


@pytest.mark.parametrize(
    "overrides",
    [{"training.max_steps": 9}, {"training.max_epochs": 2}, {"training.patience": 3}],
    ids=str,
)
def test_resume_of_a_complete_run_trains_no_step(
    stopped: Path, tmp_path: Path, overrides: Dict[str, Any]
) -> None:
    shutil.copytree(stopped / "out" / "model-best", tmp_path / "out" / "model-best")
    folder, last = copy_of_run(stopped, tmp_path), tmp_path / "out" / "model-last"
    assert finish_run(load_run(folder, overrides=overrides), last.parent) == 0
    assert_same_weights(last, stopped / "step-10" / "pipeline")
    (last / "mark").touch()
    assert finish_run(load_run(folder, overrides=overrides), last.parent) == 0
    assert (last / "mark").exists()


def copy_of_run(folder: Path, tmp_path: Path) -> Path:
    target = tmp_path / "run"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("out"))
    return target


# --------------------------------------------------------------------- errors


def test_resume_where_nothing_is_stored_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP112.*nowhere"):
        load_run(tmp_path / "nowhere")


@pytest.mark.parametrize("setting", ["paths.train", "paths.dev"])
def test_resume_with_changed_data_fails(
    stopped: Path, tmp_path: Path, setting: str
) -> None:
    other = write_corpus(tmp_path / "other.spacy", times=1)
    name = setting.replace("paths", "corpora")
    with pytest.raises(ValueError, match=rf"SP115.*{name}\.path.*other\.spacy"):
        load_run(stopped, overrides={setting: str(other)})


def test_resume_with_missing_data_fails(stopped: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ValueError, match=r"SP115.*train.*missing"):
        load_run(stopped, overrides={"paths.train": missing})


@pytest.mark.parametrize(
    "overrides", [{"training.seed": 1}, {"training.seed": None}], ids=str
)
def test_resume_with_another_order_fails(
    stopped: Path, overrides: Dict[str, Any]
) -> None:
    random.seed(5)
    with pytest.raises(ValueError, match=rf"SP114.*10.*{overrides['training.seed']}"):
        load_run(stopped, overrides=overrides)


def test_resume_with_other_evaluations_fails(stopped: Path) -> None:
    with pytest.raises(ValueError, match=r"SP117.*step 9.*= 4"):
        load_run(stopped, overrides={"training.eval_frequency": 4})


def test_resume_of_a_run_that_drew_from_the_order_fails(
    corpus: Path, tmp_path: Path
) -> None:
    draw = 'draw]\n@callbacks = "test.draw.v1"'
    config = make_config(corpus, callbacks(stored_in(tmp_path / "run"), draw))
    run(config, tmp_path / "out", stop_at=5)
    with pytest.raises(ValueError, match="SP114"):
        load_run(tmp_path / "run")


def test_resume_with_another_model_fails(stopped: Path, tmp_path: Path) -> None:
    folder = copy_of_run(stopped, tmp_path)
    path = folder / "step-10" / "state.json"
    state = json.loads(path.read_text())
    place = sorted(state["records"])[0]
    del state["records"][place]
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"SP113.*1 tensors.*{place}"):
        load_run(folder)


def test_resume_of_a_later_format_fails(stopped: Path, tmp_path: Path) -> None:
    folder = copy_of_run(stopped, tmp_path)
    path = folder / "step-10" / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(ValueError, match=r"SP116.*2.*1"):
        load_run(folder)


# --------------------------------------------------------------------- helpers


def stored_steps(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "out")


@cache
def whole_run(folder: Path, corpus: Path, text: str, further: Any) -> Outcome:
    """Train in one go, without storing anything."""
    config = make_config(corpus, text, callbacks(*further))
    return run(config, folder / f"whole-{whole_run.cache_info().misses}")
