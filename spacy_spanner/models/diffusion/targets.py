"""Gold spans to what the denoiser is taught with: noisy proposals. Numpy only."""

from typing import NamedTuple, Sequence

import numpy as np

from ...spans.table import Bools, Floats, Ints, SpanTable

EXPANSIONS = ("repeat", "random")


class GoldTable(NamedTuple):
    """Gold spans of windows, padded. Shapes: (batch, gold); `last` is inclusive.

    mask (Bools): True for real spans.
    """

    start: Ints
    last: Ints
    label: Ints
    mask: Bools

    @property
    def numbers(self) -> Ints:
        """Gold spans of each window. Shape: (batch,)"""
        return np.asarray(self.mask.sum(axis=1))


class DiffusionTargets(NamedTuple):
    """Gold, and what it becomes by forward diffusion, for each draw of each window.

    The draws of a window stand in a row.

    gold (GoldTable): (batch, gold)
    taught (Bools): which of it may be matched: all, or where there is more than spans,
        the part that was drawn. Shape: (batch, gold)
    start, last (Ints): the spans that noise is added to. Shape: (batch, span)
    noise (Floats): ε. Shape: (batch, span, 2)
    time (Ints): how noisy the spans of a window are. Shape: (batch,)
    """

    gold: GoldTable
    taught: Bools
    start: Ints
    last: Ints
    noise: Floats
    time: Ints


def gold_table(gold: Sequence[SpanTable]) -> GoldTable:
    """RETURNS (GoldTable): one row a window, at least one column."""
    numbers = np.asarray([spans.n_spans for spans in gold])
    mask = np.arange(max(numbers.max(initial=0), 1)) < numbers[:, None]
    columns = []
    for name in ("start", "end", "label"):
        column = np.zeros(mask.shape, dtype=np.int64)
        column[mask] = np.concatenate([getattr(spans, name) for spans in gold])
        columns.append(column)
    start, end, label = columns
    return GoldTable(start, np.where(mask, end - 1, 0), label, mask)


def repeat_rows(gold: GoldTable, times: int) -> GoldTable:
    """RETURNS (GoldTable): every window this many times in a row."""
    start, last, label, mask = gold
    return GoldTable(
        np.repeat(start, times, axis=0),
        np.repeat(last, times, axis=0),
        np.repeat(label, times, axis=0),
        np.repeat(mask, times, axis=0),
    )


class CleanSpans(NamedTuple):
    """The spans that noise is added to, both ends inclusive. Shapes: (batch, span)

    taught (Bools): the gold that is among them. Shape: (batch, gold)
    """

    taught: Bools
    start: Ints
    last: Ints


def expand(
    gold: GoldTable,
    lengths: Ints,
    *,
    n_spans: int,
    expansion: str,
    rng: np.random.Generator,
) -> CleanSpans:
    """Make as many spans of the gold of each window as are denoised.

    Where there is more gold, a random part of it is taken. Where there is less, it is
    repeated in turns ("repeat"), or filled up with random spans ("random"). Windows
    without gold get random spans.

    gold (GoldTable): (batch, gold)
    lengths (Ints): tokens per window. Shape: (batch,)
    n_spans (int): K.
    expansion (str): one of `EXPANSIONS`.
    rng (Generator): source of the random order and spans.
    RETURNS (CleanSpans): (batch, span)
    """
    order = np.argsort(rng.random(gold.mask.shape) + ~gold.mask, axis=1)
    numbers = gold.numbers[:, None]
    turn = np.arange(n_spans)
    column = np.take_along_axis(order, turn % np.maximum(numbers, 1), axis=1)
    start = np.take_along_axis(gold.start, column, axis=1)
    last = np.take_along_axis(gold.last, column, axis=1)
    limit = lengths[:, None, None]
    ends = np.sort(rng.integers(limit, size=(len(lengths), n_spans, 2)), axis=2)
    use_random = (turn >= numbers) if expansion == "random" else numbers == 0
    rank = np.argsort(order, axis=1)
    return CleanSpans(
        gold.mask & (rank < n_spans),
        np.where(use_random, ends[:, :, 0], start),
        np.where(use_random, ends[:, :, 1], last),
    )


def make_targets(
    gold: Sequence[SpanTable],
    lengths: Ints,
    *,
    n_spans: int,
    n_draws: int,
    n_steps: int,
    expansion: str,
    rng: np.random.Generator,
) -> DiffusionTargets:
    """Draw timesteps and noise for every window.

    gold (Sequence[SpanTable]): spans of each window.
    lengths (Ints): tokens per window. Shape: (window,)
    n_spans, n_draws, n_steps (int): K, timesteps per window, T.
    expansion (str): see `expand`.
    rng (Generator): source of all sampling.
    RETURNS (DiffusionTargets): windows × draws rows.
    """
    table = repeat_rows(gold_table(gold), n_draws)
    lengths = np.repeat(lengths, n_draws)
    clean = expand(table, lengths, n_spans=n_spans, expansion=expansion, rng=rng)
    noise = rng.standard_normal((len(lengths), n_spans, 2), dtype=np.float32)
    time = rng.integers(n_steps, size=len(lengths))
    return DiffusionTargets(table, *clean, noise, time)
