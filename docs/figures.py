"""Draw the pictures of the documentation, in light and in dark.

    python docs/figures.py

Everything that was measured is in docs/measured, with the commands that measured it.
The pictures are written to docs/images: `name.svg` for light pages, `name-dark.svg` for
dark ones.
"""

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, Callable, Dict, List, Tuple

import typer
from example_picture import example_svg

from spacy_spanner.evaluation.report.figures import style
from spacy_spanner.evaluation.report.figures.analyses import sizes_figure
from spacy_spanner.evaluation.report.figures.style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    RED,
    RULE,
)

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
# The colours of figures on dark pages, as in the style sheet of the reports.
DARK = {
    INK: "#e6ebf0",
    MUTED: "#9aa7b4",
    RULE: "#2f3a45",
    PAPER: "#19212a",
    BLUE: "#6ea8e8",
    ORANGE: "#e39a55",
    GREEN: "#5fbf8b",
    RED: "#ee7f86",
}
# Names of points that would touch others above them, by figure.
NAMED_BELOW = {
    "flat": ("span_locate_label", "span_biaffine"),
    "nested": ("span_diffusion", "span_offset"),
}
SYSTEM_COLORS = {"spancat": ORANGE, "ner": GREEN}  # all others are ours
PRECISION_COLORS = {"float32": MUTED, "bfloat16": BLUE, "int8": ORANGE}


