"""Pair seed spans with gold, and choose the seeds of training (Section 3.5)."""

from typing import NamedTuple, Optional, Sequence

import numpy as np

from ...spans.geometry import SpanCells, enumerate_spans, iou
from ...spans.layouts import PaddedGold
from ...spans.table import Bools, Floats, Ints


class SeedTargets(NamedTuple):
    """The seeds of a batch that training uses, and the gold that each fits best.

    seeds (SpanCells): columns (seed,)
    gold (Ints): which gold span of its window fits a seed best. Shape: (seed,)
    iou (Floats): how well it fits, 0 without any. Shape: (seed,)
    positive (Bools): whether that is well enough. Shape: (seed,)
    grid (PaddedGold): the gold of all windows.
    """

    seeds: SpanCells
    gold: Ints
    iou: Floats
    positive: Bools
    grid: PaddedGold

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


def count_seeds(n_tokens: int, sizes: Sequence[int]) -> int:
    """RETURNS (int): how many seeds a window of so many tokens has."""
    return sum(n_tokens - size + 1 for size in set(sizes) if size <= n_tokens)


def assign(seeds: SpanCells, grid: PaddedGold, threshold: float) -> SeedTargets:
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
    """Find the gold that fits none of the seeds paired with it well enough.

    threshold (float): the intersection over union that counts as well enough.
    RETURNS (Bools): (batch, gold)
    """
    fits = (targets.iou >= threshold) & (targets.iou > 0)
    missed = targets.grid.mask.copy()
    missed[targets.seeds.window[fits], targets.gold[fits]] = False
    return missed


def add_gold(targets: SeedTargets, wanted: Bools) -> SeedTargets:
    """Append gold spans to the seeds, as positives that fit exactly.

    wanted (Bools): which gold spans to append. Shape: (batch, gold)
    RETURNS (SeedTargets): the seeds, then these spans.
    """
    grid = targets.grid
    window, gold = np.nonzero(wanted)
    seeds = SpanCells(window, grid.start[wanted], grid.end[wanted] - 1)
    ones = np.ones(len(window), dtype=np.float32)
    return join(targets, SeedTargets(seeds, gold, ones, ones.astype(bool), grid))


def with_nearest(targets: SeedTargets, wanted: Bools) -> SeedTargets:
    """Make the seeds that fit a gold span best positive, all of them if they tie.

    If entities are much longer than the largest seed, only these entities would be
    positive, and they are no seeds in prediction.

    wanted (Bools): gold spans that need such seeds. Shape: (batch, gold)
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
    # More than all seeds is as good as all, and fits into an integer.
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
