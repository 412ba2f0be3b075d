"""Which spans may be entities although nobody has annotated them. Numpy only.

Annotation may be incomplete in a region, and say of other spans that they are no
entities. Both is brought into one form for all models: a rate for each span and label,
the share of its entities that annotators leave out. It is 0 where annotation is
complete.
"""

from typing import List, NamedTuple, Optional, Sequence

import numpy as np

from .conflicts import conflict_with_any
from .geometry import enumerate_spans
from .layouts import FlatGold, flatten_gold
from .table import Bools, Floats, Ints, SpanTable

EVERY_LABEL = -1  # in place of a label


class Marks(NamedTuple):
    """What the annotation of a document or window says besides its entities. The labels
    of both tables may be `EVERY_LABEL`.

    incomplete (SpanTable): regions without complete annotation; the score is the share
        of entities that are missing.
    negative (SpanTable): spans that are no entities.
    """

    incomplete: SpanTable
    negative: SpanTable

    @classmethod
    def none(cls) -> "Marks":
        """RETURNS (Marks): those of complete annotation."""
        return cls(SpanTable.empty(), SpanTable.empty())

    def within(self, start: int, end: int) -> "Marks":
        """RETURNS (Marks): the parts of the regions in a window, and the negative spans
        inside it, in the positions of the window.
        """
        regions, negative = self
        regions = regions._replace(
            start=np.maximum(regions.start, start), end=np.minimum(regions.end, end)
        )
        inside = (negative.start >= start) & (negative.end <= end)
        offset = np.asarray(-start)
        return Marks(
            regions.take(regions.start < regions.end).shift(offset),
            negative.take(inside).shift(offset),
        )


def missing_rates(
    marks: Sequence[Marks],
    gold: Sequence[SpanTable],
    lengths: Ints,
    n_labels: int,
    overlap: str,
) -> Optional[Floats]:
    """Compute how many entities of each span and label are missing in the annotation.

    A span that shares a token with an incomplete region may be an entity, unless it is
    known to be none, or conflicts with an entity.

    marks (Sequence[Marks]): of each window.
    gold (Sequence[SpanTable]): the entities of each window.
    lengths (Ints): tokens per window. Shape: (batch,)
    n_labels (int): number of labels.
    overlap (str): which entities may exist together: "flat", "nested" or "any".
    RETURNS (Optional[Floats]): rates from 0 to 1; None if all are 0. Shape: (batch,
        start, last, label)
    """
    regions = [one.incomplete for one in marks]
    if not any(table.n_spans for table in regions):
        return None
    size = int(lengths.max())
    rates = np.zeros((len(lengths), size, size, n_labels), dtype=np.float32)
    rate = np.concatenate([table.score for table in regions])
    flat = flatten_gold(regions)
    for one in np.unique(rate):
        chosen = FlatGold(*(column[rate == one] for column in flat))
        np.maximum(rates, one * _touched(chosen, rates), out=rates)
    known = flatten_gold([one.negative for one in marks]), flatten_gold(gold)
    for spans in known:
        place = spans.window, spans.start, spans.last
        np.minimum.at(rates, place, ~_labels_of(spans.label, n_labels))
    cells = enumerate_spans(lengths)
    window, start, last = cells
    # Windows side by side, so that spans of different windows share no token.
    offset, other = window * size, known[1].window * size
    conflicts = conflict_with_any(
        offset + start,
        offset + last + 1,
        other + known[1].start,
        other + known[1].last + 1,
        overlap,
    )
    rates[tuple(column[conflicts] for column in cells)] = 0.0
    return rates


def _touched(regions: FlatGold, rates: Floats) -> Bools:
    """RETURNS (Bools): spans and labels that share a token with a region; False for
    pairs of tokens that are no spans. (batch, start, last, label)
    """
    batch, size, _, n_labels = rates.shape
    labels = _labels_of(regions.label, n_labels).astype(np.int64)
    edges = np.zeros((batch, size + 1, n_labels), dtype=np.int64)
    np.add.at(edges, (regions.window, regions.start), labels)
    np.subtract.at(edges, (regions.window, regions.last + 1), labels)
    covered = edges.cumsum(axis=1)[:, :-1] > 0  # (batch, token, label)
    # The number of covered tokens before each token, and up to it.
    after = covered.cumsum(axis=1)
    before = after - covered
    touched = after[:, None] > before[:, :, None]
    is_span = np.triu(np.ones((size, size), dtype=bool))
    return np.asarray(touched & is_span[:, :, None])


def _labels_of(label: Ints, n_labels: int) -> Bools:
    """RETURNS (Bools): the labels that each entry is about. (entry, label)"""
    every = (label == EVERY_LABEL)[:, None]
    return every | (label[:, None] == np.arange(n_labels))


def split_marks(marks: Marks, starts: Ints, ends: Ints) -> List[Marks]:
    """RETURNS (List[Marks]): the marks of each window of a document.

    starts, ends (Ints): the windows. Shape: (window,)
    """
    if not marks.incomplete.n_spans:  # without them, all spans are known anyway
        return [Marks.none()] * len(starts)
    return [marks.within(*window) for window in zip(starts.tolist(), ends.tolist())]
