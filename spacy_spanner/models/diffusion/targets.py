"""Gold spans to the clean spans, noise and timesteps of training. Numpy only."""

import warnings
from functools import cache
from typing import Any, List, NamedTuple, Sequence

import numpy as np

from ...errors import Warnings
from ...spans.layouts import PaddedGold, pad_gold
from ...spans.table import Bools, Floats, Ints, SpanTable

EXPANSIONS = ("repeat", "random", "gaussian")


class DiffusionTargets(NamedTuple):
    """Gold, and the input of forward diffusion, for each draw of each window.

    The draws of a window are consecutive rows.

    gold (PaddedGold): (batch, gold)
    taught (Bools): gold that may be matched: all, or if there is more gold than spans,
        the part that was drawn. Shape: (batch, gold)
    start, last (Ints): the spans that noise is added to. Shape: (batch, span)
    is_gold (Bools): whether these are gold; others are random. Shape: (batch, span)
    noise (Floats): ε. Shape: (batch, span, 2)
    time (Ints): how noisy the spans of a window are. Shape: (batch,)
    """

    gold: PaddedGold
    taught: Bools
    start: Ints
    last: Ints
    is_gold: Bools
    noise: Floats
    time: Ints


def repeat_rows(gold: PaddedGold, times: int) -> PaddedGold:
    """RETURNS (PaddedGold): every window this many times in a row."""
    columns: List[Any] = [np.repeat(column, times, axis=0) for column in gold]
    return PaddedGold(*columns)


class CleanSpans(NamedTuple):
    """The spans that noise is added to, both ends inclusive. Shapes: (batch, span)

    taught (Bools): gold that is among these spans. Shape: (batch, gold)
    is_gold (Bools): whether a span is gold, or random.
    """

    taught: Bools
    start: Ints
    last: Ints
    is_gold: Bools


def expand(
    gold: PaddedGold,
    lengths: Ints,
    *,
    n_spans: int,
    expansion: str,
    rng: np.random.Generator,
) -> CleanSpans:
    """Make the same number of clean spans from the gold of every window.

    Of more gold, a random part is taken. Less gold is repeated in turns ("repeat"), or
    filled up with random spans ("random", "gaussian"). Windows without gold get random
    spans. With "gaussian", random spans only hold the places of Gaussian numbers.

    gold (PaddedGold): (batch, gold)
    lengths (Ints): tokens per window. Shape: (batch,)
    n_spans (int): K.
    expansion (str): one of `EXPANSIONS`.
    rng (Generator): source of the random order and spans.
    RETURNS (CleanSpans): (batch, span)
    """
    order = np.argsort(rng.random(gold.mask.shape) + ~gold.mask, axis=1)
    counts = gold.counts[:, None]
    turn = np.arange(n_spans)
    column = np.take_along_axis(order, turn % np.maximum(counts, 1), axis=1)
    start = np.take_along_axis(gold.start, column, axis=1)
    last = np.take_along_axis(gold.last, column, axis=1)
    limit = lengths[:, None, None]
    ends = np.sort(rng.integers(limit, size=(len(lengths), n_spans, 2)), axis=2)
    use_random = counts == 0 if expansion == "repeat" else turn >= counts
    rank = np.argsort(order, axis=1)
    return CleanSpans(
        gold.mask & (rank < n_spans),
        np.where(use_random, ends[:, :, 0], start),
        np.where(use_random, ends[:, :, 1], last),
        ~np.broadcast_to(use_random, last.shape),
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
    table = repeat_rows(pad_gold(gold), n_draws)
    lengths = np.repeat(lengths, n_draws)
    clean = expand(table, lengths, n_spans=n_spans, expansion=expansion, rng=rng)
    noise = rng.standard_normal((len(lengths), n_spans, 2), dtype=np.float32)
    time = rng.integers(n_steps, size=len(lengths))
    return DiffusionTargets(table, *clean, noise, time)


def warn_of_few_spans(gold: Sequence[SpanTable], n_spans: int) -> None:
    """Warn if prediction cannot find all spans of a window.

    n_spans (int): K in prediction.
    """
    if any(spans.n_spans > n_spans for spans in gold):
        _warn_once(n_spans)


@cache
def _warn_once(n_spans: int) -> None:
    warnings.warn(Warnings.SW040.format(spans=n_spans))
