"""The bounds of setup.cfg, and the script that tests them in fresh environments."""

import importlib
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, Iterator

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
# Their next major versions change what the package relies on.
BOUNDED = {"click", "numpy", "spacy", "spacy-transformers", "thinc", "torch"}
BOUNDED |= {"spacy-curated-transformers", "transformers"}


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("compatibility")
    sys.path.remove(str(ROOT / "scripts"))


def requirements() -> Dict[str, Requirement]:
    """What users install, by name; not the tools for development."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    extras = dict(config["options.extras_require"])
    del extras["dev"], extras["docs"]
    lines = "\n".join([*extras.values(), config["options"]["install_requires"]])
    found = map(Requirement, filter(None, lines.splitlines()))
    return {one.name: one for one in found}


def test_requirements_have_a_floor_and_risky_ones_a_bound() -> None:
    for name, one in requirements().items():
        operators = {bound.operator for bound in one.specifier}
        assert ">=" in operators, name
        assert ("<" in operators) == (name in BOUNDED), name


def test_pinned_versions_are_within_the_bounds() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for name, one in requirements().items():
        if name in pinned:
            assert one.specifier.contains(pinned[name]), name


def test_floors_are_the_lowest_versions_of_setup_cfg(script: Any) -> None:
    pins = script.floors(["curated", "minilm", "transformers"])
    wanted = requirements()
    for pin in map(Requirement, pins):
        if "<" not in str(pin):
            (bound,) = pin.specifier
            assert wanted[pin.name].specifier.contains(bound.version)
            assert f">={bound.version}" in str(wanted[pin.name])
    assert {"spacy==3.8.7", "thinc==8.3.4", "numpy<2.4.0"} <= set(pins)


def test_environments_are_documented_and_their_tests_exist(script: Any) -> None:
    page = PAGE.read_text(encoding="utf8")
    assert len(script.ENVIRONMENTS) > 5
    for name, environment in script.ENVIRONMENTS.items():
        assert f"`{name}`" in page
        assert all((ROOT / path).exists() for path in environment.tests)
        wanted = script.requirements(environment, "2.13.0")
        assert "torch==2.13.0" in wanted
        assert len([one for one in wanted if one.startswith("torch==")]) == 1


@pytest.mark.parametrize("broken", ["install", "pytest"])
def test_environment_that_fails_is_reported(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def pretend(python: Path, *command: str) -> SimpleNamespace:
        step = next(one for one in ("install", "list", "pytest") if one in command)
        out = '[{"name": "spaCy", "version": "3.8.7"}]' if step == "list" else ""
        out = "1 failed, 2 passed, 3 warnings in 4.5s" if step == "pytest" else out
        return SimpleNamespace(returncode=step == broken, stdout=out, stderr="no")

    monkeypatch.setattr(script, "run", pretend)
    monkeypatch.setattr(script.venv, "create", lambda *_, **__: None)
    result = script.try_environment("floors", tmp_path, "2.13.0")
    assert not result.passed
    table = script.as_table([result])
    expected = "not installed" if broken == "install" else "1 failed, 2 passed"
    assert table.splitlines()[-1].endswith(f"| {expected} |")
    assert ("| 3.8.7 |" in table) == (broken == "pytest")


@pytest.mark.slow
def test_newest_versions_pass(tmp_path: Path) -> None:
    download = ("-m", "pip", "download", "--quiet", "--no-deps", "-d", tmp_path)
    reached = subprocess.run([sys.executable, *download, "wasabi"], capture_output=True)
    if reached.returncode:
        pytest.skip("the package index cannot be reached")
    command = [sys.executable, ROOT / "scripts" / "compatibility.py", "newest"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| newest | " in done.stdout and "passed |" in done.stdout
