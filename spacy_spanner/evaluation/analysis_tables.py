"""The numbers of the analyses as tables for terminals: each is a header and rows."""

from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np

from .cases import Case, CaseSpan
from .counts import shortest_length
from .tables import mean_and_spread, percent, readable

# Of a landscape, this many points tell its shape; its JSON has all.
MAX_POINTS = 11


class Table(NamedTuple):
    """A table of text."""

    header: List[str]
    rows: List[List[str]]


def landscape_table(data: Dict[str, Any]) -> Table:
    """RETURNS (Table): the loss of each part of the data along the direction; see
    `landscape.loss_landscape`.
    """
    positions, losses = data["positions"], data["losses"]
    n_points = min(MAX_POINTS, len(positions))
    places = np.linspace(0, len(positions) - 1, n_points).round().astype(int).tolist()
    rows = [
        [f"{positions[place]:.2f}", *(f"{loss[place]:.4g}" for loss in losses.values())]
        for place in places
    ]
    return Table(["position", *losses], rows)


def lengths_table(by_model: Dict[str, Dict[str, Any]]) -> Table:
    """RETURNS (Table): F1 of each pipeline by the length of spans."""
    classes = {name for rows in by_model.values() for name in rows}
    rows = [
        [name, *(percent(rows.get(name, {}).get("f")) for rows in by_model.values())]
        for name in sorted(classes, key=shortest_length)
    ]
    return Table(["tokens", *by_model], rows)


def offsets_table(table: Dict[str, Any]) -> Table:
    """RETURNS (Table): how many spans have which offset of their start (rows) and end
    (columns); see `error_analysis.offset_table`.
    """
    names = [f"{offset:+d}" if offset else "0" for offset in table["offsets"]]
    rows = [
        [name, *(f"{count:,}" for count in counts)]
        for name, counts in zip(names, table["counts"])
    ]
    return Table(["start / end", *names], rows)


def grid_table(data: Dict[str, Any]) -> Table:
    """RETURNS (Table): F1 and speed for each pair of values; see `settings_grid`."""
    settings = [data[axis]["setting"] for axis in ("rows", "columns")]
    rows = [
        [str(readable(row)), str(readable(column)), percent(f), f"{speed:,.0f}"]
        for row, scores, speeds in zip(
            data["rows"]["values"], data["f"], data["words_per_second"]
        )
        for column, f, speed in zip(data["columns"]["values"], scores, speeds)
    ]
    return Table([*settings, "F1", "words per second"], rows)


def classes_table(scores: Dict[str, Dict[str, Any]]) -> Table:
    """RETURNS (Table): scores of each class; see `cell_classes.class_scores`."""
    rows = [
        [name, *(percent(row[key]) for key in "prf"), f"{row['gold']:,}"]
        for name, row in scores.items()
    ]
    return Table(["class", "P", "R", "F1", "cells"], rows)


def costs_table(by_model: Dict[str, Dict[str, Any]]) -> Table:
    """RETURNS (Table): parameters, F1 and speed; see `model_costs`."""
    rows = [
        [
            name,
            *(f"{count:,}" for count in row["parameters"].values()),
            percent(row["f"]),
            f"{row['words_per_second']:,.0f}",
        ]
        for name, row in by_model.items()
    ]
    parts = ["encoder", "head", "other components"]
    return Table(["parameters", *parts, "F1", "words per second"], rows)


def case_table(case: Case, models: Sequence[str]) -> Table:
    """RETURNS (Table): the spans of a sentence. A pipeline that has a span shows its
    score, or "yes" without one; errors are marked with an exclamation mark.
    """
    rows = [
        [
            f"{span.text} ({span.label})",
            "yes" if span.gold else "-",
            *(_case_cell(span, model) for model in models),
        ]
        for span in case.spans
    ]
    return Table(["span", "gold", *models], rows)


def _case_cell(span: CaseSpan, model: str) -> str:
    mark = "!" if span.is_wrong(model) else ""
    if model not in span.scores:
        return f"-{mark}"
    score = span.scores[model]
    return ("yes" if score is None else f"{score:.2f}") + mark


def training_table(runs: Sequence[Dict[str, Any]]) -> Table:
    """RETURNS (Table): the last losses, and the last and best F1, of each training; on
    the development data, unless the column says "train".
    """
    rows = []
    for run in runs:
        last = run["history"][-1]
        known = [row["f"] for row in run["history"] if row["f"] is not None]
        losses = [last["loss"], last["smoothed_loss"], last["train_loss"]]
        shares = [last["train_f"], last["f"], max(known, default=None)]
        numbers = [*(f"{loss:.4g}" for loss in losses), *map(percent, shares)]
        rows.append([run["name"], str(last["step"]), *numbers])
    losses = ["loss", "loss as trained", "train loss"]
    return Table(["training", "steps", *losses, "train F1", "F1", "best F1"], rows)


def calibration_table(panels: Sequence[Dict[str, Any]]) -> Table:
    """RETURNS (Table): F1 and calibration error of each training."""
    rows = [[one["name"], percent(one["f"]), percent(one["ece"])] for one in panels]
    return Table(["training", "F1", "ECE"], rows)


def means_table(what: str, summary: Dict[str, Dict[str, Any]]) -> Table:
    """RETURNS (Table): means and standard deviations, by name.

    what (str): the header of the names.
    summary (Dict[str, Dict[str, Any]]): `mean` and `sd` by name.
    """
    rows = [
        [name, mean_and_spread(row["mean"], row["sd"])] for name, row in summary.items()
    ]
    return Table([what, "mean ± sd"], rows)
