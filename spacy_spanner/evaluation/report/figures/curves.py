"""Precision, recall and F1 against the threshold."""

from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from .style import BLUE, MUTED, ORANGE, RED, new_figure, percent_axis, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = List[Dict[str, float]]

# Panels of a figure; the JSON file holds the curves of all labels.
MAX_PANELS = 18
N_COLUMNS = 3


@styled
def threshold_figure(curve: Curve, current: float, best: float) -> "Figure":
    """Draw the curve of all spans.

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

    curves (Dict[str, Curve]): by label; the first are drawn.
    current (Dict[str, float]): threshold of each label now.
    RETURNS (Figure): a grid of panels.
    """
    labels = list(curves)[:MAX_PANELS]
    n_columns = min(N_COLUMNS, len(labels))
    n_rows = -(-len(labels) // n_columns)
    figure, axes = new_figure(
        height=0.35 + 1.45 * n_rows, heights=[1.0] * n_rows, columns=n_columns
    )
    panels = list(np.ravel(axes))
    for place, panel in enumerate(panels):
        if place >= len(labels):
            panel.set_visible(False)
            continue
        label = labels[place]
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