@cache
def measured(name: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the results of a measurement."""
    path = DOCS / "measured" / f"{name}.json"
    found: Dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found


# ---------------------------------------------------------------- measured figures


@style.styled
def speed_figure(name: str, title: str) -> Any:
    """Draw F1 against words per second, a point for each system.

    name (str): a part of measured/speed.json.
    RETURNS (Figure): the figure.
    """
    figure, axes = style.new_figure(width=5.6, height=3.4)
    points = measured("speed")[name]
    fastest = max(point["words_per_second"] for point in points.values())
    for system, point in points.items():
        color = SYSTEM_COLORS.get(system, BLUE)
        place = (point["words_per_second"] / 1000, point["f"])
        axes.plot(*place, "o", color=color, markersize=8)
        shift = -9 if system in NAMED_BELOW[name] else 9
        side = {"ha": "center", "va": "top" if shift < 0 else "bottom", "fontsize": 9.5}
        offset = {"xytext": (0, shift), "textcoords": "offset points"}
        axes.annotate(system, place, color=color, **offset, **side)
    style.percent_axis(axes)
    axes.set_ylim(0.2, 0.6)
    axes.set_xlim(0, 1.12 * fastest / 1000)
    axes.set_xlabel("thousand words per second in prediction, one thread")
    axes.set_ylabel("F1")
    axes.set_title(title)
    return figure


@style.styled
def precision_figure() -> Any:
    """Draw words per second by precision, relative to the encoder alone: bars for the
    means, dots for seeds.
    """
    figure, axes = style.new_figure(width=5.6, height=3.2)
    bars = relative_speeds()
    systems = list(dict.fromkeys(system for system, _ in bars))
    for (system, precision), ratios in bars.items():
        shift = 0.27 * (list(PRECISION_COLORS).index(precision) - 1)
        place = systems.index(system) + (shift if (system, "int8") in bars else 0)
        axes.bar(place, mean(ratios), color=PRECISION_COLORS[precision], width=0.25)
        axes.plot([place] * len(ratios), ratios, ".", color=INK, markersize=3)
        label = {"ha": "center", "fontsize": 9}
        axes.text(place, max(ratios) + 0.06, f"{mean(ratios):.1f}", **label)
    axes.axhline(1, color=INK, linewidth=1, linestyle="--")
    axes.text(-0.4, 1.05, "the encoder alone", fontsize=9)
    names = [re.sub("[-_]", r"\g<0>\n", system, count=1) for system in systems]
    axes.set_xticks(range(len(systems)), names, fontsize=9)
    axes.grid(False, axis="x")
    axes.set_ylim(0, 3)
    axes.set_ylabel("words per second, relative")
    for precision, color in PRECISION_COLORS.items():
        axes.bar(0, 0, color=color, label=precision)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    return figure


def relative_speeds() -> Dict[Tuple[str, str], List[float]]:
    """RETURNS (Dict[Tuple[str, str], List[float]]): of each seed, by system and
    precision, slow systems first.
    """
    found: Dict[Tuple[str, str], List[float]] = defaultdict(list)
    for row in measured("precision")["results"]:
        if row["dataset"] == "genia" and row["system"] != "transformers":
            found[row["system"], row["precision"]].append(row["to_plain"])
    in_float32 = {system: mean(found[system, "float32"]) for system, _ in found}
    order = sorted(found, key=lambda bar: (in_float32[bar[0]], mean(found[bar])))
    return {bar: found[bar] for bar in order}


@style.styled
def reliability_figure() -> Any:
    """Draw the share of correct spans by score, before and after tuning."""
    figure, panels = style.new_figure(width=6.0, height=3.2, columns=2)
    for axes, (title, part) in zip(panels, measured("reliability")["parts"].items()):
        bins = [one for one in part["reliability"] if one["n_spans"]]
        middles = [(one["low"] + one["high"]) / 2 for one in bins]
        right = [one["accuracy"] for one in bins]
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--")
        axes.bar(middles, right, width=0.09, color=BLUE)
        axes.set_title(f"{title}: ECE {100 * part['ece']:.1f}")
        axes.set_xlabel("score in percent")
        style.percent_axis(axes)
        style.percent_axis(axes, "x")
    panels[0].set_ylabel("percent of spans that are right")
    return figure


@style.styled
def lengths_figure() -> Any:
    """Draw F1 by the length of the spans, and the number of spans."""
    figure, axes = style.new_figure(width=5.6, height=3.2)
    rows = measured("lengths")["by_length"]
    places = range(len(rows))
    axes.bar(places, [row["f"] for row in rows.values()], color=BLUE, width=0.62)
    for place, row in zip(places, rows.values()):
        text = f"{100 * row['f']:.0f}\n({row['gold']})"
        axes.text(place, row["f"] + 0.01, text, ha="center", va="bottom", fontsize=9)
    axes.set_xticks(places, list(rows))
    axes.grid(False, axis="x")
    style.percent_axis(axes, limit=1.08)
    axes.set_xlabel("tokens of the span (in brackets: gold spans)")
    axes.set_ylabel("F1")
    return figure


# ---------------------------------------------------------------- architecture

# Boxes from top to bottom: what happens, and where; see docs/architecture.md.
STEPS: List[Tuple[str, str]] = [
    ("documents", "nlp(text), nlp.pipe(texts)"),
    ("encoder: token vectors", "any spaCy tok2vec, listener or transformer"),
    ("windows of similar length", "spans/windows.py"),
    ("head: the torch module of the model", "models/<name>/module.py"),
    ("codec: scored candidates", "models/<name>/codec.py"),
    ("spans that may stand together", "spans/overlap.py"),
    ("doc.spans and doc.ents, with scores", "pipeline/annotations.py"),
]
OF_THE_MODEL = range(3, 5)


@style.styled
def architecture_figure() -> Any:
    """Draw the way of a document through a component."""
    from matplotlib.patches import FancyBboxPatch

    figure, axes = style.new_figure(width=4.6, height=5.2)
    axes.set_xlim(0, 10)
    axes.set_ylim(-len(STEPS) + 0.05, 0.1)
    axes.axis("off")
    for place, (title, where) in enumerate(STEPS):
        own = place in OF_THE_MODEL
        line = {"edgecolor": BLUE if own else MUTED, "linewidth": 1.8 if own else 0.9}
        corner = (0.6, -place - 0.72)
        shape = "round,pad=0,rounding_size=0.14"
        axes.add_patch(
            FancyBboxPatch(corner, 8.8, 0.66, boxstyle=shape, facecolor=PAPER, **line)
        )
        axes.text(5, -place - 0.28, title, ha="center", va="center", fontsize=10.5)
        small = {"ha": "center", "va": "center", "fontsize": 8.5, "color": MUTED}
        axes.text(5, -place - 0.54, where, **small)
        if place:
            arrow = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 1}
            ends = {"xy": (5, -place - 0.05), "xytext": (5, -place + 0.27)}
            axes.annotate("", arrowprops=arrow, **ends)
    return figure


# ---------------------------------------------------------------- writing

FLAT = "Flat entities, mean of five corpora"
NESTED = "Nested entities, mean of four corpora"
FIGURES: Dict[str, Callable[[], Any]] = {
    "speed": lambda: speed_figure("flat", FLAT),
    "speed-nested": lambda: speed_figure("nested", NESTED),
    "precision": precision_figure,
    "reliability": reliability_figure,
    "lengths": lengths_figure,
    "sizes": lambda: sizes_figure(measured("sizes")["lines"], values=False),
    "architecture": architecture_figure,
}


def to_dark(svg: str) -> str:
    """RETURNS (str): a picture in the colours of dark pages."""
    for light, dark in DARK.items():
        svg = re.sub(rf"(?i){light}\b", dark, svg)
    return svg


def make_pictures() -> Dict[str, str]:
    """RETURNS (Dict[str, str]): all pictures as SVG, by file name."""
    pictures = {"example": example_svg(measured("example"))}
    for name, draw in FIGURES.items():
        pictures[name] = style.to_svg(draw())
    made = {f"{name}.svg": svg for name, svg in pictures.items()}
    dark = {f"{name}-dark.svg": to_dark(svg) for name, svg in pictures.items()}
    return {**made, **dark}


def main(folder: Path = typer.Argument(IMAGES, help="Folder to write to")) -> None:
    """Write all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in make_pictures().items():
        (folder / name).write_text(svg, encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
