"""Gold that is smoothed: its masses, and the grid of a window."""

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from spacy_spanner.models.biaffine.smoothing import (
    SoftSpans,
    hard_boundaries,
    smooth_boundaries,
)
from spacy_spanner.spans.layouts import FlatGold

Gold = Tuple[int, int, int, int]  # window, start, last, label
Masses = Dict[Gold, float]


def smooth(
    gold: Sequence[Gold],
    lengths: Sequence[int],
    epsilon: float,
    distance: int,
    max_width: Optional[int] = None,
    exclusive: bool = True,
) -> SoftSpans:
    columns = np.asarray(gold, dtype=np.int64).reshape(-1, 4).T
    return smooth_boundaries(
        hard_boundaries(FlatGold(*columns)),
        np.asarray(lengths),
        epsilon=epsilon,
        distance=distance,
        exclusive=exclusive,
        max_width=max_width,
    )


def masses(soft: SoftSpans) -> Masses:
    columns = (column.tolist() for column in soft)
    return {(w, s, e, c): mass for w, s, e, c, mass in zip(*columns)}


def grid(soft: SoftSpans, length: int, window: int = 0) -> List[List[float]]:
    """Rows are starts, columns are last tokens."""
    cells = np.zeros((length, length))
    for (at, start, last, _), mass in masses(soft).items():
        if at == window:
            cells[start, last] += mass
    return cells.round(6).tolist()
