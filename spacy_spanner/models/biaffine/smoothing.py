"""Boundary smoothing: gold spans give part of their mass to the spans around them.

Section 3.2 of "Boundary Smoothing for Named Entity Recognition" (ACL 2022).
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np

from ...spans.geometry import diamond
from ...spans.layouts import FlatGold
from ...spans.table import Floats, Ints


class SoftSpans(NamedTuple):
    """Target mass of labels on spans, each column `(entry,)`; the rest is "no entity".

    Each (window, start, last, label) occurs once.
    """

    window: Ints
    start: Ints
    last: Ints
    label: Ints
    mass: Floats


def hard_boundaries(gold: FlatGold) -> SoftSpans:
    """RETURNS (SoftSpans): mass 1 for each distinct gold span. Columns: (entry,)"""
    entries = np.unique(np.stack(gold), axis=1)
    window, start, last, label = entries
    ones = np.ones(entries.shape[1], dtype=np.float32)
    return SoftSpans(window, start, last, label, ones)


def smooth_boundaries(
    gold: SoftSpans,
    lengths: Ints,
    *,
    epsilon: float,
    distance: int,
    exclusive: bool = True,
    max_width: Optional[int] = None,
) -> SoftSpans:
    """Spread epsilon of each gold span's mass over the spans within `distance`.

    The spans at each Manhattan distance d = 1..D get epsilon / D in equal parts. Parts
    of impossible spans stay with the gold span. Parts from several gold spans add up;
    sums above 1 are scaled down to 1.

    gold (SoftSpans): distinct gold spans of a batch of windows.
    lengths (Ints): tokens per window. Shape: (batch,)
    epsilon (float): share of the mass that is spread.
    distance (int): D, the largest move of the boundaries.
    exclusive (bool): whether the labels of a span share one probability, so that
        their sum is scaled; otherwise each label has its own.
    max_width (Optional[int]): spans of more tokens are impossible.
    RETURNS (SoftSpans): the entries with mass.
    """
    limit = np.asarray(lengths)[gold.window]
    widest = limit if max_width is None else np.minimum(limit, max_width)
    kept = np.full(len(gold.mass), 1.0 - epsilon)
    parts = []
    for ring in range(1, distance + 1) if epsilon else ():
        around, returned = _share_ring(gold, limit, widest, ring, epsilon / distance)
        parts.append(around)
        kept += returned
    parts.append(gold._replace(mass=kept))
    soft = _add_up(SoftSpans(*map(np.concatenate, zip(*parts))))
    limited = soft[:3] if exclusive else soft[:4]
    return soft._replace(mass=_limit(np.stack(limited), soft.mass))


def _share_ring(
    gold: SoftSpans, limit: Ints, widest: Ints, ring: int, share: float
) -> Tuple[SoftSpans, Floats]:
    """Spread a share of mass over the spans at one distance.

    limit, widest (Ints): tokens of the window and of the widest span. Shapes: (span,)
    RETURNS (Tuple[SoftSpans, Floats]): the mass of the possible spans, and the part
        that stays with each gold span. (span,)
    """
    move_start, move_last = diamond(ring)
    start = gold.start[:, None] + move_start  # (span, move)
    last = gold.last[:, None] + move_last
    width = last - start + 1
    possible = (start >= 0) & (last < limit[:, None])
    possible &= (width >= 1) & (width <= widest[:, None])
    part = share / len(move_start)
    span = np.nonzero(possible)[0]
    around = SoftSpans(
        gold.window[span],
        start[possible],
        last[possible],
        gold.label[span],
        np.full(len(span), part),
    )
    return around, part * (~possible).sum(axis=1)


def _add_up(soft: SoftSpans) -> SoftSpans:
    """Add the mass of equal entries."""
    keys = np.stack(soft[:4])
    entries, entry = np.unique(keys, axis=1, return_inverse=True)
    mass = np.bincount(entry.reshape(-1), soft.mass, minlength=entries.shape[1])
    window, start, last, label = entries
    return SoftSpans(window, start, last, label, mass.astype(np.float32))


def _limit(keys: Ints, mass: Floats) -> Floats:
    """Scale the mass of equal keys down to a sum of 1.

    keys (Ints): (key, entry). mass (Floats): (entry,). RETURNS (Floats): (entry,)
    """
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.reshape(-1)
    overflow = np.maximum(np.bincount(group, weights=mass), 1.0)
    return (mass / overflow[group]).astype(np.float32)
