"""The commands `spanner evaluate`, `tune` and `model-card`, for trained pipelines."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import typer
from spacy.util import load_model

from ..errors import Warnings
from ..evaluation.tables import percent, readable
from .analyze import warn_without_figures
from .shell import (
    CODE,
    DATA,
    FORCE,
    GPU,
    KEY,
    MODEL,
    app,
    distinct_names,
    msg,
    ready,
    track,
)

HEADER = ("documents", "settings", "P", "R", "F1", "ECE")


@app.command("evaluate")
def evaluate_cli(
    model: str = MODEL,
    data: Path = DATA,
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Folder for the report; default: print only"
    ),
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

    Works with any pipeline that writes span groups. Prints the scores, and writes
    metrics.json, errors.json, report.html, and the figures as PNG and SVG to OUTPUT.
    """
    with ready(gpu_id, code_path, folder=output):
        metrics, comparison = evaluate(
            [model, *([compare] if compare else [])],
            data,
            output,
            key=spans_key,
            limit=limit,
            draws={"seed": seed, "n_samples": samples},
        )
    for one in metrics:
        show_scores(one)
    if comparison:
        show_comparison(comparison)
    if output is not None:
        msg.good(f"Wrote {output / 'report.html'}")
        warn_without_figures()


def show_scores(metrics: Dict[str, Any]) -> None:
    """Print the scores of a pipeline, overall and by label."""
    scores = metrics["scores"]
    shown = ", ".join(f"{x.upper()} {percent(scores[x])}" for x in "prf")
    msg.good(f"{metrics['model']['name']}: {shown}, ECE {percent(scores['ece'])}")
    counts = metrics["data"]["labels"]
    rows = [
        [label, *(percent(row[x]) for x in "prf"), f"{counts[label]['gold']:,}"]
        for label, row in sorted((scores["per_type"] or {}).items())
    ]
    if rows:
        header = ("type", "P", "R", "F1", "gold")
        msg.table(rows, header=header, aligns=["l", *"r" * 4], divider=True)


def show_comparison(comparison: Dict[str, Any]) -> None:
    """Print the difference in F1 of two pipelines; see `summary.compare`."""
    first, second = comparison["names"]
    shown = f"{second} minus {first}: F1 {100 * comparison['difference']['f']:+.1f}"
    if comparison["interval"]:
        low, high = comparison["interval"]["f"]
        shown += f" (95 %: {100 * low:+.1f} to {100 * high:+.1f})"
    if comparison["p_value"] is not None:
        shown += f", p = {comparison['p_value']:.3f}"
    msg.text(shown)


def evaluate(
    models: List[str],
    data: Path,
    output: Optional[Path],
    *,
    key: Optional[str],
    limit: int,
    draws: Dict[str, int],
) -> Tuple[List[Dict[str, Any]], Optional[Dict[str, Any]]]:
    """Evaluate one or two pipelines, and write the results if there is an output.

    RETURNS (Tuple): metrics of each pipeline, and the comparison of two.
    """
    from ..evaluation.report.page import write_report
    from ..evaluation.summary import compare, evaluate_pipeline
    from ..files import staged_folder, write_json

    found = [
        evaluate_pipeline(
            load_model(model), data, name=name, key=key, track=track, **draws
        )
        for model, name in zip(models, distinct_names(models))
    ]
    first, second = found[0], found[1] if len(found) > 1 else None
    comparison = compare(first, second, **draws) if second else None
    results = [one.metrics for one in found], comparison
    if output is None:
        return results
    with staged_folder(output) as folder:
        metrics = dict(first.metrics)
        if second:
            metrics.update(other=second.metrics, comparison=comparison)
        write_json(folder / "metrics.json", metrics)
        write_json(folder / "errors.json", first.errors)
        write_report(folder, first, second=second, comparison=comparison, limit=limit)
    return results


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
    calibrate: bool = typer.Option(True, help="Calibrate the scores first"),
    spans_key: Optional[str] = KEY,
    force: bool = FORCE,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Calibrate scores, tune thresholds, and save a copy of the pipeline with them.

    Writes the pipeline and tuning.json, with scores before and after, to OUTPUT.
    """
    from .. import files, output_checks
    from ..evaluation.tuning import Goal, tune

    goal = Goal(beta, precision, per_label, calibrate)
    with ready(gpu_id, code_path):
        if not force:
            output_checks.require_absent(output)  # fail early
        output_checks.require_apart(output, filter(None, [dev, test]))
        output_checks.require_writable(output, folder=True, whole=True)
        nlp = load_model(model)
        found = tune(nlp, dev, test=test, key=spans_key, goal=goal, track=track)
        with files.new_folder(output, force=force) as folder:
            nlp.to_disk(folder)
            files.write_json(folder / "tuning.json", found)
    show_tuning(found)
    if test is None:
        msg.warn(Warnings.SW070.format(dev=dev))
    msg.good(f"Wrote {output}")


def show_tuning(found: Dict[str, Any]) -> None:
    """Print scores and settings before and after."""
    scores = found["scores"]
    rows = [
        [corpus, when, *map(percent, scores[when][corpus].values())]
        for corpus in scores["before"]
        for when in ("before", "after")
    ]
    msg.table(rows, header=HEADER, aligns=["l", "l", *"r" * 4], divider=True)
    settings = readable(found["settings"])
    for name, value in settings["after"].items():
        msg.text(f"{name}: {settings['before'][name]} -> {value}")


@app.command("model-card")
def model_card_cli(
    model: str = MODEL,
    output: Optional[Path] = typer.Option(
        None,
        "--output",
        "-o",
        help="File to write; default: README.md in the pipeline's folder",
    ),
    name: Optional[str] = typer.Option(
        None, "--name", "-n", help="Name of the package, as for spacy package --name"
    ),
    force: bool = FORCE,
    code_path: Optional[Path] = CODE,
) -> None:
    """Write a model card with labels, scores, settings and limits of a pipeline.

    `spacy package` adds the README.md of a pipeline's folder to the package.
    """
    from ..evaluation.card import render_card
    from ..files import write_text
    from ..output_checks import require_absent, require_writable

    with ready(code=code_path):
        if output is not None:
            require_writable(output, folder=False)
        nlp = load_model(model)
        target = output or Path(nlp.path or ".") / "README.md"
        if not force:
            require_absent(target)
        write_text(target, render_card(nlp, name))
    msg.good(f"Wrote {target}")
