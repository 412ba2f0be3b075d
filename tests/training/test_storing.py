"""What of a run is stored, when, and that a half-written one is never read."""

import random
import shutil
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from thinc.api import fix_random_seed

from spacy_spanner.training import checkpoint as storage
from spacy_spanner.training.checkpoint import last_checkpoint, read_checkpoint
from spacy_spanner.training.digests import data_digests
from spacy_spanner.training.optimizers import AdamW, make_adamw
from spacy_spanner.training.parameters import set_frozen, tensor_keys
from spacy_spanner.training.random_states import (
    random_numbers,
    random_tensors,
    restore_random,
)
from spacy_spanner.training.storing import last_score, make_checkpoint
from spacy_spanner.training.tensor_states import (
    moments_of,
    optimizer_of,
    restore_tensors,
    slots_of,
    tensor_records,
)

from ..helpers import NESTED, blank_pipeline, copy_of, make_examples
from .test_optimizers import weights

NAME = "span_biaffine"


class Loop:
    """Calls callback, update and evaluation as spaCy's training loop does."""

    def __init__(self, eval_frequency: int = 2) -> None:
        self.nlp = blank_pipeline(NAME, spans_key="ents")
        weights = {"one": 0.75, "two": 0.25, "three": None}
        self.nlp.config["training"].update(
            optimizer={"@optimizers": "spacy_spanner.AdamW.v1"},
            eval_frequency=eval_frequency,
            score_weights={**weights, "spans_ents_f": None},
        )
        self.examples = make_examples(self.nlp, NESTED)
        fix_random_seed(0)
        self.nlp.initialize(lambda: self.examples)
        self.optimizer = make_adamw()
        self.step = 0

    def run(self, callback: Any, steps: int) -> None:
        for _ in range(steps):
            callback(self.nlp, {"step": self.step, "epoch": self.step // 4})
            self.nlp.update(self.examples, sgd=self.optimizer)
            self.optimizer.step_schedules()
            scores = {"one": float(self.step), "two": 4.0, "three": {"ORG": 1.0}}
            self.nlp.meta["performance"] = scores
            self.step += 1


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


def test_checkpoint_with_another_optimizer_fails(tmp_path: Path) -> None:
    loop = Loop()
    loop.nlp.config["training"]["optimizer"] = {"@optimizers": "Adam.v1"}
    with pytest.raises(ValueError, match=r"SP110.*AdamW\.v1.*is Adam\.v1"):
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


@pytest.mark.parametrize("moment", ["to_disk", "save", "dumps", "_flush", "rename"])
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


# --------------------------------------------------------------------- digests


def test_digests_are_of_the_files_of_both_corpora(tmp_path: Path) -> None:
    train, dev = tmp_path / "train.spacy", tmp_path / "dev"
    dev.mkdir()
    config = {
        "training": {"train_corpus": "corpora.train", "dev_corpus": "corpora.dev"},
        "corpora": {
            "train": {"@readers": str(train), "path": str(train), "limit": 0},
            "dev": {"path": str(dev), "cache": str(tmp_path / "none")},
            "pretrain": {"path": str(train)},
        },
    }
    seen = []
    for name in ("train.spacy", "dev/a", "dev/b"):
        (tmp_path / name).write_text("x")
        seen.append(data_digests(config))
    assert list(seen[-1]) == ["corpora.train.path", "corpora.dev.path"]
    assert len({digest["corpora.dev.path"] for digest in seen}) == 3
    assert len({digest["corpora.train.path"] for digest in seen}) == 1
    (dev / "b").rename(dev / "c")
    train.write_text("y")
    assert not set(data_digests(config).items()) & set(seen[-1].items())


# --------------------------------------------------------------------- random numbers


def test_every_stream_of_random_numbers_is_restored() -> None:
    nlp = blank_pipeline(NAME)

    def draw() -> List[float]:
        own = nlp.get_pipe(NAME).rng.random()
        drawn = [random.random(), random.gauss(0.0, 1.0), own, torch.rand(1).item()]
        return [*drawn, np.random.random(), np.random.randn()]

    fix_random_seed(3)
    draw()
    numbers, tensors = random_numbers(nlp), random_tensors()
    first = draw()
    assert not set(draw()) & set(first)
    restore_random(nlp, storage.json.loads(storage.json.dumps(numbers)), tensors)
    assert draw() == first


# --------------------------------------------------------------------- tensors


def optimizer() -> AdamW:
    made = make_adamw(encoder=0.01, head=0.01, weight_decay=0.5, frozen_steps=4)
    assert isinstance(made, AdamW)
    return made


def trained_loop(steps: int = 3) -> Loop:
    loop = Loop()
    loop.optimizer = optimizer()
    loop.run(lambda nlp, info: None, steps)
    return loop


def restored_copy(loop: Loop) -> Loop:
    """Write and read all, as another process would."""
    copy = Loop()
    copy.nlp = copy_of(loop.nlp)
    copy.examples = make_examples(copy.nlp, NESTED)
    copy.optimizer = optimizer()
    records = tensor_records(loop.nlp, loop.optimizer)
    moments = moments_of(loop.nlp, loop.optimizer)
    moments = {name: tensor.clone() for name, tensor in moments.items()}
    restore_tensors(copy.nlp, copy.optimizer, records, moments)
    return copy


def take_steps(loop: Loop, steps: int = 3) -> List[torch.Tensor]:
    """Step once without a gradient, then with."""
    pipe = loop.nlp.get_pipe(NAME)
    pipe.finish_update(loop.optimizer)
    for _ in range(steps):
        loop.nlp.update(loop.examples, sgd=loop.optimizer)
    return [weight.detach().clone() for weight in weights(pipe.model).values()]


@pytest.mark.parametrize("part", ["", "encoder", "head"])
def test_restored_optimizer_goes_on_alike(part: str) -> None:
    loop = trained_loop()
    if part:
        set_frozen(loop.nlp.get_pipe(NAME), part, True)
    copy = restored_copy(loop)
    pairs = zip(take_steps(loop), take_steps(copy), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_restored_tensors_know_what_they_knew() -> None:
    loop = trained_loop()
    set_frozen(loop.nlp.get_pipe(NAME), "head", True)
    module = loop.nlp.get_pipe(NAME).model.get_ref("output_layer").shims[0].module
    assert not any(weight.requires_grad for weight in module.parameters())
    copy = restored_copy(loop)
    known = tensor_records(loop.nlp, loop.optimizer)
    assert tensor_records(copy.nlp, copy.optimizer) == known
    assert {record["gradient"] for record in known.values()} == {True, False}
    assert {record["learns"] for record in known.values()} == {True, False}
    assert {record["frozen"] for record in known.values()} == {True, False}
    assert {record["updates"] for record in known.values()} == {3}


def test_places_are_the_same_for_equal_pipelines() -> None:
    one, other = (Loop().nlp for _ in range(2))
    places = [slot.place for slot in slots_of(one)]
    assert places == [slot.place for slot in slots_of(other)]
    assert len(set(places)) == len(places)
    keys = [set(tensor_keys(node)) for node in one.get_pipe(NAME).model.walk()]
    assert {slot.key for slot in slots_of(one)} == set().union(*keys)


def test_optimizer_is_found_by_its_tensors_and_steps() -> None:
    loop, other = trained_loop(2), trained_loop(2)
    assert optimizer_of(blank_pipeline(NAME), 2) is None
    assert optimizer_of(loop.nlp, 2) is loop.optimizer
    assert optimizer_of(other.nlp, 2) is other.optimizer
    used = {}
    for steps in (1, 3, 4):
        loop.optimizer = used[steps] = optimizer()
        loop.run(lambda nlp, info: None, steps)
    assert [optimizer_of(loop.nlp, steps) for steps in used] == [*used.values()]
