"""Trainings of a search share a config, so they cannot share its checkpoints."""

from pathlib import Path

from spacy_spanner.jobs.search.one_trial import train_variant
from spacy_spanner.jobs.search.trials import Plan
from spacy_spanner.jobs.search.variants import seed_variants

from ...runs import make_config, write_corpus
from .helpers import SHORT

CHECKPOINT = """
[training.before_update]
@callbacks = "spacy_spanner.checkpoint.v1"
path = "unused"
"""


def test_trainings_of_a_search_write_no_checkpoints(tmp_path: Path) -> None:
    config = make_config(write_corpus(tmp_path / "corpus.spacy"), SHORT, CHECKPOINT)
    folder = tmp_path / "checkpoint"
    config["training"]["before_update"]["path"] = str(folder)
    config.to_disk(tmp_path / "config.cfg")
    plan = Plan(tmp_path / "config.cfg", {})
    for variant in seed_variants([0, 1]):
        assert train_variant(plan, variant)["history"]
    assert not folder.exists()
