"""Runs of the configs of this project, on tiny encoders, can be resumed."""

from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.util import load_config
from thinc.api import Config

from spacy_spanner.jobs.run.slots import slots_of

from ...project.test_configs import tiny_encoders
from ...runs import SMALL_BATCHES, STOP, parse_part, resume, run, stored_in

CONFIGS = sorted((Path(__file__).parents[3] / "configs").glob("*.cfg"))
SHORT = """
[training]
max_steps = 6
eval_frequency = 2
dropout = 0.2

{batches}
[training.before_update]
@callbacks = "spacy_spanner.callbacks.v1"

[training.before_update.callbacks.{stop}
[training.before_update.callbacks.{store}
"""


def short_config(path: Path, corpus: Path, encoder: Path, folder: Path) -> Any:
    """Make a config that stores its run in a folder, without large weights."""
    overrides = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    overrides.update(tiny_encoders(load_config(path), encoder))
    config: Config = load_config(path, overrides=overrides)
    config["training"]["before_update"] = {}
    text = SHORT.format(batches=SMALL_BATCHES, stop=STOP, store=stored_in(folder))
    return config.merge(parse_part(text))


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_resumed_run_of_a_config_equals_the_whole(
    path: Path, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    whole_config = short_config(path, corpus, tiny_bert, tmp_path / "run-of-whole")
    whole = run(whole_config, tmp_path / "whole")
    config = short_config(path, corpus, tiny_bert, tmp_path / "run")
    stopped = run(config, tmp_path / "out", stop_at=4)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    assert [row["step"] for row in resumed.rows] == [4, 6]
    assert [*stopped.rows, *resumed.rows] == whole.rows
    # Not the bytes: spacy-transformers stores the path that an encoder came from.
    assert_equal_tensors(resumed.last, whole.last)
    assert_equal_tensors(resumed.best, whole.best)


def assert_equal_tensors(one: Path, other: Path) -> None:
    slots = [list(slots_of(spacy.load(path))) for path in (one, other)]
    assert len(slots[0]) > 5
    for mine, theirs in zip(*slots, strict=True):
        assert mine.place == theirs.place
        assert torch.equal(mine.weights, theirs.weights), mine.place
