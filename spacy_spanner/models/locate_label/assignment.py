"""Which gold a seed span belongs to, and which seeds training sees (Section 3.5)."""

from typing import NamedTuple, Optional, Sequence

import numpy as np

from ...spans.geometry import SpanCells, enumerate_spans, iou, repeats
from ...spans.table import Bools, Floats, Ints, SpanTable


class GoldGrid(NamedTuple):
    """Gold spans by window, padded: (batch, gold), at least one column.

    Where there is no gold, the span is empty, so that none overlaps it, and the label
    is -1.
    """

    start: Ints
    end: Ints
    label: Ints


class SeedTargets(NamedTuple):
    """The seeds of a batch that training sees, and what they should become.

    seeds (SpanCells): columns (seed,)
    gold (Ints): which gold span of its window fits a seed best. Shape: (seed,)
    iou (Floats): how well it fits, 0 without any. Shape: (seed,)
    positive (Bools): whether that is well enough. Shape: (seed,)
    grid (GoldGrid): the gold of all windows.
    """

    seeds: SpanCells
    gold: Ints
    iou: Floats
    positive: Bools
    grid: GoldGrid

    def take(self, rows: Bools) -> "SeedTargets":
        """RETURNS (SeedTargets): some of the seeds."""
        columns = (self.gold[rows], self.iou[rows], self.positive[rows])
        return SeedTargets(take_cells(self.seeds, rows), *columns, self.grid)


def take_cells(cells: SpanCells, rows: Bools) -> SpanCells:
    """RETURNS (SpanCells): the cells chosen by a mask."""
    return SpanCells(*(column[rows] for column in cells))


def enumerate_seeds(lengths: Ints, sizes: Sequence[int]) -> SpanCells:
    """List the spans of the given sizes, in the order window, start, last.

    lengths (Ints): tokens per window. Shape: (batch,)
    sizes (Sequence[int]): widths in tokens.
    RETURNS (SpanCells): the seeds.
    """
    cells = enumerate_spans(lengths, max(sizes))
    return take_cells(cells, np.isin(cells.last - cells.start + 1, sizes))


def pad_gold(gold: Sequence[SpanTable]) -> GoldGrid:
    """Put the gold of windows into one grid, a span of several labels once.

    gold (Sequence[SpanTable]): spans of each window.
    RETURNS (GoldGrid): in the order of the tables.
    """
    gold = [spans.take(~repeats(spans)) for spans in gold]
    size = max([1, *(spans.n_spans for spans in gold)])
    grid = np.zeros((3, len(gold), size), dtype=np.int64)
    grid[2] = -1
    for window, spans in enumerate(gold):
        grid[:, window, : spans.n_spans] = spans[:3]
    return GoldGrid(*grid)


def assign(seeds: SpanCells, grid: GoldGrid, threshold: float) -> SeedTargets:
    """Pair each seed with the gold span that it overlaps most; ties go to the first.

    threshold (float): α1, the intersection over union from which a seed is positive.
    RETURNS (SeedTargets): all of the seeds.
    """
    start, end = (column[seeds.window] for column in grid[:2])  # (seed, gold)
    fit = iou(seeds.start[:, None], seeds.last[:, None] + 1, start, end)
    gold = fit.argmax(axis=1)
    best = np.take_along_axis(fit, gold[:, None], axis=1)[:, 0]
    positive = (best >= threshold) & (best > 0)
    return SeedTargets(seeds, gold, best.astype(np.float32), positive, grid)


def missed_gold(targets: SeedTargets, threshold: float) -> Bools:
    """Find the gold that no seed was paired with which fits it well enough.

    threshold (float): the intersection over union that is enough.
    RETURNS (Bools): (batch, gold)
    """
    fits = (targets.iou >= threshold) & (targets.iou > 0)
    missed = targets.grid.label >= 0
    missed[targets.seeds.window[fits], targets.gold[fits]] = False
    return missed


def add_gold(targets: SeedTargets, wanted: Bools) -> SeedTargets:
    """Put gold spans behind the seeds, as positives that fit exactly.

    wanted (Bools): which. Shape: (batch, gold)
    RETURNS (SeedTargets): the seeds, and these.
    """
    grid = targets.grid
    window, gold = np.nonzero(wanted)
    seeds = SpanCells(window, grid.start[wanted], grid.end[wanted] - 1)
    ones = np.ones(len(window), dtype=np.float32)
    return join(targets, SeedTargets(seeds, gold, ones, ones.astype(bool), grid))


def with_nearest(targets: SeedTargets, wanted: Bools) -> SeedTargets:
    """Make positives of the seeds that come nearest to gold spans, ties together.

    Where entities are much longer than the largest seed, nothing would be positive but
    these entities themselves, which are no seeds in prediction.

    wanted (Bools): of which gold spans. Shape: (batch, gold)
    RETURNS (SeedTargets): the same seeds.
    """
    place = targets.seeds.window, targets.gold
    rows = np.nonzero(wanted[place] & (targets.iou > 0))[0]
    best = np.zeros(wanted.shape, dtype=np.float32)
    np.maximum.at(best, tuple(index[rows] for index in place), targets.iou[rows])
    positive = targets.positive.copy()
    positive[rows] |= targets.iou[rows] == best[place][rows]
    return targets._replace(positive=positive)


def choose_negatives(
    targets: SeedTargets,
    *,
    per_positive: Optional[int],
    extra: int,
    rng: np.random.Generator,
) -> Bools:
    """Draw negatives in proportion to the positives of their window.

    per_positive (Optional[int]): negatives for each positive; all of them if None.
    extra (int): negatives on top, so that windows without entities teach something.
    RETURNS (Bools): the chosen seeds; no positives among them. Shape: (seed,)
    """
    negative = ~targets.positive
    if per_positive is None:
        return negative
    window = targets.seeds.window
    n_windows = targets.grid.label.shape[0]
    n_positives = np.bincount(window[targets.positive], minlength=n_windows)
    # No number of negatives that exists is out of an integer's range.
    per_positive, extra = (min(n, len(window)) for n in (per_positive, extra))
    quota = per_positive * n_positives + extra  # (batch,)
    rows = np.nonzero(negative)[0]
    rows = rows[np.lexsort((rng.random(len(rows)), window[rows]))]
    # The place of each negative in the random order of its window.
    place = np.arange(len(rows)) - np.searchsorted(window[rows], window[rows])
    chosen = np.zeros_like(negative)
    chosen[rows[place < quota[window[rows]]]] = True
    return chosen


def join(one: SeedTargets, two: SeedTargets) -> SeedTargets:
    """RETURNS (SeedTargets): the seeds of both, over the same gold."""
    return SeedTargets(
        SpanCells(*(np.concatenate(columns) for columns in zip(one.seeds, two.seeds))),
        np.concatenate([one.gold, two.gold]),
        np.concatenate([one.iou, two.iou]),
        np.concatenate([one.positive, two.positive]),
        one.grid,
    )
