"""Documents to windows and back. Numpy only.

A window is a run of tokens of one document that a model sees at once. Windows bound
the memory: a model scores pairs of tokens, and pairs only exist inside a window.
"""

from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .table import Bools, Ints, SpanTable

WINDOW_MODES = ("sentence", "doc", "strided")


class WindowPlan(NamedTuple):
    """The windows of a batch of documents, each column `(window,)`.

    doc (Ints): index of the document.
    start, end (Ints): tokens of the document; `end` is exclusive.
    flat_start (Ints): `start` in the concatenation of all documents.
    """

    doc: Ints
    start: Ints
    end: Ints
    flat_start: Ints

    @property
    def lengths(self) -> Ints:
        """Tokens per window."""
        return self.end - self.start

    @property
    def n_windows(self) -> int:
        """The number of rows (`len` is the number of columns)."""
        return int(self.doc.shape[0])

    @property
    def n_padded(self) -> int:
        """The tokens of all windows, padded to the longest."""
        return self.n_windows * int(self.lengths.max(initial=0))


def strided_windows(
    start: int, end: int, max_window: int, stride: int
) -> List[Tuple[int, int]]:
    """Cut a run of tokens into overlapping windows.

    start, end (int): the run; `end` is exclusive.
    max_window (int): no window has more tokens.
    stride (int): tokens that consecutive windows share. Each span of at most this many
        tokens is inside one of the windows.
    RETURNS (List[Tuple[int, int]]): starts and exclusive ends, in order.
    """
    if end - start <= max_window:
        return [(start, end)] if end > start else []
    # Round up, so that the last window reaches the end.
    n_steps = -(-(end - start - max_window) // (max_window - stride))
    starts = [start + step * (max_window - stride) for step in range(n_steps)]
    # The last window is moved back to be full: more context costs nothing.
    return [(s, s + max_window) for s in starts] + [(end - max_window, end)]


def plan_windows(
    lengths: Sequence[int],
    sentence_starts: Sequence[Optional[Sequence[int]]],
    *,
    mode: str,
    max_window: int,
    stride: int,
) -> WindowPlan:
    """Divide documents into the windows that a model sees at once.

    lengths (Sequence[int]): tokens per document.
    sentence_starts (Sequence[Optional[Sequence[int]]]): first tokens of the sentences
        of each document; None where boundaries are unknown.
    mode (str): "sentence" keeps windows inside sentences where boundaries are known;
        "doc" and "strided" ignore them.
    max_window (int): longer sentences or documents are cut into windows of this many
        tokens.
    stride (int): tokens that consecutive windows of a cut text share.
    RETURNS (WindowPlan): windows in document order; none for an empty document.
    """
    rows: List[Tuple[int, int, int, int]] = []
    offset = 0
    for doc, (length, starts) in enumerate(zip(lengths, sentence_starts)):
        for start, end in _regions(length, starts if mode == "sentence" else None):
            for window in strided_windows(start, end, max_window, stride):
                rows.append((doc, *window, offset + window[0]))
        offset += length
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
    return WindowPlan(*table.T)


def _regions(
    length: int, sentence_starts: Optional[Sequence[int]]
) -> Iterator[Tuple[int, int]]:
    """Yield the runs of tokens that are divided separately."""
    starts = [start for start in sentence_starts or () if 0 < start < length]
    yield from zip([0, *starts], [*starts, length])


def batch_windows(
    lengths: Ints,
    max_cells: int,
    *,
    cells: Callable[[int], int] = int,
    shortest: int = 1,
    max_tokens: Optional[int] = None,
) -> List[Ints]:
    """Group windows of similar length, so that there is little padding.

    lengths (Ints): tokens per window. Shape: (window,)
    max_cells (int): limit of windows × cells of the longest in a group; a window above
        the limit is a group of its own.
    cells (Callable): the cells of a window of so many tokens, which grow with them; by
        default, its tokens.
    shortest (int): shorter windows count as this long.
    max_tokens (Optional[int]): limit of windows × longest in a group.
    RETURNS (List[Ints]): window indices of each group, longest windows first.
    """
    order = np.argsort(-lengths, kind="stable")
    groups = []
    first = 0
    while first < len(order):
        longest = max(int(lengths[order[first]]), shortest)
        size = max_cells // max(1, cells(longest))
        if max_tokens is not None:
            size = min(size, max_tokens // longest)
        size = max(1, size)
        groups.append(order[first : first + size])
        first += size
    return groups


class WindowSpans(NamedTuple):
    """Gold spans by window.

    spans (List[SpanTable]): for each window, in its own token positions.
    reachable (Bools): for each gold span, whether it is inside a window.
    """

    spans: List[SpanTable]
    reachable: Bools


def spans_in_windows(spans: SpanTable, starts: Ints, ends: Ints) -> WindowSpans:
    """Find the gold spans inside each window of one document.

    Time and memory are linear in windows, spans and pairs that are found.

    spans (SpanTable): the document's gold.
    starts, ends (Ints): the document's windows, both ascending. Shape: (window,)
    RETURNS (WindowSpans): spans by window, and which spans are in any.
    """
    # The windows that contain a span are consecutive.
    first = np.searchsorted(ends, spans.end)
    n_windows = np.maximum(np.searchsorted(starts, spans.start, "right") - first, 0)
    span = np.repeat(np.arange(spans.n_spans), n_windows)  # (pair,)
    before = np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
    window = first[span] + np.arange(len(span)) - before
    order = np.argsort(window, kind="stable")
    bounds = np.searchsorted(window[order], np.arange(len(starts) + 1))
    by_window = [
        spans.take(span[order[low:high]]).shift(-start)
        for low, high, start in zip(bounds, bounds[1:], starts.tolist())
    ]
    return WindowSpans(by_window, n_windows > 0)
