"""Figures of scores by type, length and threshold, of calibration, and of errors."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import numpy as np

from .style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    RED,
    RULE,
    draw_cell,
    frame_grid,
    histogram_axis,
    new_figure,
    panel_grid,
    percent_axis,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = List[Dict[str, float]]

# Maximum number of panels; the JSON file has the curves of all labels.
MAX_PANELS = 18
# Maximum number of rows in a figure; tables have all of them.
MAX_ROWS = 30
# Maximum number of labels in a figure; the JSON file has all of them.
MAX_LABELS = 24
# Titles and colours of the kinds of errors, from top to bottom.
KIND_STYLES = {
    "label": ("wrong label only", ORANGE),
    "boundary": ("wrong boundaries only", BLUE),
    "both": ("both wrong, overlap", MUTED),
    "missed": ("missed", RED),
    "spurious": ("spurious", RED),
}
LEGEND_ABOVE: Any = {"loc": "lower center", "ncols": 3, "bbox_to_anchor": (0.5, 1.0)}


@styled
def by_type_figure(
    per_type: Dict[str, Dict[str, float]],
    intervals: Optional[Dict[str, Dict[str, List[float]]]] = None,
) -> "Figure":
    """Draw a bar for F1 of each type, the best on top, with its confidence interval.

    per_type (Dict[str, Dict[str, float]]): `p`, `r`, `f` by label.
    intervals (Optional[Dict[str, Dict[str, List[float]]]]): the same, by label.
    """
    ordered = sorted(per_type, key=lambda label: (per_type[label]["f"], label))
    labels = ordered[-MAX_ROWS:]
    figure, axes = new_figure(height=0.9 + 0.28 * len(labels))
    values = [per_type[label]["f"] for label in labels]
    axes.barh(labels, values, color=BLUE, height=0.62)
    for row, label in enumerate(labels):
        low, high = (intervals or {}).get(label, {}).get("f", [values[row]] * 2)
        axes.plot([low, high], [row, row], color=INK, linewidth=1.2)
        place = max(high, values[row]) + 0.015
        axes.text(place, row, f"{100 * values[row]:.1f}", va="center", fontsize=9)
    percent_axis(axes, "x", 1.12)
    axes.grid(False, axis="y")
    axes.set_xlabel("F1, line: 95 % interval")
    return figure


@styled
def by_length_figure(by_length: Dict[str, Dict[str, Any]]) -> "Figure":
    """Draw scores against the length of spans, above a histogram of the gold spans.

    by_length (Dict[str, Dict[str, Any]]): `p`, `r`, `f`, `gold` by length class.
    """
    figure, axes = new_figure(height=3.6, heights=[5, 1])
    scores, counts = axes
    names = list(by_length)
    _draw_prf(scores, names, list(by_length.values()), marker="o", ms=3.5)
    percent_axis(scores, limit=1.02)
    scores.legend(**LEGEND_ABOVE)
    gold = [row["gold"] for row in by_length.values()]
    _draw_counts(counts, range(len(names)), gold, width=0.7)
    counts.set_xticks(range(len(names)), names)
    for part in axes:
        part.set_xlim(-0.5, len(names) - 0.5)
    scores.set_xticks(range(len(names)), [""] * len(names))
    histogram_axis(counts, "tokens of the span (bars: gold spans)")
    return figure


@styled
def compare_figure(by_type: Dict[str, List[float]], names: List[str]) -> "Figure":
    """Draw F1 of two models for each type, as two dots connected by a line.

    by_type (Dict[str, List[float]]): F1 of both models, by label.
    names (List[str]): names of the models.
    """
    ordered = sorted(by_type, key=lambda label: by_type[label][1] - by_type[label][0])
    labels = ordered[:MAX_ROWS]
    figure, axes = new_figure(height=1.2 + 0.28 * len(labels))
    for row, label in enumerate(labels):
        axes.plot(by_type[label], [row, row], color=MUTED, linewidth=1.5, zorder=1)
    for side, color in enumerate((ORANGE, BLUE)):
        values = [by_type[label][side] for label in labels]
        axes.scatter(values, range(len(labels)), color=color, s=34, label=names[side])
    axes.set_yticks(range(len(labels)), labels)
    percent_axis(axes, "x", 1.0)
    axes.grid(False, axis="y")
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.legend(loc="lower left", ncols=2, bbox_to_anchor=(0, 1.0))
    axes.set_xlabel("F1")
    return figure


@styled
def kinds_figure(kinds: Dict[str, int]) -> "Figure":
    """Draw a bar for the number of errors of each kind; see `matching.count_kinds`."""
    figure, axes = new_figure(height=2.1)
    rows = list(reversed(KIND_STYLES))
    values = [kinds[kind] for kind in rows]
    most = max([*values, 1])
    titles, colors = zip(*(KIND_STYLES[kind] for kind in rows))
    axes.barh(titles, values, color=colors, height=0.62)
    for row, value in enumerate(values):
        place = value + 0.02 * most
        axes.text(place, row, f"{value:,}", va="center", fontsize=9)
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    return figure


@styled
def confusion_figure(confusion: Dict[str, Any]) -> "Figure":
    """Draw the confusion of the most frequent labels, shaded by the share of each row;
    see `error_analysis.label_confusion`. Here, "(none)" comes first: a wide figure is
    scrolled in the report, and its last columns are out of sight.
    """
    kept = _most_frequent(confusion["counts"])
    labels = [confusion["labels"][place] for place in kept]
    counts = [[confusion["counts"][row][column] for column in kept] for row in kept]
    size = len(labels)
    figure, axes = new_figure(1.5 + max(0.5 * size, 1.8), 1.2 + max(0.38 * size, 1.4))
    for row, values in enumerate(counts):
        total = max(sum(values), 1)
        for column, value in enumerate(values):
            # The first row and column count spurious and missed spans.
            color = BLUE if row == column else RED
            text = f"{value:,}" if value else ""
            draw_cell(axes, (row, column), text, value / total, color)
    frame_grid(axes, labels, labels, "predicted", "gold")
    return figure


def _most_frequent(counts: Sequence[Sequence[int]]) -> List[int]:
    """RETURNS (List[int]): indices of the labels to show, "(none)" first."""
    totals = np.sum(counts, axis=0) + np.sum(counts, axis=1)
    frequent = np.argsort(-totals[:-1], kind="stable")[:MAX_LABELS]
    return [len(counts) - 1, *sorted(frequent.tolist())]


@styled
def offset_figure(table: Dict[str, Any]) -> "Figure":
    """Draw a grid of the offsets of boundaries; the middle, where both are correct, is
    green. See `error_analysis.offset_table`.
    """
    names = [f"{offset:+d}" if offset else "0" for offset in table["offsets"]]
    names[0], names[-1] = f"<={names[0]}", f">={names[-1]}"
    figure, axes = new_figure(4.4, 3.4)
    counts = np.asarray(table["counts"])
    middle = len(counts) // 2
    wrong = counts.copy()
    wrong[middle, middle] = 0
    most = max(wrong.max(), 1)
    for (row, column), value in np.ndenumerate(counts):
        right = row == column == middle
        share = 0.35 if right and value else value / most
        text = f"{value:,}" if value else ""
        draw_cell(axes, (row, column), text, share, GREEN if right else RED)
    bottom, left = "end: predicted minus gold", "start: predicted - gold"
    frame_grid(axes, names, names, bottom, left)
    return figure


@styled
def threshold_figure(curve: Curve, current: float, best: float) -> "Figure":
    """Draw precision, recall and F1 of all spans against the threshold.

    curve (Curve): points with `threshold`, `p`, `r` and `f`.
    current, best (float): thresholds to mark.
    """
    figure, axes = new_figure()
    _draw_curve(axes, curve)
    axes.legend(**LEGEND_ABOVE)
    for threshold, color, line in ((current, MUTED, "-"), (best, RED, "--")):
        axes.axvline(threshold, color=color, linewidth=1, linestyle=line)
    shown = f"threshold (grey: now, {current:.2f}; red: best F1 here, {best:.2f})"
    axes.set_xlabel(shown)
    return figure


@styled
def label_curves_figure(
    curves: Dict[str, Curve], current: Dict[str, float]
) -> "Figure":
    """Draw a small panel for each of the first labels.

    curves (Dict[str, Curve]): see `threshold_figure`, by label.
    current (Dict[str, float]): current threshold of each label.
    """
    labels = list(curves)[:MAX_PANELS]
    figure, panels = panel_grid(len(labels), height=1.45, margin=0.35)
    for label, panel in zip(labels, panels):
        _draw_curve(panel, curves[label])
        panel.axvline(current[label], color=MUTED, linewidth=1)
        panel.set_title(label)
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.set_yticks([0, 0.5, 1])
        panel.tick_params(labelsize=8)
    return figure


def _draw_curve(axes: "Axes", curve: Curve) -> None:
    thresholds = [point["threshold"] for point in curve]
    _draw_prf(axes, thresholds, curve, linewidth=1.6)
    percent_axis(axes)
    axes.set_xlim(0, 1)


def _draw_prf(
    axes: "Axes", places: Sequence[Any], rows: Sequence[Dict[str, Any]], **style: Any
) -> None:
    """Draw a line for each of precision, recall and F1."""
    lines = {
        "p": ("precision", ORANGE, "--"),
        "r": ("recall", MUTED, ":"),
        "f": ("F1", BLUE, "-"),
    }
    for letter, (name, color, line) in lines.items():
        values = [row[letter] for row in rows]
        axes.plot(places, values, line, color=color, label=name, **style)


def _draw_counts(
    axes: "Axes", places: Sequence[float], counts: Sequence[int], width: float
) -> None:
    """Draw a histogram with the numbers in its bars."""
    axes.bar(places, counts, color=RULE, width=width)
    for place, count in zip(places, counts):
        axes.text(place, 0, f"{count:,}", ha="center", va="bottom", fontsize=8)


@styled
def reliability_figure(
    table: Sequence[Dict[str, Any]], error: Optional[float]
) -> "Figure":
    """Draw the share of correct spans by score, with the gap to the mean score, above a
    histogram of the scores.

    table (Sequence[Dict[str, Any]]): bins with the fields of `ReliabilityBin`.
    error (Optional[float]): the calibration error, for the title.
    """
    figure, axes = new_figure(height=4.0, heights=[5, 1])
    shares, counts = axes
    filled = [row for row in table if row["n_spans"]]
    centres: List[float] = [(row["low"] + row["high"]) / 2 for row in filled]
    right = [row["accuracy"] for row in filled]
    gaps = [row["confidence"] - row["accuracy"] for row in filled]
    shares.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--")
    shares.bar(centres, right, width=0.09, color=BLUE, label="share of correct spans")
    style: Dict[str, Any] = {"color": RED, "alpha": 0.35, "width": 0.05}
    shares.bar(centres, gaps, bottom=right, label="gap to the mean score", **style)
    percent_axis(shares)
    percent_axis(shares, "x")
    shares.legend(loc="upper left")
    if error is not None:
        shares.set_title(f"ECE {100 * error:.1f}", loc="right")
    _draw_counts(counts, centres, [row["n_spans"] for row in filled], width=0.09)
    percent_axis(counts, "x")
    shares.set_xticklabels([])
    histogram_axis(counts, "score in percent (lower bars: number of spans)")
    return figure
