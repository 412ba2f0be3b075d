"""Layouts of the gold of several windows: one flat table, or padded. Numpy only."""

from typing import NamedTuple, Sequence

import numpy as np

from .table import Bools, Ints, SpanTable


class FlatGold(NamedTuple):
    """Gold spans of a batch, columns `(span,)`; `last` is inclusive."""

    window: Ints
    start: Ints
    last: Ints
    label: Ints


def flatten_gold(gold: Sequence[SpanTable]) -> FlatGold:
    """RETURNS (FlatGold): the gold of all windows in their order.

    gold (Sequence[SpanTable]): spans of each window.
    """
    window = np.repeat(np.arange(len(gold)), [spans.n_spans for spans in gold])
    start, end, label, _ = (np.concatenate(column) for column in zip(*gold))
    return FlatGold(window, start, end - 1, label)


class PaddedGold(NamedTuple):
    """Gold spans of a batch by window, padded. Shapes: (batch, gold)

    start, end, label (Ints): zero where padded: an empty span overlaps none.
    mask (Bools): True for gold, False for padding.
    """

    start: Ints
    end: Ints
    label: Ints
    mask: Bools

    @property
    def last(self) -> Ints:
        """The last token of each span. Shape: (batch, gold)"""
        return np.maximum(self.end - 1, 0)

    @property
    def counts(self) -> Ints:
        """Gold spans of each window. Shape: (batch,)"""
        return np.asarray(self.mask.sum(axis=1))


def pad_gold(gold: Sequence[SpanTable]) -> PaddedGold:
    """RETURNS (PaddedGold): one row for each window, at least one column.

    gold (Sequence[SpanTable]): spans of each window.
    """
    counts = np.asarray([spans.n_spans for spans in gold])
    mask = np.arange(max(counts.max(initial=0), 1)) < counts[:, None]
    columns = np.zeros((3, *mask.shape), dtype=np.int64)
    for padded, column in zip(columns, zip(*gold)):
        padded[mask] = np.concatenate(column)
    start, end, label = columns
    return PaddedGold(start, end, label, mask)
