"""Figures of the papers' analyses: one function for each."""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from ...tables import percent
from .style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    RED,
    new_figure,
    percent_axis,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = [
    (BLUE, "-"),
    (ORANGE, "--"),
    (GREEN, "-."),
    (RED, ":"),
    (MUTED, "-"),
    (INK, "--"),
]
N_COLUMNS = 3


def line_style(place: int) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): colour and dashes of the line with that number."""
    color, dashes = LINES[place % len(LINES)]
    return {"color": color, "linestyle": dashes, "linewidth": 1.6}


@styled
def training_figure(runs: Sequence[Dict[str, Any]]) -> "Figure":
    """Draw loss and F1 on development data over training.

    runs (Sequence[Dict[str, Any]]): with `name` and `history`.
    RETURNS (Figure): two panels, one line a training.
    """
    figure, (losses, scores) = new_figure(height=5.0, heights=[1, 1])
    for place, run in enumerate(runs):
        steps = [row["step"] for row in run["history"]]
        style = {**line_style(place), "label": run["name"]}
        losses.plot(steps, [row["loss"] for row in run["history"]], **style)
        scores.plot(steps, [row["f"] for row in run["history"]], **style)
    losses.set_yscale("log")
    losses.set_title("loss on hard targets, development data")
    scores.set_title("F1, development data")
    percent_axis(scores)
    scores.set_xlabel("steps")
    scores.legend(loc="lower right")
    return figure


@styled
def reliability_panels(runs: Sequence[Dict[str, Any]]) -> "Figure":
    """Draw a small reliability diagram for each training.

    runs (Sequence[Dict[str, Any]]): with `name`, `reliability` and `ece`.
    RETURNS (Figure): a grid of panels.
    """
    n_columns = min(N_COLUMNS, len(runs))
    n_rows = -(-len(runs) // n_columns)
    figure, axes = new_figure(
        height=0.3 + 1.8 * n_rows, heights=[1.0] * n_rows, columns=n_columns
    )
    panels = list(np.ravel(axes))
    for panel in panels[len(runs) :]:
        panel.set_visible(False)
    for panel, run in zip(panels, runs):
        filled = [row for row in run["reliability"] or [] if row["n_spans"]]
        centres = [(row["low"] + row["high"]) / 2 for row in filled]
        panel.bar(centres, [row["accuracy"] for row in filled], width=0.09, color=BLUE)
        panel.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--")
        percent_axis(panel)
        percent_axis(panel, "x")
        panel.set_xticks([0, 0.5, 1])
        panel.set_yticks([0, 0.5, 1])
        name = run["name"].replace(" = ", "\n= ")
        panel.set_title(f"{name}, ECE {percent(run['ece'])}", fontsize=8.5)
    return figure


@styled
def landscape_figure(data: Dict[str, Any]) -> "Figure":
    """Draw the loss along a direction through the weights.

    data (Dict[str, Any]): see `landscape.loss_landscape`.
    RETURNS (Figure): one line for each part of the data.
    """
    figure, axes = new_figure()
    for place, (part, losses) in enumerate(data["losses"].items()):
        axes.plot(data["positions"], losses, label=part, **line_style(place))
    axes.set_yscale("log")
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("position on a random direction (0: trained weights)")
    axes.set_ylabel("loss")
    axes.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    return figure


@styled
def lengths_figure(by_model: Dict[str, Dict[str, Dict[str, Any]]]) -> "Figure":
    """Draw F1 of several models against the length of spans.

    by_model (Dict[str, Dict[str, Dict[str, Any]]]): scores by class of length, by name
        of the model.
    RETURNS (Figure): one line a model.
    """
    figure, axes = new_figure()
    classes = list(dict.fromkeys(name for rows in by_model.values() for name in rows))
    classes.sort(key=lambda name: int(name.split("-")[0].rstrip("+")))
    for place, (model, rows) in enumerate(by_model.items()):
        values = [rows[name]["f"] if name in rows else np.nan for name in classes]
        style = {**line_style(place), "marker": "o", "markersize": 3.5}
        axes.plot(range(len(classes)), values, label=model, **style)
    axes.set_xticks(range(len(classes)), classes)
    percent_axis(axes, limit=1.02)
    axes.set_xlabel("tokens of the span")
    axes.set_ylabel("F1")
    axes.legend(loc="lower left")
    return figure


@styled
def grid_figure(data: Dict[str, Any]) -> "Figure":
    """Draw F1 and speed over two settings.

    data (Dict[str, Any]): see `settings_grid.settings_grid`.
    RETURNS (Figure): two shaded tables.
    """
    rows, columns = data["rows"], data["columns"]
    height = 1.3 + 0.34 * len(rows["values"])
    figure, (scores, speeds) = new_figure(height=2 * height, heights=[1, 1])
    shares = [[None if f is None else 100 * f for f in line] for line in data["f"]]
    _shade(scores, shares, BLUE, "{:.1f}")
    _shade(speeds, data["words_per_second"], GREEN, "{:,.0f}")
    scores.set_title("F1")
    speeds.set_title("words per second")
    for axes in (scores, speeds):
        axes.set_xticks(range(len(columns["values"])), columns["values"])
        axes.set_yticks(range(len(rows["values"])), rows["values"])
        axes.set_xlabel(columns["setting"])
        axes.set_ylabel(rows["setting"])
    return figure


def _shade(axes: "Axes", table: List[List[Any]], color: str, form: str) -> None:
    """Draw numbers on a ground that is darker where they are larger."""
    from matplotlib.patches import Rectangle

    known = [value for line in table for value in line if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    for row, line in enumerate(table):
        for column, value in enumerate(line):
            share = 0.0 if value is None else (value - low) / ((high - low) or 1)
            style: Dict[str, Any] = {"facecolor": color, "edgecolor": PAPER}
            place = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(place, 1, 1, alpha=0.08 + 0.5 * share, **style))
            text = "-" if value is None else form.format(value)
            axes.text(column, row, text, ha="center", va="center", fontsize=9)
    axes.set_xlim(-0.5, len(table[0]) - 0.5)
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


@styled
def sizes_figure(points: Dict[str, Dict[str, Any]]) -> "Figure":
    """Draw F1 against the share of training data.

    points (Dict[str, Dict[str, Any]]): `mean` and `sd` of F1 by name of the size.
    RETURNS (Figure): a line, with a bar of one standard deviation.
    """
    figure, axes = new_figure()
    shares = [float(name.rstrip("%")) for name in points]
    means = [point["mean"] or 0.0 for point in points.values()]
    spread = [point["sd"] or 0.0 for point in points.values()]
    axes.errorbar(shares, means, spread, color=BLUE, marker="o", ms=4, capsize=3)
    for share, value in zip(shares, means):
        text: Dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 9}
        axes.text(share, value + 0.03, f"{100 * value:.1f}", **text)
    percent_axis(axes)
    axes.set_xlim(0, 105)
    axes.set_xticks(shares, [f"{share:g}" for share in shares])
    axes.set_xlabel("percent of the training documents")
    axes.set_ylabel("F1")
    return figure


@styled
def seeds_figure(
    values: Dict[str, List[float]], summary: Dict[str, Dict[str, Any]]
) -> "Figure":
    """Draw scores of trainings that differ by their seed.

    values (Dict[str, List[float]]): by score, one value a seed.
    summary (Dict[str, Dict[str, Any]]): `mean` and `sd` of each.
    RETURNS (Figure): a dot a seed, a line for mean and standard deviation.
    """
    figure, axes = new_figure(height=0.9 + 0.42 * len(values))
    names = list(reversed(values))
    for row, name in enumerate(names):
        centre, spread = summary[name]["mean"], summary[name]["sd"] or 0.0
        axes.errorbar(centre, row, xerr=spread, color=INK, marker="|", ms=12, capsize=3)
        axes.scatter(
            values[name], [row] * len(values[name]), color=BLUE, s=26, alpha=0.6
        )
        shown = f"{100 * centre:.1f} ± {100 * spread:.1f}"
        axes.text(1.02, row, shown, va="center", fontsize=9, clip_on=False)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    percent_axis(axes, "x")
    axes.grid(False, axis="y")
    axes.set_xlabel("percent; dots: seeds, line: mean ± standard deviation")
    return figure
