"""Measure F1 by the size of the training data, on the demo corpus.

python benchmarks/sizes.py RESULTS

Runs `spacy spanner analyze sizes` for each model. Trainings that have a result in the
folder are not repeated. The means are written to docs/measured/sizes.json, and
docs/figures.py draws them. `python scripts/convert.py` makes the data.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import typer
from measuring import describe_machine

ROOT = Path(__file__).resolve().parents[1]
DATA = "corpus/demo"
ABOUT = (
    "Span models with spaCy's HashEmbedCNN, trained on shares of the demo corpus "
    "for the same number of steps; scores of the best model on dev data, on the test "
    "split: mean and standard deviation over the seeds."
)


def measure(model: str, results: Path, seeds: str, steps: int) -> Dict[str, Any]:
    """Train one model with each share of the data.

    RETURNS (Dict[str, Any]): `mean` and `sd` of F1, by share.
    """
    output = results / model
    command = [sys.executable, "-m", "spacy", "spanner", "analyze", "sizes"]
    command += [f"configs/{model}_cnn.cfg", "--seeds", seeds, "--output", str(output)]
    command += ["--test", f"{DATA}/test.spacy", "--paths.train", f"{DATA}/train.spacy"]
    command += ["--paths.dev", f"{DATA}/dev.spacy", "--training.max_steps", str(steps)]
    subprocess.run(command, cwd=ROOT, check=True)
    found = json.loads((output / "sizes.json").read_text(encoding="utf8"))
    summary: Dict[str, Any] = found["summary"]
    return {
        share: {k: row[k] for k in ("mean", "sd")} for share, row in summary.items()
    }


def main(
    results: Path = typer.Argument(..., help="Folder for the trainings"),
    models: str = typer.Option("biaffine,locate_label,diffusion,offset", "--models"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    steps: int = typer.Option(500, help="Steps of each training"),
    output: Path = typer.Option(ROOT / "docs/measured/sizes.json", "--output"),
) -> None:
    """Measure and write."""
    results = results.resolve()
    lines = {
        f"span_{model}": measure(model, results, seeds, steps)
        for model in models.split(",")
    }
    options = f"--models {models} --seeds {seeds} --steps {steps}"
    command = f"python benchmarks/sizes.py RESULTS {options}"
    about = {"about": ABOUT, "commands": [command], "machine": describe_machine()}
    content = json.dumps({**about, "lines": lines}, indent=1)
    output.write_text(content + "\n", encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
