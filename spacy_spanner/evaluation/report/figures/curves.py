"""Curves of scores against the threshold, and the reliability diagram."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from .style import (
    BLUE,
    MUTED,
    ORANGE,
    RED,
    RULE,
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


@styled
def threshold_figure(curve: Curve, current: float, best: float) -> "Figure":
    """Draw precision, recall and F1 of all spans against the threshold.

    curve (Curve): points with `threshold`, `p`, `r` and `f`.
    current, best (float): thresholds to mark.
    RETURNS (Figure): three lines.
    """
    figure, axes = new_figure()
    _draw(axes, curve, legend=True)
    for threshold, color, line in ((current, MUTED, "-"), (best, RED, "--")):
        axes.axvline(threshold, color=color, linewidth=1, linestyle=line)
    shown = f"threshold (grey: now, {current:.2f}; red: best F1 here, {best:.2f})"
    axes.set_xlabel(shown)
    return figure


@styled
def label_curves_figure(
    curves: Dict[str, Curve], current: Dict[str, float]
) -> "Figure":
    """Draw a small panel for each label.

    curves (Dict[str, Curve]): curves by label; only the first ones are drawn.
    current (Dict[str, float]): current threshold of each label.
    RETURNS (Figure): a grid of panels.
    """
    labels = list(curves)[:MAX_PANELS]
    figure, panels = panel_grid(len(labels), height=1.45, margin=0.35)
    for label, panel in zip(labels, panels):
        _draw(panel, curves[label], legend=False)
        panel.axvline(current[label], color=MUTED, linewidth=1)
        panel.set_title(label)
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.set_yticks([0, 0.5, 1])
        panel.tick_params(labelsize=8)
    return figure


def _draw(axes: "Axes", curve: Curve, *, legend: bool) -> None:
    thresholds = [point["threshold"] for point in curve]
    lines: Dict[str, Any] = {
        "p": ("precision", ORANGE, "--"),
        "r": ("recall", MUTED, ":"),
        "f": ("F1", BLUE, "-"),
    }
    for letter, (name, color, style) in lines.items():
        values = [point[letter] for point in curve]
        axes.plot(thresholds, values, style, color=color, linewidth=1.6, label=name)
    percent_axis(axes)
    axes.set_xlim(0, 1)
    if legend:
        axes.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))


@styled
def reliability_figure(
    table: Sequence[Dict[str, Any]], error: Optional[float]
) -> "Figure":
    """Draw the share of correct spans by score.

    table (Sequence[Dict[str, Any]]): bins with the fields of `ReliabilityBin`.
    error (Optional[float]): the calibration error, for the title.
    RETURNS (Figure): bars with the gap to the mean score, and a histogram of scores.
    """
    figure, axes = new_figure(height=4.0, heights=[5, 1])
    shares, counts = axes
    filled = [row for row in table if row["n_spans"]]
    centres: List[float] = [(row["low"] + row["high"]) / 2 for row in filled]
    right = [row["accuracy"] for row in filled]
    sure = [row["confidence"] for row in filled]
    gaps = [confidence - accuracy for confidence, accuracy in zip(sure, right)]
    shares.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--")
    shares.bar(centres, right, width=0.09, color=BLUE, label="share of correct spans")
    style: Dict[str, Any] = {
        "color": RED,
        "alpha": 0.35,
        "label": "gap to the mean score",
    }
    shares.bar(centres, gaps, width=0.05, bottom=right, **style)
    percent_axis(shares)
    percent_axis(shares, "x")
    shares.legend(loc="upper left")
    if error is not None:
        shares.set_title(f"ECE {100 * error:.1f}", loc="right")
    counts.bar(centres, [row["n_spans"] for row in filled], width=0.09, color=RULE)
    for place, row in zip(centres, filled):
        text: Dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 8}
        counts.text(place, 0, f"{row['n_spans']:,}", **text)
    percent_axis(counts, "x")
    shares.set_xticklabels([])
    histogram_axis(counts, "score in percent (lower bars: number of spans)")
    return figure
