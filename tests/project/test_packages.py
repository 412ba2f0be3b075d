"""The workflow packages trained pipelines, and the example loads them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

import pytest
import srsly

from ..helpers import trained

ROOT = Path(__file__).parents[2]
SCORES = {"spans_ents_p": 0.5, "spans_ents_r": 0.25, "spans_ents_f": 1 / 3}
TEXT = "The US Supreme Court will hear arguments from Leon County."
NAME = "en_span_biaffine_cnn_demo"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which one pipeline is trained and evaluated."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "project.yml", folder)
    for part in ("scripts", "examples"):
        shutil.copytree(ROOT / part, folder / part)
    model = folder / "training" / "demo" / "cnn" / "biaffine_cnn" / "model-best"
    model.parent.mkdir(parents=True)
    trained("span_biaffine").to_disk(model)
    metrics = folder / "metrics" / "demo" / "cnn"
    metrics.mkdir(parents=True)
    srsly.write_json(metrics / "biaffine_cnn.json", SCORES)
    return folder


@pytest.fixture(scope="module")
def packaged(checkout: Path) -> Path:
    """The folder of the package, after `project run package`."""
    words = ("-m", "spacy", "project", "run", "package", checkout)
    done = run(*words, "--vars.encoder", "cnn")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (checkout / "packages" / "demo" / "cnn").iterdir()
    return folder


@pytest.fixture(scope="module")
def site(packaged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("site")
    (wheel,) = packaged.glob("dist/*.whl")
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    done = run(*install, "--target", folder, wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(*words: object, site: Optional[Path] = None) -> subprocess.CompletedProcess:
    paths = [str(ROOT), *([str(site)] if site else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def example(folder: Path, *words: str, site: Optional[Path] = None) -> str:
    """RETURNS: what the example prints; it must end well."""
    done = run(folder / "examples" / "predict.py", *words, site=site)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shown_spans(printed: str) -> List[List[str]]:
    """RETURNS: score, label and text of each span."""
    rows = [line.split(maxsplit=2) for line in printed.splitlines()]
    return [row for row in rows if len(row) == 3 and row[0].startswith(("0.", "1."))]


def expected_spans() -> List[List[str]]:
    doc = trained("span_biaffine")(TEXT)
    group = doc.spans["ents"]
    return [
        [f"{score:.2f}", span.label_, span.text]
        for span, score in zip(group, group.attrs["scores"])
    ]


@pytest.mark.slow
def test_package_has_a_card_that_says_what_it_is(packaged: Path) -> None:
    assert packaged.name.startswith(f"{NAME}-")
    card = (packaged / "README.md").read_text(encoding="utf8")
    assert f'spacy.load("{NAME}")' in card
    assert "not meant for production" in card
    assert "precision 50.0, recall 25.0, F1 33.3" in card


@pytest.mark.slow
def test_example_loads_the_installed_package(site: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    printed = example(tmp_path, TEXT, site=site)
    assert f"Loading {NAME}" in printed
    assert expected_spans()
    assert shown_spans(printed) == expected_spans()


@pytest.mark.slow
def test_example_loads_what_the_workflow_trained(checkout: Path) -> None:
    assert shown_spans(example(checkout, TEXT)) == expected_spans()


def test_example_without_a_pipeline_names_the_commands(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = run(tmp_path / "examples" / "predict.py")
    assert done.returncode == 1
    assert "python -m spacy project run all ." in done.stderr
    assert "python -m spacy project run package ." in done.stderr


def test_package_without_scores_says_so(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "package.py"
    folders = [tmp_path / name for name in ("training", "metrics", "packages")]
    done = run(script, "demo", *folders)
    assert done.returncode == 1
    assert "There are no scores in" in done.stdout


@pytest.mark.parametrize(
    "config, dataset, lang, name",
    [
        ("biaffine_cnn", "demo", "en", NAME),
        ("offset_minilm", "demo_zh", "zh", "zh_span_offset_minilm_demo"),
        ("span_own-config", "wnut17", "en", "en_span_own_config_wnut17"),
    ],
)
def test_package_name(config: str, dataset: str, lang: str, name: str) -> None:
    code = "import package, sys; print(package.package_name(*sys.argv[1:]))"
    words = [sys.executable, "-c", code, config, dataset, lang]
    scripts = ROOT / "scripts"
    done = subprocess.run(words, capture_output=True, text=True, cwd=scripts)
    assert done.stdout.strip() == name
