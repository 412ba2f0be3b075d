"""Measure the time from a new interpreter to a component.

python benchmarks/startup.py

Every measurement starts a new interpreter (`cold_start.py`). It imports spaCy, then
this package with the modules of all four factories, and then calls `spacy.blank`, which
loads the entry points of all installed packages, and `nlp.add_pipe`. Medians are
reported.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional

import typer
from measuring import write_json
from options import OUTPUT, SYSTEMS
from wasabi import table

SCRIPT = Path(__file__).parent / "cold_start.py"
STEPS = ("spacy", "package", "blank", "add_pipe")


def measure(system: str) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): seconds of each step in a new interpreter."""
    command = [sys.executable, str(SCRIPT), system]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf8")
    seconds: Dict[str, float] = json.loads(done.stdout)
    return seconds


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    return [result["system"], *(f"{result[step]:.3f}" for step in STEPS)]


def main(
    models: str = SYSTEMS,
    rounds: int = typer.Option(5, help="Interpreters per model"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Start new interpreters, with the models taking turns."""
    runs: Dict[str, List[Dict[str, float]]] = {name: [] for name in models.split(",")}
    for _ in range(rounds):
        for name, measured in runs.items():
            measured.append(measure(name))
    results: List[Dict[str, Any]] = [
        {"system": name, **{s: median([run[s] for run in measured]) for s in STEPS}}
        for name, measured in runs.items()
    ]
    rows = [to_row(result) for result in results]
    print(table(rows, header=("system", *STEPS), divider=True, aligns=("l", *"rrrr")))
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)
