"""Runs that cannot be resumed."""

import json
import random
from pathlib import Path
from typing import Any, Dict

import pytest

from spacy_spanner.jobs.run.resuming import load_run

from ...runs import callbacks, copy_of_run, make_config, run, stored_in, write_corpus


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
