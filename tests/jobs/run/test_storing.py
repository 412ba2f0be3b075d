"""When a run is stored, and that a half-written one is never read."""

import shutil
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.util import registry
from thinc.api import Optimizer

from spacy_spanner.jobs.run import checkpoint as storage
from spacy_spanner.jobs.run.checkpoint import (
    last_checkpoint,
    last_score,
    make_checkpoint,
    read_checkpoint,
    storing_callbacks,
)
from spacy_spanner.training.callbacks import make_callbacks, make_freeze_encoder

from ...training.loops import Loop


def steps_in(folder: Path) -> List[str]:
    return sorted(path.name for path in folder.iterdir())


# --------------------------------------------------------------------- callback


@pytest.mark.parametrize(
    "every, stored",
    [(1, [1, 1, 3, 3, 5, 5, 7]), (2, [1, 1, 1, 1, 5, 5, 5]), (9, [1] * 7)],
)
def test_checkpoint_is_stored_after_evaluations(
    tmp_path: Path, every: int, stored: List[int]
) -> None:
    loop, callback = Loop(), make_checkpoint(str(tmp_path / "run"), every)
    loop.run(callback, 1)
    assert not (tmp_path / "run").exists()
    for step in stored:
        loop.run(callback, 1)
        assert steps_in(tmp_path / "run") == [f"step-{step}"]


def test_checkpoint_holds_the_place_in_the_run(tmp_path: Path) -> None:
    loop = Loop()
    loop.run(make_checkpoint(str(tmp_path)), 6)
    stored = read_checkpoint(last_checkpoint(tmp_path))
    assert (stored.step, stored.epoch, stored.schedule_steps) == (5, 1, 5)
    assert stored.evaluations == [(1.0, 0), (2.5, 2), (4.0, 4)]


def test_last_score_leaves_out_what_has_no_weight() -> None:
    nlp = spacy.blank("en")
    nlp.config["training"]["score_weights"] = {"one": 0.5, "two": None, "more": 0.5}
    assert last_score(nlp) == 0.0
    nlp.meta["performance"] = {"one": 0.5, "two": {"ORG": 1.0}, "other": 1.0}
    assert last_score(nlp) == 0.25


def test_checkpoint_before_any_update_is_left_out(tmp_path: Path) -> None:
    loop = Loop()
    callback = make_checkpoint(str(tmp_path / "run"))
    for step in (0, 1):
        callback(loop.nlp, {"step": step, "epoch": 0})
    assert not (tmp_path / "run").exists()


def test_checkpoint_of_another_process_writes_nothing(tmp_path: Path) -> None:
    callback = make_checkpoint(str(tmp_path / "run"))
    callback.writes = False
    Loop().run(callback, 4)
    assert not (tmp_path / "run").exists()


def test_checkpoint_is_found_inside_of_joined_callbacks(tmp_path: Path) -> None:
    storing = make_checkpoint(str(tmp_path))
    joined = make_callbacks({"freeze": make_freeze_encoder(), "store": storing})
    outer = make_callbacks({"inner": joined})
    assert [*storing_callbacks(storing)] == [*storing_callbacks(outer)] == [storing]
    assert not [*storing_callbacks(None)]


def test_two_runs_in_one_process_are_apart(tmp_path: Path) -> None:
    loops = [Loop(), Loop()]
    callbacks = [make_checkpoint(str(tmp_path / name)) for name in ("one", "two")]
    for _ in range(4):
        for loop, callback in zip(loops, callbacks):
            loop.run(callback, 1)
    for name in ("one", "two"):
        stored = read_checkpoint(last_checkpoint(tmp_path / name))
        assert stored.evaluations == [(1.0, 0), (2.5, 2)]


class OwnOptimizer(Optimizer):
    """May know more about a tensor than Thinc's optimizers do."""


@registry.optimizers("test.own.v1")
def make_own_optimizer() -> Optimizer:
    return OwnOptimizer(0.001)


def test_checkpoint_with_another_optimizer_fails(tmp_path: Path) -> None:
    loop = Loop()
    loop.nlp.config["training"]["optimizer"] = {"@optimizers": "test.own.v1"}
    with pytest.raises(ValueError, match=r"SP110.*test\.own\.v1.*AdamW\.v1, Adam"):
        loop.run(make_checkpoint(str(tmp_path)), 1)


def test_checkpoint_does_not_replace_another_run(tmp_path: Path) -> None:
    Loop().run(make_checkpoint(str(tmp_path)), 4)
    with pytest.raises(ValueError, match=rf"SP111.*{tmp_path.name}.*step 3"):
        Loop().run(make_checkpoint(str(tmp_path)), 1)
    assert steps_in(tmp_path) == ["step-3"]


@pytest.mark.parametrize("settings", [{"path": ""}, {"path": "run", "every": 0}])
def test_checkpoint_settings_have_limits(settings: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="SP002"):
        make_checkpoint(**settings)


# --------------------------------------------------------------------- writing


@pytest.mark.parametrize(
    "moment", ["to_disk", "save", "dumps", "flush_to_disk", "rename"]
)
def test_interrupted_writing_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    loop, callback = Loop(), make_checkpoint(str(tmp_path))
    loop.run(callback, 2)
    homes = {"to_disk": Language, "save": torch, "dumps": storage.json, "rename": Path}

    def give_up(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(homes.get(moment, storage), moment, give_up)
        with pytest.raises(KeyboardInterrupt):
            loop.run(callback, 2)
    assert steps_in(tmp_path) == ["step-1", "unfinished"]
    assert read_checkpoint(last_checkpoint(tmp_path)).step == 1
    spacy.load(last_checkpoint(tmp_path) / "pipeline")
    loop.step = 4
    loop.run(callback, 2)
    assert steps_in(tmp_path) == ["step-5"]


def test_last_checkpoint_stays_until_the_name_of_the_new_one_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, callback = Loop(), make_checkpoint(str(tmp_path))
    loop.run(callback, 2)

    def give_up(folder: Path) -> None:
        assert folder == tmp_path
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "flush_names", give_up)
    with pytest.raises(KeyboardInterrupt):
        loop.run(callback, 2)
    assert steps_in(tmp_path) == ["step-1", "step-3"]


def test_interrupted_removal_leaves_the_new_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, callback = Loop(), make_checkpoint(str(tmp_path))
    loop.run(callback, 2)

    remove = shutil.rmtree

    def remove_a_part(path: Path, **options: Any) -> None:
        if path.name != "step-1":
            return remove(path, **options)
        (path / "state.json").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.shutil, "rmtree", remove_a_part)
    with pytest.raises(KeyboardInterrupt):
        loop.run(callback, 2)
    assert steps_in(tmp_path) == ["step-1", "step-3"]
    assert read_checkpoint(last_checkpoint(tmp_path)).step == 3


def test_last_checkpoint_counts_in_numbers(tmp_path: Path) -> None:
    for name in ("step-9", "step-10", "unfinished", "step-x"):
        (tmp_path / name).mkdir()
    assert last_checkpoint(tmp_path) == tmp_path / "step-10"
    assert last_checkpoint(tmp_path / "none") is None
