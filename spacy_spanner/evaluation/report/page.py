"""Write the report: a self-contained HTML page, and its figures as files."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Dict, List, Optional

from jinja2 import Environment

from ...errors import Warnings
from ...errors.install import install_command
from ..counts import by_nesting, count_groups
from ..error_analysis import BOUNDARY_KINDS, frequent_confusions
from ..matching import PARTIAL_SCORES
from ..summary import Evaluation
from ..tables import amount
from .displacy import KIND_NAMES, explain, label_colors, render_sentence
from .figures.scores import (
    by_length_figure,
    by_type_figure,
    compare_figure,
    confusion_figure,
    kinds_figure,
    label_curves_figure,
    offset_figure,
    reliability_figure,
    threshold_figure,
)
from .figures.style import can_draw, inline_svg, save_figure

ASSETS = files("spacy_spanner.evaluation.report") / "assets"
MAX_CONFUSIONS = 10
# Separators of values in HTML attributes; labels cannot contain them.
BETWEEN, WITHIN = "\x01", "\x02"

DESCRIPTIONS = {
    "by_type": "F1 of each type with its confidence interval",
    "by_length": "Precision, recall and F1 by the length of spans",
    "kinds": "Number of errors of each kind",
    "offsets": "Counts of boundary offsets",
    "confusion": "Counts of gold labels against predicted labels",
    "reliability": "Share of correct spans against their score",
    "threshold": "Precision, recall and F1 against the threshold",
    "threshold_by_label": "The same for each label",
    "comparison": "F1 of two models for each type",
}


def draw_figures(
    metrics: Dict[str, Any], comparison: Optional[Dict[str, Any]] = None
) -> Dict[str, Any]:
    """Draw all figures that the data allow.

    metrics (Dict[str, Any]): see `summary.Evaluation`.
    comparison (Optional[Dict[str, Any]]): see `summary.compare`.
    RETURNS (Dict[str, Any]): figures by name.
    """
    scores, figures = metrics["scores"], {}
    if scores["per_type"]:
        intervals = metrics["intervals_by_type"]
        figures["by_type"] = by_type_figure(scores["per_type"], intervals)
        figures["by_length"] = by_length_figure(scores["by_length"])
        figures["confusion"] = confusion_figure(metrics["confusion"])
    figures["kinds"] = kinds_figure(metrics["kinds"])
    figures["offsets"] = offset_figure(metrics["offsets"])
    if scores["reliability"]:
        table, error = scores["reliability"], scores["ece"]
        figures["reliability"] = reliability_figure(table, error)
    if metrics["thresholds"]:
        figures.update(_threshold_figures(metrics["thresholds"]))
    if comparison and comparison["by_type"]:
        by_type, names = comparison["by_type"], comparison["names"]
        figures["comparison"] = compare_figure(by_type, names)
    return figures


def _threshold_figures(thresholds: Dict[str, Any]) -> Dict[str, Any]:
    curves = dict(thresholds["curves"])
    overall = curves.pop("all")
    now, best = thresholds["current"], thresholds["best"]["threshold"]
    figures = {"threshold": threshold_figure(overall, now, best)}
    if curves:
        by_label = {label: thresholds["by_label"].get(label, now) for label in curves}
        figures["threshold_by_label"] = label_curves_figure(curves, by_label)
    return figures


def write_report(
    folder: Path,
    first: Evaluation,
    *,
    second: Optional[Evaluation] = None,
    comparison: Optional[Dict[str, Any]] = None,
    limit: int = 100,
) -> Path:
    """Write `report.html`, and each figure as PNG and SVG in `figures/`.

    Without matplotlib there are no figures, and the page says so.

    folder (Path): folder to write to.
    first (Evaluation): the evaluation to report.
    second (Optional[Evaluation]): the evaluation of a model to compare with.
    comparison (Optional[Dict[str, Any]]): see `summary.compare`.
    limit (int): maximum number of sentences with errors.
    RETURNS (Path): path of the page.

    >>> nlp = spacy.load("model")
    >>> evaluation = evaluate_pipeline(nlp, Path("dev.spacy"), name="mine")
    >>> page = write_report(Path("report"), evaluation)
    >>> page.name
    'report.html'
    """
    figures = draw_figures(first.metrics, comparison) if can_draw() else {}
    svgs = {
        name: inline_svg(
            save_figure(figure, folder / "figures", name), name, DESCRIPTIONS[name]
        )
        for name, figure in figures.items()
    }
    page = folder / "report.html"
    text = render_page(first, second, comparison, svgs, limit)
    page.write_text(text, encoding="utf8")
    return page


def render_page(
    first: Evaluation,
    second: Optional[Evaluation],
    comparison: Optional[Dict[str, Any]],
    svgs: Dict[str, str],
    limit: int,
) -> str:
    """RETURNS (str): the page, without references to other files."""
    missing = "" if svgs else Warnings.SW151.format(command=install_command("plots"))
    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters["amount"] = amount
    template = environment.from_string(read_asset("report.html.jinja"))
    metrics = first.metrics
    counts = metrics["data"]["labels"]
    per_type = metrics["scores"]["per_type"] or {}
    nesting = count_groups(first.readings, by_nesting)
    colors = label_colors(list(counts))
    return template.render(
        first=metrics,
        second=second.metrics if second else None,
        comparison=comparison,
        figures=svgs,
        missing=missing,
        types=sorted(
            (label, {**row, **counts[label]}) for label, row in per_type.items()
        ),
        lengths=list((metrics["scores"]["by_length"] or {}).items()),
        nesting=[(name, counted.as_dict()) for name, counted in nesting.items()],
        confusions=frequent_confusions(metrics["confusion"], MAX_CONFUSIONS),
        partial_names=PARTIAL_SCORES,
        boundary_names=BOUNDARY_KINDS,
        kind_names=KIND_NAMES,
        items=[_render_item(item, colors) for item in first.errors[:limit]],
        n_errors=len(first.errors),
        colors=colors,
        css=read_asset("report.css"),
        js=read_asset("report.js"),
    )


def read_asset(name: str) -> str:
    """RETURNS (str): a template, style sheet or script of pages."""
    return (ASSETS / name).read_text(encoding="utf8")


def _render_item(item: Dict[str, Any], colors: Dict[str, int]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a sentence as HTML, and the values to filter it by."""
    pairs: List[tuple] = [
        (error["kind"], error[side]["label"])
        for error in item["errors"]
        for side in ("gold", "predicted")
        if error[side] is not None
    ]
    return {
        "doc": item["doc"],
        "start": item["start"],
        "markup": render_sentence(item, colors),
        "explanations": [explain(error) for error in item["errors"]],
        "kinds": BETWEEN.join(sorted({kind for kind, _ in pairs})),
        "labels": BETWEEN.join(sorted({label for _, label in pairs})),
        "pairs": BETWEEN.join(sorted({WITHIN.join(pair) for pair in pairs})),
    }
