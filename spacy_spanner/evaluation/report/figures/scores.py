"""Bars of scores by type and by length, and of errors by kind."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .style import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    RED,
    RULE,
    histogram_axis,
    new_figure,
    percent_axis,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Maximum number of rows in a figure; tables have all of them.
MAX_ROWS = 30
KIND_TITLES = {
    "label": "wrong label only",
    "boundary": "wrong boundaries only",
    "both": "both wrong, overlap",
    "missed": "missed",
    "spurious": "spurious",
}
KIND_COLORS = {
    "label": ORANGE,
    "boundary": BLUE,
    "both": MUTED,
    "missed": RED,
    "spurious": RED,
}


@styled
def by_type_figure(
    per_type: Dict[str, Dict[str, float]],
    intervals: Optional[Dict[str, Dict[str, List[float]]]] = None,
) -> "Figure":
    """Draw F1 of each type, with its confidence interval.

    per_type (Dict[str, Dict[str, float]]): `p`, `r`, `f` by label.
    intervals (Optional[Dict[str, Dict[str, List[float]]]]): intervals by label.
    RETURNS (Figure): one bar per label, the best on top.
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
    """Draw scores against the length of spans, and the number of gold spans.

    by_length (Dict[str, Dict[str, Any]]): `p`, `r`, `f`, `gold` by length class.
    RETURNS (Figure): curves above, a histogram of the gold spans below.
    """
    figure, axes = new_figure(height=3.6, heights=[5, 1])
    scores, counts = axes
    names = list(by_length)
    styles = {"p": (ORANGE, "--"), "r": (MUTED, ":"), "f": (BLUE, "-")}
    for letter, (color, line) in styles.items():
        values = [by_length[name][letter] for name in names]
        legend = {"p": "precision", "r": "recall", "f": "F1"}[letter]
        scores.plot(names, values, line, color=color, marker="o", ms=3.5, label=legend)
    percent_axis(scores, limit=1.02)
    scores.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    counts.bar(
        names, [by_length[name]["gold"] for name in names], color=RULE, width=0.7
    )
    for place, name in enumerate(names):
        number = f"{by_length[name]['gold']:,}"
        counts.text(place, 0, number, ha="center", va="bottom", fontsize=8)
    for part in axes:
        part.set_xlim(-0.5, len(names) - 0.5)
    scores.set_xticks(range(len(names)), [""] * len(names))
    histogram_axis(counts, "tokens of the span (bars: gold spans)")
    return figure


@styled
def compare_figure(by_type: Dict[str, List[float]], names: List[str]) -> "Figure":
    """Draw F1 of two models for each type.

    by_type (Dict[str, List[float]]): F1 of both models, by label.
    names (List[str]): names of the models.
    RETURNS (Figure): two dots per label, connected by a line.
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
    """Draw the number of errors of each kind.

    kinds (Dict[str, int]): see `matching.count_kinds`.
    RETURNS (Figure): one bar per kind.
    """
    figure, axes = new_figure(height=2.1)
    rows = list(reversed(KIND_TITLES))
    values = [kinds[kind] for kind in rows]
    most = max([*values, 1])
    colors = [KIND_COLORS[kind] for kind in rows]
    axes.barh([KIND_TITLES[kind] for kind in rows], values, color=colors, height=0.62)
    for row, value in enumerate(values):
        place = value + 0.02 * most
        axes.text(place, row, f"{value:,}", va="center", fontsize=9)
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    return figure
