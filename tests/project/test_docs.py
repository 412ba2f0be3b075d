"""The docs are correct: examples run, named files exist, generated parts match."""

import contextlib
import io
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import List

import pytest
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
MARKER = "<!-- WEASEL: AUTO-GENERATED DOCS"


def blocks(language: str) -> List[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_quick_start_prints_what_the_readme_shows() -> None:
    (code,), (shown, *_) = blocks("python"), blocks("text")
    fix_random_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_page_of_the_package_has_the_quick_start_of_the_readme() -> None:
    page = (ROOT / "docs" / "package.md").read_text(encoding="utf8")
    assert blocks("python")[0] in page
    assert blocks("text")[0] in page


def test_pages_name_the_extras_that_exist() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    extras = set(config["options.extras_require"])
    for name, left_out in (("README.md", set()), ("docs/package.md", {"dev"})):
        table = (ROOT / name).read_text(encoding="utf8").split("| extra | adds |")[1]
        named = re.findall(r"^\| `(\w+)` \|", table.split("\n\n")[0], re.MULTILINE)
        assert set(named) == extras - left_out, name


def test_commands_install_only_what_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf8")
        # No index has this package, so that its name installs nothing.
        assert not re.search(r"pip install[^\n]*spacy-spanner(?!\.)\b", text), page.name


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_link_exist(page: Path) -> None:
    code = r"(?s)```.*?```|`[^`]*`"
    text = re.sub(code, "", page.read_text(encoding="utf8"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    local = [link for link in links if not link.startswith("http")]
    assert local or page.name != "README.md"
    assert [link for link in local if not (page.parent / link).exists()] == []


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


@pytest.mark.parametrize("word", [*FACTORIES, "locate_label_cnn.cfg"])
def test_readme_names_what_exists(word: str) -> None:
    assert word in README


def test_generated_part_of_the_readme_is_current(tmp_path: Path) -> None:
    copy = tmp_path / "README.md"
    copy.write_text(README, encoding="utf8")
    command = [sys.executable, "-m", "spacy", "project", "document", str(ROOT)]
    subprocess.run([*command, "-NE", "--output", str(copy)], check=True)
    assert generated_part(copy.read_text(encoding="utf8")) == generated_part(README)


def test_page_of_settings_is_current() -> None:
    code = "import settings_page; print(settings_page.make_page(), end='')"
    environment = {"cwd": ROOT / "scripts", "encoding": "utf8"}
    command = [sys.executable, "-c", code]
    made = subprocess.run(command, check=True, capture_output=True, **environment)
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf8")
    assert page == made.stdout
    for factory in FACTORIES:
        assert f"## `{factory}`" in page


def generated_part(text: str) -> str:
    return text.split(f"{MARKER} START")[1].split(f"{MARKER} END")[0]


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
    corpus = str(write_corpus(tmp_path / "corpus.spacy"))
    paths = {"paths.train": corpus, "paths.dev": corpus}
    config = load_config(CONFIG, overrides=paths).merge(parse_part(request.param))
    config["training"].update(max_steps=3, eval_frequency=2)
    run(config, tmp_path / "training")
    return tmp_path


@pytest.mark.parametrize("trained_recipe", RECIPES, indirect=True, ids=range(5))
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
    assert len(RECIPES) == 5
    assert all(set(parse_part(recipe)) <= set(known) for recipe in RECIPES)
