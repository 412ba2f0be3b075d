"""The table of spans, and the names of array axes.

Docstrings and comments name the axes of shapes by these words: `batch, token, start,
last, span, cell, label, class, offset, width`. A `cell` is one scored span of a batch,
a `class` "no entity" (0) or a label (its id plus one).
"""

from typing import Any, Iterable, List, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class ScoredSpan(NamedTuple):
    """A predicted span with its confidence in [0, 1]; `end` is exclusive."""

    start: int
    end: int
    label: int
    score: float


class SpanTable(NamedTuple):
    """Many spans as parallel columns, each `(span,)`; `end` is exclusive."""

    start: Ints
    end: Ints
    label: Ints
    score: Floats

    @classmethod
    def empty(cls) -> "SpanTable":
        """RETURNS (SpanTable): a table without rows."""
        return cls.of([])

    @classmethod
    def of(cls, spans: Iterable[Sequence[float]]) -> "SpanTable":
        """Build the table of labelled or scored spans; without scores they are 1.

        spans (Iterable): `(start, end, label)` or `(start, end, label, score)`.
        RETURNS (SpanTable): one row a span, in the order given.
        """
        rows = [(*span, 1.0)[:4] for span in spans]
        columns = np.asarray(rows, dtype=np.float64).reshape(-1, 4).T
        start, end, label = columns[:3].astype(np.int64)
        return cls(start, end, label, columns[3].astype(np.float32))

    @property
    def n_spans(self) -> int:
        """The number of rows (`len` is the number of columns)."""
        return int(self.start.shape[0])

    def join(self, other: "SpanTable") -> "SpanTable":
        """RETURNS (SpanTable): the rows of both, in order."""
        columns: Any = zip(self, other)
        return SpanTable(*(np.concatenate(pair) for pair in columns))

    def take(self, rows: NDArray) -> "SpanTable":
        """RETURNS (SpanTable): the rows chosen by index or by mask, in that order."""
        return SpanTable(*(column[rows] for column in self))

    def shift(self, offset: NDArray) -> "SpanTable":
        """RETURNS (SpanTable): the spans moved by `offset` tokens."""
        return self._replace(start=self.start + offset, end=self.end + offset)

    def rows(self) -> List[ScoredSpan]:
        """RETURNS (List[ScoredSpan]): the same spans as a list."""
        columns = (column.tolist() for column in self)
        return [ScoredSpan(*row) for row in zip(*columns)]
