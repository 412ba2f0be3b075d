"""The docs are correct: examples run, named files exist, generated parts match."""

import contextlib
import io
import json
import re
import subprocess
import sys
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from typing import List

import pytest
import yaml
from spacy.cli import app
from spacy.util import fix_random_seed, load_config
from typer.testing import CliRunner

import spacy_spanner.cli  # noqa: F401

from ..helpers import FACTORIES
from ..runs import CONFIG, parse_part, run, write_corpus

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "spacy_spanner"
README = (ROOT / "README.md").read_text(encoding="utf8")
TRAINING = (ROOT / "docs" / "training.md").read_text(encoding="utf8")
RECIPES = re.findall(r"```ini\n(.*?)```", TRAINING, flags=re.DOTALL)
MODEL_FILES = ("codec.py", "module.py", "register.py")


def blocks(language: str) -> List[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_readme_can_be_read_in_one_go() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    assert lines.index("```python") < lines.index("## Why")


def test_quick_start_prints_what_the_readme_shows() -> None:
    (code,), (shown, *_) = blocks("python"), blocks("text")
    fix_random_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_readme_has_the_requirements_of_the_package() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    versions = re.findall(r":: (3\.\d+)$", config["metadata"]["classifiers"], re.M)
    assert f"Python {versions[0]} to {versions[-1]} ·" in README
    for name in ("spacy", "torch"):
        least = re.search(
            rf"^{name}>=([\d.]+?)(\.0)?,", config["options"]["install_requires"], re.M
        )
        assert least and f" {least[1]} and later" in README


@pytest.mark.parametrize("name", ["package.md", "index.md"])
def test_page_has_the_quick_start_of_the_readme(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf8")
    assert blocks("python")[0] in page
    assert blocks("text")[0] in page


def test_pages_name_the_extras_that_exist() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    extras = set(config["options.extras_require"])
    for name, left_out in (("install.md", set()), ("package.md", {"dev", "docs"})):
        page = (ROOT / "docs" / name).read_text(encoding="utf8")
        table = page.split("| extra | adds |")[1]
        named = re.findall(r"^\| `(\w+)` \|", table.split("\n\n")[0], re.MULTILINE)
        assert set(named) == extras - left_out, name


def test_commands_install_only_what_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf8")
        # No index has this package, so that its name installs nothing.
        assert not re.search(r"pip install[^\n]*spacy-spanner(?!\.)\b", text), page.name


TOP_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*TOP_PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that are made when the site is built; test_site.py reads them.
MADE = ("commands.md", "errors.md", "api/index.md", "api/registered.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_link_exist(page: Path) -> None:
    code = r"(?s)```.*?```|`[^`]*`"
    text = re.sub(code, "", page.read_text(encoding="utf8"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    local = [link for link in links if not link.startswith("http")]
    assert local or page.name != "README.md"
    missing = [link for link in local if not (page.parent / link).exists()]
    made = {(ROOT / "docs" / name).resolve() for name in MADE}
    assert [one for one in missing if (page.parent / one).resolve() not in made] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_functions_that_pages_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf8")
    folder = ""
    for path, name in re.findall(r"`([\w/]+\.py)(?::(\w+))?`", text):
        path = path.replace("/pair/", "/biaffine/")  # add_a_model.md makes a new one
        # A bare name is in the folder of the path before it.
        homes = [ROOT / path, PACKAGE / path, PACKAGE / folder / path]
        found = [home for home in homes if home.is_file()]
        assert found or path in MODEL_FILES, path
        folder = str(Path(path).parent) if "/" in path else folder
        if name:
            code = found[0].read_text(encoding="utf8")
            assert re.search(rf"\b(def|class) {name}\b", code), f"{path}:{name}"


def test_architecture_names_every_folder() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    entries = [path for path in PACKAGE.iterdir() if not path.name.startswith("_")]
    names = {f"{path.name}/" if path.is_dir() else path.name for path in entries}
    rows = set(re.findall(r"^\| `([\w/.]+)` \|", text, flags=re.MULTILINE))
    assert names - {"py.typed"} == rows


@pytest.mark.parametrize("word", FACTORIES)
def test_readme_names_what_exists(word: str) -> None:
    assert word in README


def test_generated_part_of_the_workflow_page_is_current(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    workflow_page = import_module("workflow_page")
    page = (ROOT / "docs" / "workflow.md").read_text(encoding="utf8")
    assert page == workflow_page.make_page()
    assert "WEASEL: AUTO-GENERATED DOCS END" in page


def test_pictures_are_those_of_the_measurements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    figures = import_module("figures")
    made = figures.make_pictures()
    for name, svg in made.items():
        stored = (ROOT / "docs" / "images" / name).read_text(encoding="utf8")
        assert svg == stored, f"{name}: run python docs/figures.py"
    assert made["speed.svg"] != made["speed-dark.svg"]
    for _, where in figures.STEPS[2:]:
        path = where.replace("<name>", "biaffine")
        assert (PACKAGE / path).is_file(), path


DRAWN = ("example", "lengths", "reliability", "sizes", "speed")
MEASURED = [ROOT / "docs" / "measured" / f"{name}.json" for name in DRAWN]
TEMPLATES = sorted((ROOT / ".github").rglob("*.yml"))


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.name)
def test_measurements_say_how_they_were_made(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf8"))
    assert found["commands"] and found["machine"] and found["about"]


def test_citation_is_that_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    assert citation["version"] == config["metadata"]["version"]
    assert citation["license"] == config["metadata"]["license_expression"]
    assert {one["notes"] for one in citation["references"]} == set(FACTORIES)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_issue_templates_can_be_read(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf8"))


@pytest.mark.slow
def test_page_of_settings_is_current() -> None:
    code = "import settings_page; print(settings_page.make_page(), end='')"
    environment = {"cwd": ROOT / "scripts", "encoding": "utf8"}
    command = [sys.executable, "-c", code]
    made = subprocess.run(command, check=True, capture_output=True, **environment)
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf8")
    assert page == made.stdout
    for factory in FACTORIES:
        assert f"## `{factory}`" in page


@pytest.mark.slow
def test_counts_in_the_datasheet_are_current() -> None:
    code = "import datasheet; print(datasheet.render())"
    environment = {"cwd": ROOT / "scripts", "encoding": "utf8"}
    command = [sys.executable, "-c", code]
    counted = subprocess.run(command, check=True, capture_output=True, **environment)
    sheet = (ROOT / "assets" / "demo" / "DATASHEET.md").read_text(encoding="utf8")
    assert counted.stdout.strip() in sheet


# --------------------------------------------------------------------- docs/training.md


@pytest.fixture
def trained_recipe(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Put a recipe into a config as it is written, and take some steps."""
    monkeypatch.chdir(tmp_path)
    # With enough gold spans to choose a threshold on.
    corpus = str(write_corpus(tmp_path / "corpus.spacy", times=7))
    paths = {"paths.train": corpus, "paths.dev": corpus}
    config = load_config(CONFIG, overrides=paths).merge(parse_part(request.param))
    config["training"].update(max_steps=3, eval_frequency=2)
    run(config, tmp_path / "training")
    return tmp_path


@pytest.mark.parametrize("trained_recipe", RECIPES, indirect=True, ids=range(6))
def test_training_recipe_trains_without_warnings(
    trained_recipe: Path, recwarn: pytest.WarningsRecorder
) -> None:
    assert (trained_recipe / "training" / "model-last").exists()
    assert [str(one.message) for one in recwarn if "[SW" in str(one.message)] == []


@pytest.mark.parametrize("trained_recipe", [RECIPES[3]], indirect=True, ids=["resume"])
def test_training_recipe_is_resumed_by_the_command(trained_recipe: Path) -> None:
    (line,) = re.findall(r"```bash\npython -m spacy (spanner resume.*)\n```", TRAINING)
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0
    assert "Resuming at epoch 3, step 3" in result.output


def test_training_recipes_replace_blocks_that_exist() -> None:
    known = load_config(CONFIG)
    assert len(RECIPES) == 6
    assert all(set(parse_part(recipe)) <= set(known) for recipe in RECIPES)
