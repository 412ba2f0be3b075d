"""The command `spanner optimize`."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from spacy.util import load_model

from ..evaluation.tables import percent
from .shell import CODE, FORCE, GPU, KEY, MODEL, app, msg, ready, track

HEADER = ("precision", "words/s", "speed", "F1", "change", "ECE", "peak MB", "")


@app.command("optimize")
def optimize_cli(
    model: str = MODEL,
    data: Path = typer.Option(
        ..., "--data", "-d", help="Annotated documents to measure on"
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder for the pipeline"),
    max_f1_loss: float = typer.Option(
        0.3, min=0.0, help="How much F1 may be lower than in float32, in points"
    ),
    rounds: int = typer.Option(2, min=1, help="How often to measure the speed"),
    spans_key: Optional[str] = KEY,
    force: bool = FORCE,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Measure speed and F1 in all precisions that this machine is fast in, and save a
    copy of the pipeline that predicts in the fastest one within --max-f1-loss.

    The copy can be loaded on any machine: where a precision is slow, it predicts in
    float32, with a warning.
    """
    from .. import files, output_checks
    from ..evaluation.precision_trials import optimize

    with ready(gpu_id, code_path):
        if not force:
            output_checks.require_absent(output)  # fail early
        output_checks.require_apart(output, [data])
        output_checks.require_writable(output, folder=True, whole=True)
        nlp = load_model(model)
        goal: Dict[str, Any] = {"max_f1_loss": max_f1_loss, "rounds": rounds}
        found = optimize(nlp, data, key=spans_key, track=track, **goal)
        with files.new_folder(output, force=force) as folder:
            nlp.to_disk(folder)
    aligns = ["l", *"rrrrrr", "l"]
    msg.table(table_rows(found), header=HEADER, aligns=aligns, divider=True)
    msg.text(f"The pipeline predicts in {found['chosen']}.")
    msg.good(f"Wrote {output}")


def table_rows(found: Dict[str, Any]) -> List[List[str]]:
    """RETURNS (List[List[str]]): the cells of the table, a row for each precision."""
    first = found["trials"][0]
    rows = []
    for trial in found["trials"]:
        memory, speed = trial["memory_mb"], trial["words_per_second"]
        change = 100 * ((trial["f"] or 0.0) - (first["f"] or 0.0))
        rows.append(
            [
                trial["precision"],
                f"{speed:,.0f}",
                f"{speed / first['words_per_second']:.2f}",
                percent(trial["f"]),
                f"{change:+.1f}",
                percent(trial["ece"]),
                "-" if memory is None else f"{memory:,.0f}",
                "chosen" if trial["precision"] == found["chosen"] else "",
            ]
        )
    return rows
