"""Boundary offsets: cells of the grid that point at an entity near them.

A cell `(start, last)` of one label is the "center" if it is an entity of that label;
it carries an offset if it differs from an entity in exactly one boundary, by at most
S tokens; otherwise it is out of range. The offset is the cell's boundary minus the
entity's: with "-1E" at (i, j) the entity is (i, j + 1), with "1S" it is (i - 1, j).
"""

from dataclasses import dataclass
from typing import List, NamedTuple, Tuple

import numpy as np

from ...spans.geometry import diamond
from ...spans.layouts import FlatGold
from ...spans.table import Floats, Ints

OFFSET_SIDES = ("both", "start", "end")
LETTERS = {"start": "S", "end": "E"}
OUT_OF_RANGE, CENTER = 0, 1  # the classes that exist for every S


class Offset(NamedTuple):
    """A boundary ("start" or "end") and its signed distance from that of the entity."""

    side: str
    size: int


class CellLabels(NamedTuple):
    """Classes of cells, columns `(entry,)`; cells that are left out are out of range.

    Each (window, start, last, label) occurs once.
    """

    window: Ints
    start: Ints
    last: Ints
    label: Ints
    offset: Ints


@dataclass(frozen=True)
class OffsetClasses:
    """The classes of a cell: out of range, center, and the offsets.

    If a cell could point at several entities, the lowest class counts: the center, then
    smaller offsets; of these the start before the end, and negative before positive.

    max_offset (int): S, the largest distance; 0 leaves only the center.
    sides (str): which boundaries may differ: "both", "start" or "end".
    """

    max_offset: int
    sides: str

    @property
    def used_sides(self) -> Tuple[str, ...]:
        """The sides that have offsets, in the order of the classes."""
        return ("start", "end") if self.sides == "both" else (self.sides,)

    @property
    def offsets(self) -> List[Offset]:
        """The offsets in the order of their classes, which follow the center."""
        return [
            Offset(side, sign * size)
            for size in range(1, self.max_offset + 1)
            for side in self.used_sides
            for sign in (-1, 1)
        ]

    @property
    def n_classes(self) -> int:
        """4 S + 2, or 2 S + 2 with one side."""
        return 2 + len(self.offsets)

    @property
    def names(self) -> List[str]:
        """Names of the classes from the center on, as in the paper: "0", "-1S"..."""
        return ["0", *(f"{size}{LETTERS[side]}" for side, size in self.offsets)]

    @property
    def moves(self) -> Tuple[Ints, Ints]:
        """Cell minus entity, at the start and at the end, of the classes from the
        center on. Shapes: (class - 1,)
        """
        start = [size if side == "start" else 0 for side, size in self.offsets]
        last = [size if side == "end" else 0 for side, size in self.offsets]
        return (
            np.asarray([0, *start], dtype=np.int64),
            np.asarray([0, *last], dtype=np.int64),
        )


def label_cells(gold: FlatGold, *, lengths: Ints, classes: OffsetClasses) -> CellLabels:
    """Find the cells that are entities or point at one.

    gold (FlatGold): gold spans of a batch. Columns: (span,)
    lengths (Ints): tokens per window. Shape: (batch,)
    classes (OffsetClasses): S and the sides.
    RETURNS (CellLabels): sorted by window, start, last, label.
    """
    window, start, last, label = gold
    move_start, move_last = classes.moves
    starts = start[:, None] + move_start  # (span, class - 1)
    lasts = last[:, None] + move_last
    possible = (starts >= 0) & (starts <= lasts)
    possible &= lasts < np.asarray(lengths)[window][:, None]
    span, offset = np.nonzero(possible)
    entries = np.stack(
        [window[span], starts[possible], lasts[possible], label[span], offset + CENTER]
    )
    order = np.lexsort(entries[::-1])
    entries = entries[:, order]
    # The lowest class of each cell and label comes first.
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any(entries[:4, 1:] != entries[:4, :-1], axis=0)
    return CellLabels(*entries[:, first])


class SoftCellLabels(NamedTuple):
    """Target mass of classes on cells, columns `(entry,)`; the rest is out of range.

    An entry may occur more than once; its masses add up.
    """

    window: Ints
    start: Ints
    last: Ints
    label: Ints
    offset: Ints
    mass: Floats


def smooth_cells(
    gold: FlatGold,
    *,
    lengths: Ints,
    classes: OffsetClasses,
    epsilon: float,
    distance: int,
) -> SoftCellLabels:
    """Label cells as if the boundaries of the gold were known up to a small move.

    The moves at each Manhattan distance d = 1..D have the probability epsilon / D, in
    equal parts; spans that a move would make impossible are not moved. The targets of a
    cell are its classes under each move, weighted by the probability of the move. So
    the mass of a cell and label is at most 1.

    gold (FlatGold): gold spans of a batch. Columns: (span,)
    lengths (Ints): tokens per window. Shape: (batch,)
    classes (OffsetClasses): S and the sides.
    epsilon (float): probability that the boundaries are moved.
    distance (int): D, the largest move.
    RETURNS (SoftCellLabels): the entries with mass.
    """
    limit = np.asarray(lengths)[gold.window]
    moves = [(0, 0, 1.0 - epsilon)]
    for ring in range(1, distance + 1) if epsilon else ():
        part = epsilon / distance / (4 * ring)
        moves += [(*move, part) for move in zip(*map(np.ndarray.tolist, diamond(ring)))]
    parts = []
    for move_start, move_last, mass in moves:
        start, last = gold.start + move_start, gold.last + move_last
        possible = (start >= 0) & (start <= last) & (last < limit)
        moved = gold._replace(
            start=np.where(possible, start, gold.start),
            last=np.where(possible, last, gold.last),
        )
        cells = label_cells(moved, lengths=lengths, classes=classes)
        weight = np.full(len(cells.window), mass, dtype=np.float32)
        parts.append(SoftCellLabels(*cells, weight))
    return SoftCellLabels(*map(np.concatenate, zip(*parts)))
