"""F1 of two versions, by document and label, counted without loops over spans.

F1 is the same whichever version counts as gold. So that this holds for each measure,
spans that only overlap are paired by a maximum matching, not one after the other.
"""

from typing import Dict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from .versions import Ints, Units

# What counts as agreement.
STRICT, BOUNDARIES, OVERLAP = "strict", "boundaries", "overlap"
MEASURES = {
    STRICT: "same boundaries and label",
    BOUNDARIES: "same boundaries, any label",
    OVERLAP: "same label, boundaries overlap",
}
Bools = NDArray[np.bool_]
Doubles = NDArray[np.float64]


class Matched(Dict[str, "tuple[Bools, Bools]"]):
    """By measure, which spans of the first and of the second version agree."""


def match(first: Units, second: Units) -> Matched:
    """RETURNS (Matched): which spans agree with one of the other version."""
    exact = ("doc", "start", "end", "label")
    return Matched(
        {
            STRICT: _in_both(first, second, *exact),
            BOUNDARIES: _in_both(first, second, *exact[:3]),
            OVERLAP: _overlapping(first, second),
        }
    )


def _in_both(first: Units, second: Units, *names: str) -> "tuple[Bools, Bools]":
    """RETURNS: which spans of each version have the same columns in the other one."""
    rows = np.stack(
        [np.concatenate([getattr(u, name) for u in (first, second)]) for name in names],
        axis=1,
    )
    if not len(rows):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    _, ids = np.unique(rows, axis=0, return_inverse=True)
    ids = ids.reshape(-1)
    one, two = ids[: len(first)], ids[len(first) :]
    return np.isin(one, two), np.isin(two, one)


def _overlapping(first: Units, second: Units) -> "tuple[Bools, Bools]":
    """RETURNS: which spans of each version are paired with one of the same label that
    overlaps them, in a pairing of as many as possible.
    """
    found = np.zeros(len(first), dtype=bool), np.zeros(len(second), dtype=bool)
    one, two = overlapping_pairs(first, second)
    same = first.label[one] == second.label[two]
    one, two = one[same], two[same]
    if len(one):
        shape = (len(first), len(second))
        graph = csr_array((np.ones(len(one)), (one, two)), shape=shape)
        partner = maximum_bipartite_matching(graph, perm_type="column")
        found[0][partner >= 0] = True
        found[1][partner[partner >= 0]] = True
    return found


def overlapping_pairs(first: Units, second: Units) -> "tuple[Ints, Ints]":
    """RETURNS (tuple[Ints, Ints]): indices of the spans that share a character. The
    spans of both are on one axis, on which documents follow each other.
    """
    width = int(max((u.end.max(initial=0) for u in (first, second)), default=0)) + 1
    starts, ends = (column + first.doc * width for column in (first.start, first.end))
    others = second.start + second.doc * width
    lengths = second.end - second.start
    order = np.argsort(others, kind="stable")
    found = []
    # By classes of length, so that one long span does not widen every search.
    for longest in length_classes(lengths):
        here = order[(lengths[order] <= longest) & (2 * lengths[order] > longest)]
        lows = np.searchsorted(others[here], starts - longest, side="right")
        highs = np.searchsorted(others[here], ends, side="left")
        one, place = expand(lows, highs)
        two = here[place]
        meet = others[two] + lengths[two] > starts[one]
        found.append((one[meet], two[meet]))
    return join(found)


def length_classes(lengths: Ints) -> Ints:
    """RETURNS (Ints): powers of two, up to the longest length. Shape: (class,)"""
    n_classes = int(lengths.max(initial=0)).bit_length() + 1
    return 2 ** np.arange(n_classes, dtype=np.int64)


def expand(lows: Ints, highs: Ints) -> "tuple[Ints, Ints]":
    """RETURNS (tuple[Ints, Ints]): for each range its index and each place in it, such
    as (0, 0, 1) and (3, 4, 7) for the ranges 3 to 5 and 7 to 8.
    """
    sizes = np.maximum(highs - lows, 0)
    owners = np.repeat(np.arange(len(lows)), sizes)
    first = np.cumsum(sizes) - sizes
    return owners, np.arange(len(owners)) - first[owners] + lows[owners]


def join(parts: "list[tuple[Ints, Ints]]") -> "tuple[Ints, Ints]":
    """RETURNS (tuple[Ints, Ints]): all pairs of several lists."""
    none = np.zeros(0, dtype=np.int64)
    one, two = (np.concatenate([none, *column]) for column in zip(*parts, (none, none)))
    return one, two


def count_table(
    first: Units, second: Units, matched: Matched, n_docs: int, n_labels: int
) -> Dict[str, Doubles]:
    """Count spans by document and label.

    RETURNS (Dict[str, Doubles]): by measure: spans of the second that agree, spans of
        the second, spans of the first that agree, spans of the first. The last label
        is that of all spans; its `boundaries` are counted once, whatever their labels.
        Shape: (doc, label + 1, 4)
    """
    tables = {}
    for name in MEASURES:
        one, two = matched[name]
        columns = [
            _count(second.take(two), n_docs, n_labels),
            _count(second, n_docs, n_labels),
            _count(first.take(one), n_docs, n_labels),
            _count(first, n_docs, n_labels),
        ]
        tables[name] = np.stack(columns, axis=-1)
        if name == BOUNDARIES:
            sides = [second.take(two), second, first.take(one), first]
            places = [_count(_distinct(side), n_docs, n_labels) for side in sides]
            tables[name][:, -1] = np.stack([p[:, -1] for p in places], axis=-1)
    return tables


def _count(units: Units, n_docs: int, n_labels: int) -> Doubles:
    """RETURNS (Doubles): number of spans. Shape: (doc, label + 1)"""
    counts = np.zeros((n_docs, n_labels + 1))
    np.add.at(counts, (units.doc, units.label), 1)
    counts[:, -1] = np.bincount(units.doc, minlength=n_docs)
    return counts


def _distinct(units: Units) -> Units:
    """RETURNS (Units): one span of those with the same boundaries."""
    rows = np.stack([units.doc, units.start, units.end], axis=1)
    _, chosen = np.unique(rows, axis=0, return_index=True)
    return units.take(chosen)
