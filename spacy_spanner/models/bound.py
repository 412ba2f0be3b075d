"""Bound the candidates of a window, on the device.

A trained model reports a few spans for each entity, but a model that is in doubt may
report nearly every span. The best of them are enough.
"""

from typing import Iterable, Optional, Tuple

import torch
from torch import Tensor

from .scored_spans import Candidates, join

STEPS = 10_000  # scores are compared to four digits, as in the choice of spans


def keep_best_of_parts(
    parts: Iterable[Candidates],
    most: Optional[int],
    n_windows: Optional[int] = None,
    slack: int = 0,
) -> Tuple[Candidates, bool]:
    """Join the candidates of a batch, and keep the best of each window. Only those that
    are kept and those of one part exist at a time.

    parts (Iterable[Candidates]): at least one part.
    most (Optional[int]): number of candidates of a window to keep; all if None.
    n_windows (Optional[int]): windows of the batch; a GPU waits if they are not known.
    slack (int): up to this many candidates of all windows are kept without asking.
    RETURNS (Tuple[Candidates, bool]): the candidates, and whether any were dropped.
    """
    best: Optional[Candidates] = None
    dropped = False
    for part in parts:
        joined = part if best is None else join([best, part])
        few = most is None or len(joined.score) <= slack
        if slack and not few:
            joined = joined.real()
        best = joined if few or most is None else keep_best(joined, most, n_windows)
        dropped = dropped or len(best.score) < len(joined.score)
    assert best is not None
    return best, dropped


def keep_best(
    found: Candidates, most: int, n_windows: Optional[int] = None
) -> Candidates:
    """Keep the best candidates of each window: those with the highest scores; of equal
    ones, those with the earlier start, the earlier end, then the lower label.

    found (Candidates): the candidates of a batch, in any order.
    most (int): number of candidates of a window to keep.
    n_windows (Optional[int]): see `keep_best_of_parts`.
    RETURNS (Candidates): those that are kept, in the order given.
    """
    if len(found.score) <= most:
        return found
    counts = _count(found.window, n_windows)
    if not bool((counts > most).any()):
        return found
    order = _preference(found).argsort(stable=True)
    first = counts.cumsum(0) - counts  # the place of the best of each window
    place = torch.arange(len(order), device=order.device)
    kept = order[place - first[found.window[order]] < most].sort().values
    return Candidates(*(column[kept] for column in found))


def _count(window: Tensor, n_windows: Optional[int]) -> Tensor:
    """RETURNS (Tensor): the candidates of each window. (window,)"""
    if n_windows is None:
        return torch.bincount(window)
    # `bincount` waits for the device.
    return window.new_zeros(n_windows).index_add_(0, window, torch.ones_like(window))


def _preference(found: Candidates) -> Tensor:
    """Compute numbers that ascend by window, then from the best candidate to the worst.

    Sorting one number is much faster than sorting by several. It cannot overflow: a
    window has at most as many pairs of tokens as scores fit into memory.

    RETURNS (Tensor): (span,)
    """
    worse = STEPS - (found.score.float() * STEPS).round().long()
    size, n_labels = found.end.max() + 1, found.label.max() + 1
    place = (found.start * size + found.end) * n_labels + found.label
    return (found.window * (STEPS + 1) + worse) * (size * size * n_labels) + place
