"""Run the tests with other versions of the libraries, each in a fresh environment.

For some environments, give their names; `--torch` tries another version of torch:

    python scripts/compatibility.py floors newest --torch 2.13.0
"""

import json
import os
import re
import subprocess
import sys
import venv
from configparser import ConfigParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import typer
from datasets import ROOT

from spacy_spanner.evaluation.tables import markdown_table

CONSTRAINTS = ROOT / "constraints.txt"
TOOLS = ("hypothesis", "psutil", "pytest")
# What the table shows; the tests depend on many more.
SHOWN = ("spacy", "thinc", "torch", "numpy", "transformers")
OWN = (
    "tests/compatibility",
    "tests/test_internals.py",
    "tests/cli/test_convert.py",
    "tests/layers/test_predict_only.py",
    "tests/layers/test_torch_shim.py",
    "tests/training/test_averages.py",
)
ENCODERS = (
    "tests/encoders/transformer/test_other_kinds.py",
    "tests/encoders/transformer/test_storage.py",
    "tests/encoders/transformer/test_vectors.py",
)
LISTENERS = ("tests/pipeline/test_foreign_encoders.py",)


class Environment(NamedTuple):
    """What to install, and the tests to run with it.

    extras (str): extras of setup.cfg, comma-separated.
    versions (str): "newest", "floors" of setup.cfg, or "pinned" in constraints.txt.
    tests (Tuple[str, ...]): files and folders.
    """

    extras: str
    versions: str
    tests: Tuple[str, ...]


ENVIRONMENTS: Dict[str, Environment] = {
    "newest": Environment("minilm", "newest", (*OWN, *ENCODERS)),
    "pinned": Environment(
        "minilm,transformers", "pinned", (*OWN, *ENCODERS, *LISTENERS)
    ),
    "floors": Environment("minilm", "floors", (*OWN, *ENCODERS)),
    "spacy-transformers": Environment("transformers", "newest", (*OWN, *LISTENERS)),
    "spacy-transformers-floors": Environment(
        "transformers", "floors", (*OWN, *LISTENERS)
    ),
    "curated-transformers": Environment("curated", "newest", (*OWN, *LISTENERS)),
}


class Result(NamedTuple):
    """The versions in an environment, and how the tests ended there."""

    name: str
    versions: Dict[str, str]
    outcome: str
    passed: bool


def floors(extras: Sequence[str]) -> List[str]:
    """RETURNS (List[str]): the lowest versions that setup.cfg allows, as pins."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    parts = [config["options"]["install_requires"]]
    parts += [config["options.extras_require"][name] for name in extras]
    return re.sub(r">=([\w.]+)(,\S+)?", r"==\1", "\n".join(parts)).split()


def requirements(environment: Environment, torch: str) -> List[str]:
    """RETURNS (List[str]): the arguments of pip, with this version of torch."""
    wanted = [*TOOLS, f"torch=={torch}", "-e", f"{ROOT}[{environment.extras}]"]
    if environment.versions == "pinned":
        wanted += ["-c", str(CONSTRAINTS)]
    elif environment.versions == "floors":
        pins = floors(environment.extras.split(","))
        wanted += [pin for pin in pins if not pin.startswith("torch==")]
    return wanted


def run(python: Path, *command: str) -> subprocess.CompletedProcess:
    """Run Python in the checkout, with the packages of its own environment only."""
    kept = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    return subprocess.run(
        [str(python), *command],
        cwd=ROOT,
        env={**kept, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )


def try_environment(name: str, folder: Path, torch: str) -> Result:
    """Create an environment, install what it needs, and run its tests.

    RETURNS (Result): also if nothing could be installed.
    """
    environment = ENVIRONMENTS[name]
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = ("-m", "pip", "--disable-pip-version-check")
    done = run(python, *pip, "install", "-qq", *requirements(environment, torch))
    if done.returncode:
        print(f"{name}: {done.stderr}", file=sys.stderr)
        return Result(name, {}, "not installed", False)
    listed = json.loads(run(python, *pip, "list", "--format", "json").stdout)
    versions = {package["name"].lower(): package["version"] for package in listed}
    options = ("-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider")
    done = run(python, *options, *environment.tests)
    if done.returncode:
        print(f"{name}: {done.stdout}", file=sys.stderr)
    found = re.findall(r"^(\d+ .*) in [\d.]+s", done.stdout, flags=re.MULTILINE)
    outcome = re.sub(r", \d+ (warnings?|deselected)", "", found[-1] if found else "")
    return Result(name, versions, outcome or "not run", done.returncode == 0)


def as_table(results: Sequence[Result]) -> str:
    """RETURNS (str): a Markdown table of versions and outcomes."""
    rows = [
        [one.name, *(one.versions.get(name, "-") for name in SHOWN), one.outcome]
        for one in results
    ]
    return markdown_table(["environment", *SHOWN, "tests"], rows)


def main(
    names: Optional[List[str]] = typer.Argument(None, help="Default: all"),
    torch: str = typer.Option("", help="Version of torch; default: the pinned one"),
    folder: Optional[Path] = typer.Option(None, help="Keep the environments here"),
) -> None:
    """Install and test each environment, and print a table of the results."""
    pinned = re.findall(r"^torch==(.+)$", CONSTRAINTS.read_text("utf8"), re.MULTILINE)
    results = []
    with TemporaryDirectory() as temporary:
        for name in names or ENVIRONMENTS:
            place = (folder or Path(temporary)) / name
            results.append(try_environment(name, place, torch or pinned[0]))
    print(as_table(results))
    sys.exit(not all(result.passed for result in results))


if __name__ == "__main__":
    typer.run(main)
