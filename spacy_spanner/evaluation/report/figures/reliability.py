"""The reliability diagram: how often spans of a score are right."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from .style import (
    BLUE,
    MUTED,
    RED,
    RULE,
    histogram_axis,
    new_figure,
    percent_axis,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def reliability_figure(
    table: Sequence[Dict[str, Any]], error: Optional[float]
) -> "Figure":
    """Draw the share of right spans in each bin of scores.

    table (Sequence[Dict[str, Any]]): bins as `calibration.ReliabilityBin` names them.
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
    shares.bar(centres, right, width=0.09, color=BLUE, label="share of right spans")
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
