"""The pipelines of a resumed run: the best, the last, or none."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any, Dict

import pytest

from spacy_spanner.jobs.run.resuming import finish_run, load_run

from ...runs import (
    assert_same_weights,
    callbacks,
    copy_of_run,
    make_config,
    resume,
    run,
    stored_in,
    stored_steps,
)

AVERAGES = """
[training.optimizer]
@optimizers = "Adam.v1"
learn_rate = 0.02
use_averages = true
"""


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


@pytest.mark.parametrize("text", ["", AVERAGES])
def test_resume_of_a_run_whose_last_model_is_the_best_saves_it(
    corpus: Path, tmp_path: Path, text: str
) -> None:
    stored = callbacks(stored_in(tmp_path / "run"))
    run(make_config(corpus, stored, text), tmp_path / "out", stop_at=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        resumed = resume(tmp_path / "run", tmp_path / "new", stop_at=8)
    assert_same_weights(resumed.best, tmp_path / "out" / "model-best")


def test_resume_without_output_writes_nothing(stopped: Path, tmp_path: Path) -> None:
    folder = copy_of_run(stopped, tmp_path)
    assert finish_run(load_run(folder)) == 4
    assert stored_steps(folder) == ["step-13"]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_longer_run_that_does_not_evaluate_its_end_warns(stopped: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        load_run(stopped, overrides={"training.max_steps": 15})
    with pytest.warns(UserWarning, match=r"SW071.*= 16 .*= 3: .*at step 15,"):
        load_run(stopped, overrides={"training.max_steps": 16})


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
