"""One training: recorded without being disturbed, and finished by its result."""

import io
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_spanner.evaluation.landscape import mean_loss, prepare_examples
from spacy_spanner.jobs.search import one_trial
from spacy_spanner.jobs.search.one_trial import (
    count_documents,
    read_dev,
    train_variant,
)
from spacy_spanner.jobs.search.search import run_variants
from spacy_spanner.jobs.search.trials import Plan, opened_trials
from spacy_spanner.jobs.search.variants import Variant, sweep
from spacy_spanner.preflight.config_text import write_config
from spacy_spanner.preflight.starter_config import Wishes, build_config

from ...helpers import NESTED, make_examples

NAME = "span_biaffine"
QUICK = {"training.max_steps": 20, "training.eval_frequency": 5}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("plan")
    docs = [eg.reference for eg in make_examples(spacy.blank("en"), NESTED)] * 4
    DocBin(docs=docs).to_disk(folder / "data.spacy")
    text = write_config(build_config(Wishes("biaffine")), "x")
    (folder / "config.cfg").write_text(text, encoding="utf8")
    data = str(folder / "data.spacy")
    paths = {"paths.train": data, "paths.dev": data}
    return Plan(folder / "config.cfg", {**paths, **QUICK}, folder / "data.spacy")


def test_record_of_a_training_is_that_of_spacy(plan: Plan) -> None:
    """Looking at the loss draws no random number and changes no weight."""
    found = train_variant(plan, Variant("one", {}))
    assert [row["step"] for row in found["history"]] == [0, 5, 10, 15, 20]
    config = load_config(plan.config, overrides=plan.overrides, interpolate=True)
    log = io.StringIO()
    train(init_nlp(config), stdout=log, stderr=io.StringIO())
    rows = [line.split() for line in log.getvalue().splitlines()]
    shown = [row[-1] for row in rows if row and row[0].isdigit()]
    assert shown == [f"{row['f']:.2f}" for row in found["history"]]
    losses = [row["loss"] for row in found["history"]]
    assert losses[-1] < losses[0] / 2
    best = max(row["f"] for row in found["history"])
    assert found["scores"]["dev"]["f"] == pytest.approx(best)
    assert found["scores"]["test"] == found["scores"]["dev"]
    assert found["seconds"] > 0


def test_moving_averages_are_kept_and_measured(plan: Plan, tmp_path: Path) -> None:
    config = load_config(plan.config, interpolate=False)
    config["training"]["optimizer"] = {
        "@optimizers": "spacy_spanner.AdamW.v1",
        "encoder": 0.02,
        "head": 0.02,
        "use_averages": True,
        "average_decay": 0.9,
    }
    config.to_disk(tmp_path / "averaged.cfg")
    averaged = plan._replace(config=tmp_path / "averaged.cfg", curves=True)
    kept = tmp_path / "kept"
    found = train_variant(averaged, Variant("one", {}), keep=kept)
    nlp = spacy.load(kept)
    dev = read_dev(nlp)
    highest = max(row["f"] for row in found["history"])
    best = [row for row in found["history"] if row["f"] == highest][-1]
    assert found["scores"]["dev"]["f"] == highest
    assert nlp.evaluate(dev)["spans_ents_f"] == highest
    loss = mean_loss(nlp.get_pipe(NAME), prepare_examples(nlp, NAME, dev))
    assert best["loss"] == pytest.approx(loss)
    assert best["train_loss"] == pytest.approx(loss)  # both read the same documents


def test_variants_differ_by_their_overrides(plan: Plan, tmp_path: Path) -> None:
    setting = f"components.{NAME}.boundary_smoothing"
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 5})
    runs = run_variants(short, sweep(setting, [0.0, 0.3]), tmp_path)
    names = ["boundary_smoothing = 0.0", "boundary_smoothing = 0.3"]
    assert [one["name"] for one in runs] == names
    assert runs[0]["history"][-1]["loss"] != runs[1]["history"][-1]["loss"]


def test_variant_with_changes_after_training(plan: Plan) -> None:
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 1})
    later = {"all": {"threshold": 0.0}, "none": {"threshold": 1.0}}
    found = train_variant(short, Variant("one", {}, later))
    assert found["later"]["all"]["test"]["r"] > 0
    assert found["later"]["none"]["test"]["p"] == 0.0
    # The first change does not last.
    assert train_variant(short, Variant("one", {}))["scores"] == found["scores"]


def test_documents_are_counted(plan: Plan) -> None:
    assert count_documents(plan) == 12  # those without tokens are none


def test_stopped_variants_go_on(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is finished is not trained again, under whatever name."""
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 1})
    setting = f"components.{NAME}.boundary_smoothing"
    variants = sweep(setting, [0.0, 0.1, 0.3])
    trained: List[str] = []

    def train(plan: Plan, variant: Variant, **options: Any) -> Dict[str, Any]:
        if len(trained) == 1:
            trained.append("stopped")
            raise KeyboardInterrupt
        trained.append(variant.name)
        return train_variant(plan, variant, **options)

    monkeypatch.setattr(one_trial, "train_variant", train)
    with pytest.raises(KeyboardInterrupt):
        run_variants(short, variants, tmp_path)
    runs = run_variants(short, variants, tmp_path)
    names = [variant.name for variant in variants]
    assert trained == [names[0], "stopped", *names[1:]]
    assert [run["name"] for run in runs] == names
    assert all(run["scores"]["test"] for run in runs)
    again = run_variants(short, [Variant("renamed", {setting: 0.1})], tmp_path)
    assert again == [{**runs[1], "name": "renamed"}]
    other = short._replace(test=None)
    assert "test" not in run_variants(other, variants[:1], tmp_path)[0]["scores"]
    assert len(trained) == 5
    assert not list(tmp_path.rglob("model"))


def test_account_read_again_is_the_same(plan: Plan, tmp_path: Path) -> None:
    """Every digit: means are computed from what is on the disk."""
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 5})
    (read,) = run_variants(short, [Variant("one", {})], tmp_path)
    made = train_variant(short, Variant("one", {}))
    assert {**read, "seconds": 0} == {**made, "seconds": 0}


def test_same_training_twice_is_trained_once(plan: Plan, tmp_path: Path) -> None:
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 1})
    runs = run_variants(short, [Variant("a", {}), Variant("b", {})], tmp_path)
    assert [run["name"] for run in runs] == ["a", "b"]
    assert runs[0]["seconds"] == runs[1]["seconds"]


def test_folder_is_for_one_search_at_a_time(plan: Plan, tmp_path: Path) -> None:
    refused = pytest.raises(ValueError, match=r"\[SP125\]")
    with opened_trials(plan, [Variant("a", {})], tmp_path), refused:
        run_variants(plan, [Variant("b", {})], tmp_path)
