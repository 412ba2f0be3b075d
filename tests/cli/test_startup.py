"""What commands import: nothing that delays their start."""

import json
import subprocess
import sys
from pathlib import Path
from typing import List, Set

import pytest

# Packages that take long to import.
SLOW = {"matplotlib", "pandas", "pyarrow", "ray", "scipy", "sklearn", "torch"}
SLOW |= {"spacy_transformers", "transformers"}
# Runs commands one after another, and prints what they imported.
RUN = """
import json
import sys
from spacy.cli import app
from spacy.util import registry
from typer.testing import CliRunner
before = set(sys.modules)
registry.cli.get_all()
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported_by(*commands: List[str]) -> Set[str]:
    """Return what commands import in addition to spaCy's command line."""
    words = [sys.executable, "-c", RUN, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def packages(modules: Set[str]) -> Set[str]:
    return {name.split(".")[0] for name in modules}


def test_help_imports_nothing_slow() -> None:
    groups = {"": ["convert", "annotate", "evaluate", "init-config", "debug-data"]}
    groups[""] += ["stats", "tune", "model-card", "sweep", "resume", "train-parallel"]
    groups[""] += ["serve", "agreement"]
    groups["analyze"] = ["landscape", "lengths", "offsets", "grid", "training"]
    calls = [["spanner", "--help"], ["spanner", "analyze", "--help"]]
    for group, names in groups.items():
        above = ["spanner", group] if group else ["spanner"]
        calls += [[*above, name, "--help"] for name in names]
    found = imported_by(*calls)
    assert "spacy_spanner.cli.convert" in found
    assert not packages(found) & SLOW
    rooms = {name.split(".")[1] for name in found if name.startswith("spacy_spanner.")}
    assert rooms == {"cli", "errors", "evaluation"}


@pytest.mark.parametrize("name", ["train.jsonl", "train.spacy", "train.conll"])
def test_convert_imports_nothing_slow(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source.jsonl", tmp_path / name
    row = {"text": "In Boston.", "spans": [{"start": 3, "end": 9, "label": "GPE"}]}
    source.write_text(json.dumps(row) + "\n", "utf8")
    found = imported_by(["spanner", "convert", str(source), str(target)])
    assert target.is_file()
    assert "spacy_spanner.corpus.conversion" in found
    assert not packages(found) & SLOW
