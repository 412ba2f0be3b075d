"""Figures of the papers' analyses."""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from ...counts import shortest_length
from ...tables import percent
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = [
    (style.BLUE, "-"),
    (style.ORANGE, "--"),
    (style.GREEN, "-."),
    (style.RED, ":"),
    (style.MUTED, "-"),
    (style.INK, "--"),
]


def line_style(place: int) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): colour and dashes of a line, by its number."""
    color, dashes = LINES[place % len(LINES)]
    return {"color": color, "linestyle": dashes, "linewidth": 1.6}


@style.styled
def training_figure(runs: Sequence[Dict[str, Any]]) -> "Figure":
    """Draw losses and F1 during training: a line per run, thin on training data.

    runs (Sequence[Dict[str, Any]]): runs with `name` and `history`.
    """
    figure, panels = style.new_figure(height=7.0, heights=[1, 1, 1])
    curves = [("loss", "train_loss"), ("smoothed_loss", ""), ("f", "train_f")]
    for place, run in enumerate(runs):
        steps = [row["step"] for row in run["history"]]
        line = line_style(place)
        for panel, (on_dev, on_train) in zip(panels, curves):
            values = [row[on_dev] for row in run["history"]]
            panel.plot(steps, values, label=run["name"], **line)
            if on_train:
                values = [row[on_train] for row in run["history"]]
                panel.plot(steps, values, **{**line, "linewidth": 0.7})
    hard, smoothed, scores = panels
    hard.set_yscale("log")
    hard.set_title("loss on hard targets, thin: training data")
    smoothed.set_yscale("log")
    smoothed.set_title("loss as trained, development data")
    scores.set_title("F1, thin: training data")
    style.percent_axis(scores)
    scores.set_xlabel("steps")
    scores.legend(loc="lower right")
    return figure


@style.styled
def reliability_panels(runs: Sequence[Dict[str, Any]]) -> "Figure":
    """Draw a small reliability diagram for each training run.

    runs (Sequence[Dict[str, Any]]): runs with `name`, `reliability` and `ece`.
    """
    figure, panels = style.panel_grid(len(runs), height=1.8, margin=0.3)
    for panel, run in zip(panels, runs):
        filled = [row for row in run["reliability"] or [] if row["n_spans"]]
        centres = [(row["low"] + row["high"]) / 2 for row in filled]
        panel.bar(
            centres, [row["accuracy"] for row in filled], width=0.09, color=style.BLUE
        )
        panel.plot([0, 1], [0, 1], color=style.MUTED, linewidth=1, linestyle="--")
        style.percent_axis(panel)
        style.percent_axis(panel, "x")
        panel.set_xticks([0, 0.5, 1])
        panel.set_yticks([0, 0.5, 1])
        name = run["name"].replace(" = ", "\n= ")
        panel.set_title(f"{name}, ECE {percent(run['ece'])}", fontsize=8.5)
    return figure


@style.styled
def landscape_figure(data: Dict[str, Any]) -> "Figure":
    """Draw the loss along a direction through the weights; see `loss_landscape`."""
    figure, axes = style.new_figure()
    for place, (part, losses) in enumerate(data["losses"].items()):
        axes.plot(data["positions"], losses, label=part, **line_style(place))
    axes.set_yscale("log")
    axes.axvline(0, color=style.MUTED, linewidth=0.8)
    axes.set_xlabel("position on a random direction (0: trained weights)")
    axes.set_ylabel("loss")
    axes.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    return figure


@style.styled
def lengths_figure(by_model: Dict[str, Dict[str, Dict[str, Any]]]) -> "Figure":
    """Draw F1 of several models against the length of spans.

    by_model (Dict[str, Dict[str, Dict[str, Any]]]): scores by model and length class.
    """
    figure, axes = style.new_figure()
    classes = list(dict.fromkeys(name for rows in by_model.values() for name in rows))
    classes.sort(key=shortest_length)
    for place, (model, rows) in enumerate(by_model.items()):
        values = [rows[name]["f"] if name in rows else np.nan for name in classes]
        line = {**line_style(place), "marker": "o", "markersize": 3.5}
        axes.plot(range(len(classes)), values, label=model, **line)
    axes.set_xticks(range(len(classes)), classes)
    style.percent_axis(axes, limit=1.02)
    axes.set_xlabel("tokens of the span")
    axes.set_ylabel("F1")
    axes.legend(loc="lower left")
    return figure


@style.styled
def grid_figure(data: Dict[str, Any]) -> "Figure":
    """Draw F1 and speed for the values of two settings; see `settings_grid`."""
    rows, columns = data["rows"], data["columns"]
    height = 1.3 + 0.34 * len(rows["values"])
    figure, (scores, speeds) = style.new_figure(height=2 * height, heights=[1, 1])
    shares = [[None if f is None else 100 * f for f in line] for line in data["f"]]
    tables = [
        (scores, "F1", shares, style.BLUE, "{:.1f}"),
        (speeds, "words per second", data["words_per_second"], style.GREEN, "{:,.0f}"),
    ]
    row_names, column_names = (
        [str(value) for value in axis["values"]] for axis in (rows, columns)
    )
    for axes, title, table, color, form in tables:
        axes.set_title(title)
        _shade(axes, table, color, form)
        bottom, left = columns["setting"], rows["setting"]
        style.frame_grid(axes, row_names, column_names, bottom, left)
    return figure


@style.styled
def costs_figure(by_model: Dict[str, Dict[str, Any]]) -> "Figure":
    """Draw F1 of several models against their speed; see `model_costs`."""
    figure, axes = style.new_figure()
    for place, (model, row) in enumerate(by_model.items()):
        point = {"color": line_style(place)["color"], "marker": "o", "s": 40}
        axes.scatter(row["words_per_second"], row["f"] or 0.0, label=model, **point)
    style.percent_axis(axes)
    axes.set_xscale("log")
    axes.set_xlabel("words per second")
    axes.set_ylabel("F1")
    axes.legend(loc="lower left")
    return figure


def _shade(axes: "Axes", table: List[List[Any]], color: str, form: str) -> None:
    """Draw numbers in cells that are darker for larger numbers."""
    known = [value for line in table for value in line if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    for row, line in enumerate(table):
        for column, value in enumerate(line):
            share = 0.0 if value is None else (value - low) / ((high - low) or 1)
            text = "-" if value is None else form.format(value)
            style.draw_cell(axes, (row, column), text, share, color)


@style.styled
def sizes_figure(
    lines: Dict[str, Dict[str, Dict[str, Any]]], *, values: bool = True
) -> "Figure":
    """Draw F1 against the share of training data, with bars of one standard deviation.

    lines (Dict[str, Dict[str, Dict[str, Any]]]): `mean` and `sd` of F1 by share, such
        as "50%", by the name of the line; "" for a single one.
    values (bool): whether to write F1 at the points.
    """
    figure, axes = style.new_figure()
    for place, (name, points) in enumerate(lines.items()):
        shares = [float(share.rstrip("%")) for share in points]
        means = [point["mean"] or 0.0 for point in points.values()]
        spread = [point["sd"] or 0.0 for point in points.values()]
        line = {**line_style(place), "marker": "o", "ms": 4, "capsize": 3}
        axes.errorbar(shares, means, spread, label=name or None, **line)
        for share, value in zip(shares, means) if values else ():
            text: Dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 9}
            axes.text(share, value + 0.03, f"{100 * value:.1f}", **text)
        axes.set_xticks(shares, [f"{share:g}" for share in shares])
    if any(lines):
        axes.legend(loc="lower right")
    style.percent_axis(axes)
    axes.set_xlim(0, 105)
    axes.set_xlabel("percent of the training documents")
    axes.set_ylabel("F1")
    return figure


@style.styled
def seeds_figure(
    values: Dict[str, List[float]], summary: Dict[str, Dict[str, Any]]
) -> "Figure":
    """Draw scores of training runs with different seeds: a dot per seed, and their mean
    and standard deviation.

    values (Dict[str, List[float]]): values of each seed, by score.
    summary (Dict[str, Dict[str, Any]]): `mean` and `sd`, by score.
    """
    figure, axes = style.new_figure(height=0.9 + 0.42 * len(values))
    names = list(reversed(values))
    for row, name in enumerate(names):
        centre, spread = summary[name]["mean"], summary[name]["sd"] or 0.0
        axes.errorbar(
            centre, row, xerr=spread, color=style.INK, marker="|", ms=12, capsize=3
        )
        axes.scatter(
            values[name], [row] * len(values[name]), color=style.BLUE, s=26, alpha=0.6
        )
        shown = f"{100 * centre:.1f} ± {100 * spread:.1f}"
        axes.text(1.02, row, shown, va="center", fontsize=9, clip_on=False)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    style.percent_axis(axes, "x")
    axes.grid(False, axis="y")
    axes.set_xlabel("percent; dots: seeds, line: mean ± standard deviation")
    return figure
