"""The commands `spanner analyze …` that train."""

import re
from pathlib import Path
from typing import List

import pytest
import srsly

from spacy_spanner.jobs.search import one_trial
from spacy_spanner.jobs.search.trials import Plan
from spacy_spanner.preflight.config_text import write_config
from spacy_spanner.preflight.starter_config import Wishes, build_config

from ..runs import write_corpus
from .helpers import run

NAME = "span_biaffine"


def make_plan(folder: Path, model: str) -> Plan:
    text = write_config(build_config(Wishes(model)), "x")
    (folder / "config.cfg").write_text(text, encoding="utf8")
    return Plan(folder / "config.cfg", {}, write_corpus(folder / "data.spacy"))


def words_of(plan: Plan, output: Path) -> List[object]:
    words: List[object] = [plan.config, "-o", output]
    for name in ("train", "dev"):
        words += [f"--paths.{name}", plan.test]
    return [*words, "--training.max_steps", "1", "--training.eval_frequency", "1"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return make_plan(tmp_path_factory.mktemp("plan"), "biaffine")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*SW003")  # the first documents lack labels
def test_commands_write_data_and_figures(plan: Plan, tmp_path: Path) -> None:
    words = words_of(plan, tmp_path)
    vary = f"components.{NAME}.label_smoothing=0.0,0.1"
    printed = run("analyze", "training", *words, "--vary", vary)
    row = r"\nlabel_smoothing = 0\.1 +1 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ "
    assert re.search(row, printed)
    where = ("--vary", vary, "--test", plan.test)
    printed = run("analyze", "calibration", *words, *where)
    assert re.search(r"\nlabel_smoothing = 0\.1 +[\d.]+ +[\d.-]+\n", printed)
    printed = run("analyze", "seeds", *words, "--seeds", "0,1")
    assert "f: " in printed and "±" in printed
    printed = run("analyze", "sizes", *words, "--vary", vary)
    assert re.search(r"\n12\.5%, label_smoothing = 0\.1 +[\d.]+\n", printed)
    names = {"training", "calibration", "seeds", "sizes"}
    expected = {f"{name}.{end}" for name in names for end in ("json", "png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == expected | {"trials"}
    for run_of in srsly.read_json(tmp_path / "training.json"):
        first = run_of["history"][0]
        # Train and dev are the same documents here.
        assert first["train_loss"] == pytest.approx(first["loss"], rel=1e-4)
        assert first["smoothed_loss"] != pytest.approx(first["loss"], rel=1e-4)
    calibration = srsly.read_json(tmp_path / "calibration.json")
    assert [row["name"] for row in calibration][1] == "label_smoothing = 0.1"
    assert all("reliability" in row for row in calibration)
    assert len(srsly.read_json(tmp_path / "seeds.json")["runs"]) == 2
    assert len(srsly.read_json(tmp_path / "sizes.json")["summary"]) == 10


def test_setting_is_chosen_by_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    offset = make_plan(tmp_path / "a", "offset")
    run("analyze", "training", *words_of(offset, tmp_path / "out"))
    names = [row["name"] for row in srsly.read_json(tmp_path / "out" / "training.json")]
    assert names == ["boundary_smoothing = 0.0", "boundary_smoothing = 0.1"]

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(one_trial, "train_variant", fail)
    run("analyze", "training", *words_of(offset, tmp_path / "out"))


def test_setting_that_the_model_does_not_have_is_a_message(tmp_path: Path) -> None:
    words = words_of(make_plan(tmp_path, "locate_label"), tmp_path / "out")
    told = run("analyze", "training", *words, code=1)
    assert "SP141" in told and "soft_nms" in told
    told = run("analyze", "training", *words, "--vary", "components.x.y=1", code=1)
    assert "SP136" in told
    assert not (tmp_path / "out").exists()
