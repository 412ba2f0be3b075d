"""Trainings with variations: recorded without being disturbed, and summed up."""

import io
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_spanner.jobs.search.experiments import (
    Plan,
    count_documents,
    run_variants,
    train_variant,
)
from spacy_spanner.jobs.search.summaries import (
    best_part,
    by_name,
    seed_variants,
    size_variants,
    summarize,
)
from spacy_spanner.jobs.search.variants import Variant, sweep
from spacy_spanner.preflight.comments import write_config
from spacy_spanner.preflight.starter_config import Wishes, build_config

from ...cli.helpers import run
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


def test_variants_differ_by_their_overrides(plan: Plan) -> None:
    setting = f"components.{NAME}.boundary_smoothing"
    short = plan._replace(overrides={**plan.overrides, "training.max_steps": 5})
    runs = run_variants(short, sweep(setting, [0.0, 0.3]))
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


def run_of(f: Any, part: str = "test", name: str = "x") -> Dict[str, Any]:
    scores = {"p": f, "r": f, "f": f, "macro_f": f, "ece": None}
    return {"name": name, "scores": {"dev": {**scores, "f": 0.1}, part: scores}}


def test_summary_by_hand() -> None:
    found = summarize([run_of(0.5), run_of(0.7)])
    assert found["f"]["mean"] == pytest.approx(0.6)
    assert found["f"]["sd"] == pytest.approx(0.02**0.5)
    assert found["ece"] == {"mean": None, "sd": None}
    assert summarize([run_of(0.5)])["f"] == {"mean": 0.5, "sd": None}
    assert summarize([])["f"]["mean"] is None
    assert best_part(run_of(0.5, "dev"))["f"] == 0.5


def test_lengths_are_joined_by_hand() -> None:
    # Found 1 of 2 and 3 of 4 gold spans, 4 of 8 predicted are right: 2 · 4 / (6 + 8).
    one = {"p": 1.0, "r": 0.5, "gold": 2, "predicted": 1}
    four = {"p": 3 / 7, "r": 0.75, "gold": 4, "predicted": 7}
    long = {"p": 0.0, "r": None, "gold": 0, "predicted": 3}
    lengths = {"1": one, "4": four, "10+": long}
    found = best_part({"scores": {"dev": {"by_length": lengths}}})
    assert found["1-4"] == pytest.approx(8 / 14)
    assert found["5-9"] is None
    assert found["10+"] == 0.0


def test_groups_by_name() -> None:
    runs: List[Dict[str, Any]] = [run_of(1, name=name) for name in "aba"]
    sizes = {name: len(group) for name, group in by_name(runs).items()}
    assert sizes == {"a": 2, "b": 1}


def test_variants_of_seeds_and_sizes() -> None:
    assert seed_variants([3])[0][:2] == ("seed 3", {"system.seed": 3})
    sizes = size_variants(16, [0, 1])
    limits = [variant.overrides["corpora.train.limit"] for variant in sizes]
    assert limits == [2, 2, 4, 4, 8, 8, 12, 12, 16, 16]
    assert [variant.name for variant in sizes][::4] == ["12.5%", "50.0%", "100.0%"]
    assert size_variants(1, [0])[0].overrides["corpora.train.limit"] == 1


def test_documents_are_counted(plan: Plan) -> None:
    assert count_documents(plan) == 12  # those without tokens are none


def test_commands_write_data_and_figures(plan: Plan, tmp_path: Path) -> None:
    words: List[object] = [plan.config, "-o", tmp_path]
    for name in ("train", "dev"):
        words += [f"--paths.{name}", plan.test]
    words += ["--training.max_steps", "1", "--training.eval_frequency", "1"]
    vary = f"components.{NAME}.label_smoothing=0.0,0.1"
    run("analyze", "training", *words, "--vary", vary)
    run("analyze", "calibration", *words, "--vary", vary, "--test", plan.test)
    printed = run("analyze", "seeds", *words, "--seeds", "0,1")
    assert "f: " in printed and "±" in printed
    run("analyze", "sizes", *words)
    names = {"training", "calibration", "seeds", "sizes"}
    expected = {f"{name}.{end}" for name in names for end in ("json", "png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    assert len(srsly.read_json(tmp_path / "training.json")) == 2
    calibration = srsly.read_json(tmp_path / "calibration.json")
    assert [row["name"] for row in calibration][1] == "label_smoothing = 0.1"
    assert all("reliability" in row for row in calibration)
    assert len(srsly.read_json(tmp_path / "seeds.json")["runs"]) == 2
    assert len(srsly.read_json(tmp_path / "sizes.json")["summary"]) == 5
