"""Tables of counts as shaded grids: label confusion and boundary offsets."""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from .style import BLUE, GREEN, PAPER, RED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Labels of a figure that can still be read; the JSON file holds all.
MAX_LABELS = 24


@styled
def confusion_figure(confusion: Dict[str, Any]) -> "Figure":
    """Draw the confusion of labels, each row as shares of its gold spans.

    confusion (Dict[str, Any]): see `confusion.label_confusion`.
    RETURNS (Figure): a grid; the most frequent labels where there are many.
    """
    kept = _most_frequent(confusion["counts"])
    labels = [confusion["labels"][place] for place in kept]
    counts = [[confusion["counts"][row][column] for column in kept] for row in kept]
    size = len(labels)
    figure, axes = new_figure(1.5 + max(0.5 * size, 1.8), 1.2 + max(0.38 * size, 1.4))
    for row, values in enumerate(counts):
        total = max(sum(values), 1)
        for column, value in enumerate(values):
            # In the last row and column are spurious and missed spans.
            color = BLUE if row == column else RED
            _cell(axes, (row, column), value, value / total, color)
    _frame(axes, labels, labels, "predicted", "gold")
    return figure


def _most_frequent(counts: Sequence[Sequence[int]]) -> List[int]:
    """RETURNS (List[int]): places of the labels to show, "(none)" always."""
    last = len(counts) - 1
    totals = {
        place: sum(counts[place]) + sum(row[place] for row in counts)
        for place in range(last)
    }
    frequent = sorted(totals, key=lambda place: -totals[place])[:MAX_LABELS]
    return [*sorted(frequent), last]


@styled
def offset_figure(table: Dict[str, Any]) -> "Figure":
    """Draw how far the boundaries of overlapping spans are off.

    table (Dict[str, Any]): see `confusion.offset_table`.
    RETURNS (Figure): a grid; the middle, where both are right, is not shaded.
    """
    names = [f"{offset:+d}" if offset else "0" for offset in table["offsets"]]
    limit = table["offsets"][-1]
    names[0], names[-1] = f"<={names[0]}", f">={names[-1]}"
    figure, axes = new_figure(4.4, 3.4)
    middle = limit
    wrong = [
        value
        for row, values in enumerate(table["counts"])
        for column, value in enumerate(values)
        if (row, column) != (middle, middle)
    ]
    most = max([*wrong, 1])
    for row, values in enumerate(table["counts"]):
        for column, value in enumerate(values):
            right = row == column == middle
            share = 0.35 if right and value else value / most
            _cell(axes, (row, column), value, share, GREEN if right else RED)
    _frame(axes, names, names, "end: predicted minus gold", "start: predicted - gold")
    return figure


def _cell(
    axes: "Axes", cell: Tuple[int, int], value: int, share: float, color: str
) -> None:
    from matplotlib.patches import Rectangle

    row, column = cell
    place = (column - 0.5, row - 0.5)
    style: Dict[str, Any] = {"edgecolor": PAPER, "linewidth": 1.5, "facecolor": color}
    shade = Rectangle(place, 1, 1, alpha=0.06 + 0.5 * min(share, 1.0), **style)
    axes.add_patch(shade)
    if value:
        axes.text(column, row, f"{value:,}", ha="center", va="center", fontsize=9)


def _frame(
    axes: "Axes", rows: List[str], columns: List[str], bottom: str, left: str
) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    turned = max(map(len, columns)) > 5
    options: Dict[str, Any] = {"rotation": 40, "ha": "right"} if turned else {}
    axes.set_xticks(range(len(columns)), columns, fontsize=9, **options)
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(bottom)
    axes.set_ylabel(left)
