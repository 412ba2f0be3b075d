"""Shaded grids of counts: label confusion and boundary offsets."""

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from .style import BLUE, GREEN, PAPER, RED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Maximum number of labels in a figure; the JSON file has all of them.
MAX_LABELS = 24


@styled
def confusion_figure(confusion: Dict[str, Any]) -> "Figure":
    """Draw the confusion of labels, shaded by the share of each row.

    confusion (Dict[str, Any]): see `confusion.label_confusion`.
    RETURNS (Figure): a grid of the most frequent labels.
    """
    kept = _most_frequent(confusion["counts"])
    labels = [confusion["labels"][place] for place in kept]
    counts = [[confusion["counts"][row][column] for column in kept] for row in kept]
    size = len(labels)
    figure, axes = new_figure(1.5 + max(0.5 * size, 1.8), 1.2 + max(0.38 * size, 1.4))
    for row, values in enumerate(counts):
        total = max(sum(values), 1)
        for column, value in enumerate(values):
            # The last row and column count spurious and missed spans.
            color = BLUE if row == column else RED
            text = f"{value:,}" if value else ""
            draw_cell(axes, (row, column), text, value / total, color)
    frame_grid(axes, labels, labels, "predicted", "gold")
    return figure


def _most_frequent(counts: Sequence[Sequence[int]]) -> List[int]:
    """RETURNS (List[int]): indices of the labels to show, including "(none)"."""
    last = len(counts) - 1
    totals = {
        place: sum(counts[place]) + sum(row[place] for row in counts)
        for place in range(last)
    }
    frequent = sorted(totals, key=lambda place: -totals[place])[:MAX_LABELS]
    return [*sorted(frequent), last]


@styled
def offset_figure(table: Dict[str, Any]) -> "Figure":
    """Draw the offsets of the boundaries of overlapping spans.

    table (Dict[str, Any]): see `confusion.offset_table`.
    RETURNS (Figure): a grid; the middle, with correct boundaries, is green.
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
            text = f"{value:,}" if value else ""
            draw_cell(axes, (row, column), text, share, GREEN if right else RED)
    bottom, left = "end: predicted minus gold", "start: predicted - gold"
    frame_grid(axes, names, names, bottom, left)
    return figure


def draw_cell(
    axes: "Axes", cell: Tuple[int, int], text: str, share: float, color: str
) -> None:
    """Draw a cell of a grid.

    cell (Tuple[int, int]): row and column.
    share (float): darkness from 0 to 1.
    """
    from matplotlib.patches import Rectangle

    row, column = cell
    corner = (column - 0.5, row - 0.5)
    style: Dict[str, Any] = {"edgecolor": PAPER, "linewidth": 1.5, "facecolor": color}
    shade = Rectangle(corner, 1, 1, alpha=0.06 + 0.5 * min(share, 1.0), **style)
    axes.add_patch(shade)
    axes.text(column, row, text, ha="center", va="center", fontsize=9)


def frame_grid(
    axes: "Axes", rows: List[str], columns: List[str], bottom: str, left: str
) -> None:
    """Set the limits and names of a grid.

    rows, columns (List[str]): names of rows and columns.
    bottom, left (str): titles of the axes.
    """
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
