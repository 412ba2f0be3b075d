"""What became of the gold and the predicted spans, by kind of error."""

from typing import TYPE_CHECKING, Dict

from .style import BLUE, MUTED, ORANGE, RED, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "label": "wrong label only",
    "boundary": "wrong boundaries only",
    "both": "both wrong, overlap",
    "missed": "missed",
    "spurious": "spurious",
}
COLORS = {
    "label": ORANGE,
    "boundary": BLUE,
    "both": MUTED,
    "missed": RED,
    "spurious": RED,
}


@styled
def kinds_figure(kinds: Dict[str, int]) -> "Figure":
    """Draw how many errors there are of each kind.

    kinds (Dict[str, int]): see `matching.count_kinds`.
    RETURNS (Figure): a bar a kind.
    """
    figure, axes = new_figure(height=2.1)
    rows = list(reversed(NAMES))
    values = [kinds[kind] for kind in rows]
    most = max([*values, 1])
    colors = [COLORS[kind] for kind in rows]
    axes.barh([NAMES[kind] for kind in rows], values, color=colors, height=0.62)
    for row, value in enumerate(values):
        place = value + 0.02 * most
        axes.text(place, row, f"{value:,}", va="center", fontsize=9)
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    return figure
