"""The command `spanner evaluate`."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from spacy.util import load_model
from wasabi import msg

from ..evaluation.tables import percent
from .app import app
from .progress import track
from .shell import CODE, DATA, GPU, KEY, MODEL, distinct_names, plain_errors, prepare


@app.command("evaluate")
def evaluate_cli(
    model: str = MODEL,
    data: Path = DATA,
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write to"),
    compare: Optional[str] = typer.Option(
        None, "--compare", help="Second pipeline to compare with on the same documents"
    ),
    spans_key: Optional[str] = KEY,
    limit: int = typer.Option(100, min=0, help="Sentences with errors in the report"),
    samples: int = typer.Option(1000, min=1, help="Samples for confidence intervals"),
    seed: int = typer.Option(0, min=0, help="Random seed of the samples"),
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Evaluate a pipeline, and write a report with figures.

    Works with any pipeline that writes span groups. Writes metrics.json, errors.json,
    report.html, and the figures as PNG and SVG to OUTPUT.
    """
    with plain_errors():
        prepare(gpu_id, code_path)
        metrics = evaluate(
            [model, *([compare] if compare else [])],
            data,
            output,
            key=spans_key,
            limit=limit,
            draws={"seed": seed, "n_samples": samples},
        )
    for one in metrics:
        scores = one["scores"]
        shown = ", ".join(f"{x.upper()} {percent(scores[x])}" for x in "prf")
        msg.good(f"{one['model']['name']}: {shown}, ECE {percent(scores['ece'])}")
    msg.good(f"Wrote {output / 'report.html'}")


def evaluate(
    models: List[str],
    data: Path,
    output: Path,
    *,
    key: Optional[str],
    limit: int,
    draws: Dict[str, int],
) -> List[Dict[str, Any]]:
    """Evaluate one or two pipelines, and write the results.

    RETURNS (List[Dict[str, Any]]): metrics of each pipeline.
    """
    from ..evaluation.report.figures.style import require_matplotlib
    from ..evaluation.report.page import write_report
    from ..evaluation.summary import compare, evaluate_pipeline
    from ..files import staged_folder, write_json

    require_matplotlib()  # fail early
    found = [
        evaluate_pipeline(
            load_model(model), data, name=name, key=key, track=track, **draws
        )
        for model, name in zip(models, distinct_names(models))
    ]
    first, second = found[0], found[1] if len(found) > 1 else None
    comparison = compare(first, second, **draws) if second else None
    with staged_folder(output) as folder:
        metrics = dict(first.metrics)
        if second:
            metrics.update(other=second.metrics, comparison=comparison)
        write_json(folder / "metrics.json", metrics)
        write_json(folder / "errors.json", first.errors)
        write_report(folder, first, second=second, comparison=comparison, limit=limit)
    return [one.metrics for one in found]
