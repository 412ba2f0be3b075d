"""The command `spanner tune`."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from spacy.util import load_model
from wasabi import msg

from ..errors import Warnings
from ..evaluation.tables import percent
from .app import app
from .progress import track
from .shell import CODE, FORCE, GPU, KEY, MODEL, plain_errors, prepare


@app.command("tune")
def tune_cli(
    model: str = MODEL,
    dev: Path = typer.Argument(..., help="Annotated documents to tune on"),
    output: Path = typer.Option(..., "--output", "-o", help="Folder for the pipeline"),
    test: Optional[Path] = typer.Option(
        None, "--test", "-t", help="Other documents to measure the effect on"
    ),
    per_label: bool = typer.Option(False, help="Tune one threshold per label"),
    beta: float = typer.Option(1.0, min=0.01, help="Above 1, recall counts more"),
    precision: Optional[float] = typer.Option(
        None, min=0.0, max=1.0, help="Maximise recall at this minimum precision instead"
    ),
    temperature: bool = typer.Option(True, help="Calibrate the scores first"),
    spans_key: Optional[str] = KEY,
    force: bool = FORCE,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Tune thresholds and temperature, and save a copy of the pipeline with them.

    Writes the pipeline and tuning.json, with scores before and after, to OUTPUT.
    """
    from ..evaluation.tuning import Goal, tune
    from ..files import new_folder, require_absent, write_json

    goal = Goal(beta, precision, per_label, temperature)
    with plain_errors():
        prepare(gpu_id, code_path)
        if not force:
            require_absent(output)  # fail early
        nlp = load_model(model)
        found = tune(nlp, dev, test=test, key=spans_key, goal=goal, track=track)
        with new_folder(output, force=force) as folder:
            nlp.to_disk(folder)
            write_json(folder / "tuning.json", found)
    show(found)
    if test is None:
        msg.warn(Warnings.SW070.format(dev=dev))
    msg.good(f"Wrote {output}")


HEADER = ("documents", "settings", "P", "R", "F1", "ECE")


def show(found: Dict[str, Any]) -> None:
    """Print scores and settings before and after."""
    aligns = ["l", "l", "r", "r", "r", "r"]
    msg.table(score_rows(found), header=HEADER, aligns=aligns, divider=True)
    for name, value in found["settings"]["after"].items():
        msg.text(f"{name}: {found['settings']['before'][name]} -> {value}")


def score_rows(found: Dict[str, Any]) -> List[List[str]]:
    """RETURNS (List[List[str]]): scores before and after, as cells of a table."""
    scores = found["scores"]
    return [
        [corpus, when, *map(percent, scores[when][corpus].values())]
        for corpus in scores["before"]
        for when in ("before", "after")
    ]
