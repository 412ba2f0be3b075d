"""The workflow runs on a fresh copy, a second run does nothing, mistakes stop it."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest
import srsly
from thinc.api import Config

from .raw_data import without_checksums, write_dataset

ROOT = Path(__file__).parents[2]
PARTS = ("project.yml", "configs", "scripts", "assets")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for part in PARTS:
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / part)
    return tmp_path


def run(checkout: Path, command: str, *variables: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "spacy", "project", "run", command, str(checkout)]
    return subprocess.run([*words, *variables], capture_output=True, text=True)


def shorten(config: Path, steps: int) -> None:
    settings = Config().from_disk(config, interpolate=False)
    settings["training"].update(max_steps=steps, eval_frequency=steps // 2)
    settings.to_disk(config)


@pytest.mark.slow
def test_workflow_trains_scores_and_reports_once(checkout: Path) -> None:
    shorten(checkout / "configs" / "biaffine_cnn.cfg", steps=200)
    variables = ("--vars.dataset", "demo_zh", "--vars.encoder", "cnn")
    variables += ("--vars.model", "biaffine")
    done = run(checkout, "all", *variables)
    assert done.returncode == 0, done.stdout + done.stderr
    scores = srsly.read_json(checkout / "metrics/demo_zh/cnn/biaffine_cnn.json")
    report = (checkout / "metrics" / "demo_zh_cnn.md").read_text(encoding="utf8")
    assert f"{100 * scores['spans_ents_f']:.1f}" in report
    assert 0 < scores["spans_ents_f"] < 1
    again = run(checkout, "all", *variables)
    for command in ("corpus", "statistics", "train", "evaluate", "report"):
        assert f"Skipping '{command}'" in again.stdout


@pytest.mark.slow
def test_workflow_runs_the_recipe_of_a_paper(
    checkout: Path, tiny_bert: Path, taggers: Dict[str, Path]
) -> None:
    without_checksums(checkout / "project.yml")
    write_dataset("conll03", checkout / "assets")
    variables = ("--vars.recipe", "paper", "--vars.dataset", "conll03")
    variables += ("--vars.model", "locate_label", "--vars.epochs", "1")
    variables += ("--vars.encoder_name", str(tiny_bert))
    variables += ("--vars.vectors", str(taggers["en"]))
    variables += ("--vars.tagger", str(taggers["en"]))
    done = run(checkout, "all", *variables)
    assert done.returncode == 0, done.stdout + done.stderr
    report = (checkout / "metrics" / "conll03_paper.md").read_text(encoding="utf8")
    assert f"| paper | train+dev | {tiny_bert} |" in report
    (folder,) = (checkout / "training" / "conll03" / "paper").iterdir()
    assert folder.name.startswith("locate_label_conll03_train+dev_bert")
    again = run(checkout, "all", *variables)
    for command in ("corpus", "statistics", "train", "evaluate", "report"):
        assert f"Skipping '{command}'" in again.stdout


@pytest.mark.slow
def test_check_assets_of_a_missing_file_fails_with_the_name(checkout: Path) -> None:
    (checkout / "assets" / "demo" / "zh" / "test.txt").unlink()
    done = run(checkout, "check-assets", "--vars.dataset", "demo_zh")
    assert done.returncode == 1
    assert "Missing in assets/demo/zh: test*.txt" in done.stdout


@pytest.mark.slow
def test_corpus_of_an_unknown_dataset_names_those_that_exist(checkout: Path) -> None:
    done = run(checkout, "corpus", "--vars.dataset", "demo_xx")
    assert done.returncode == 1
    assert "demo_zh" in done.stderr


@pytest.mark.slow
def test_corpus_of_a_broken_bracket_points_at_the_line(checkout: Path) -> None:
    path = checkout / "assets" / "demo" / "zh" / "dev.txt"
    text = path.read_text(encoding="utf8")
    path.write_text("[一](ORG\n" + text, encoding="utf8")
    done = run(checkout, "corpus", "--vars.dataset", "demo_zh")
    assert done.returncode == 1
    assert "dev.txt, line 1" in done.stdout + done.stderr
