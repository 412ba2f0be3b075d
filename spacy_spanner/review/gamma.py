"""A measure like gamma of Mathet et al. (2015): align spans, and compare with chance.

The best alignment of two versions pairs spans or leaves them alone. A pair costs the
square of how far its boundaries are apart, relative to its lengths, plus 1 for
different labels; a span alone costs 1. The disorder is the cost by the mean number of
spans of a version. Gamma is 1 minus the disorder, divided by that of versions which are
shifted along the corpus at random.

Gamma aligns the spans of all versions at once, and takes each document for itself.
Here, more than two versions are compared in pairs, and all documents have one disorder
by chance, because a sentence is too short to shift spans in.
"""

from typing import List, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from .pairwise import expand, join, length_classes
from .versions import Ints, Units

ALONE = 1.0  # the cost of a span without a partner
N_SAMPLES = 30
Doubles = NDArray[np.float64]


class Placed(NamedTuple):
    """Spans on one axis, on which documents follow each other. Shapes: (span,)

    start, end, label: as in `Units`, but on this axis.
    doc (Ints): number of the document; spans are only aligned within one.
    """

    start: Doubles
    end: Doubles
    label: Ints
    doc: Ints

    @classmethod
    def of(cls, units: Units, offsets: Ints) -> "Placed":
        """RETURNS (Placed): spans of documents that begin at these characters."""
        offset = offsets[units.doc]
        start, end = (
            (column + offset).astype(np.float64) for column in (units.start, units.end)
        )
        return cls(start, end, units.label, units.doc)

    def shifted(self, by: float, size: float) -> "Placed":
        """RETURNS (Placed): spans moved along the axis, those at its end to its start,
        as if there were one document.
        """
        start = (self.start + by) % size
        end = start + (self.end - self.start)
        return Placed(start, end, self.label, np.zeros_like(self.doc))


class Edges(NamedTuple):
    """Pairs that cost less than two spans alone. Shapes: (pair,)"""

    one: Ints
    two: Ints
    cost: Doubles


def edges_of(first: Placed, second: Placed) -> Edges:
    """RETURNS (Edges): the pairs that an alignment may have."""
    reach = np.sqrt(2 * ALONE)  # of distances, relative to the sum of the lengths
    lengths, others = first.end - first.start, second.end - second.start
    middle, centres = (first.start + first.end) / 2, (second.start + second.end) / 2
    order = np.argsort(centres, kind="stable")
    whole = np.ceil(others).astype(np.int64)
    found = []
    for longest in length_classes(whole):
        here = order[(whole[order] <= longest) & (2 * whole[order] > longest)]
        # Boundaries are at least as far apart as the double distance of the centres.
        wide = reach * (lengths + longest) / 2
        lows = np.searchsorted(centres[here], middle - wide, side="left")
        highs = np.searchsorted(centres[here], middle + wide, side="right")
        one, place = expand(lows, highs)
        found.append((one, here[place]))
    one, two = join(found)
    apart = np.abs(first.start[one] - second.start[two])
    apart += np.abs(first.end[one] - second.end[two])
    cost = ALONE * (apart / (lengths[one] + others[two])) ** 2
    cost += ALONE * (first.label[one] != second.label[two])
    kept = (cost < 2 * ALONE) & (first.doc[one] == second.doc[two])
    return Edges(one[kept], two[kept], cost[kept])


def aligned(first: Placed, second: Placed) -> Edges:
    """RETURNS (Edges): the pairs of the best alignment; all other spans are alone."""
    edges = edges_of(first, second)
    sizes = len(first.start), len(second.start)
    n_one = np.bincount(edges.one, minlength=sizes[0])
    n_two = np.bincount(edges.two, minlength=sizes[1])
    # Most spans have one possible partner, which has no other.
    simple = (n_one[edges.one] == 1) & (n_two[edges.two] == 1)
    rest = Edges(*(column[~simple] for column in edges))
    chosen = _assign(rest)
    parts = zip((c[simple] for c in edges), (c[chosen] for c in rest))
    return Edges(*(np.concatenate(pair) for pair in parts))


def _assign(edges: Edges) -> Ints:
    """RETURNS (Ints): indices of the pairs of the cheapest alignment. Shape: (pair,)

    Every span has a stand-in on the other side, which it is matched with if it is
    alone. The stand-ins of two paired spans are matched with each other, for nothing.
    """
    if not len(edges.one):
        return np.zeros(0, dtype=np.int64)
    _, one = np.unique(edges.one, return_inverse=True)
    _, two = np.unique(edges.two, return_inverse=True)
    n, m = int(one.max()) + 1, int(two.max()) + 1
    left, right = np.arange(n), np.arange(m)
    rows = np.concatenate([one, left, n + right, n + two])
    columns = np.concatenate([two, m + left, right, m + one])
    alone, free = np.full(n + m, ALONE), np.zeros(len(one))
    # The solver takes 0 for no edge; 1 more for every row changes nothing.
    weights = 1 + np.concatenate([edges.cost, alone, free])
    graph = coo_array((weights, (rows, columns)), shape=(n + m, n + m)).tocsr()
    matched_rows, matched = min_weight_full_bipartite_matching(graph)
    partner = np.empty(n + m, dtype=np.int64)
    partner[matched_rows] = matched
    return np.flatnonzero(partner[one] == two)


def doc_costs(first: Placed, second: Placed, n_docs: int) -> Doubles:
    """RETURNS (Doubles): cost of the best alignment, and mean number of spans of both,
    by document. Shape: (doc, 2)
    """
    pairs = aligned(first, second)
    counts = np.bincount(first.doc, minlength=n_docs)
    counts = counts + np.bincount(second.doc, minlength=n_docs)
    inside = first.doc[pairs.one]
    paired = np.bincount(inside, minlength=n_docs)
    cost = np.bincount(inside, weights=pairs.cost, minlength=n_docs)
    alone = counts - 2 * paired
    return np.stack([cost + ALONE * alone, counts / 2], axis=1)


def disorder_by_chance(
    versions: Sequence[Placed],
    size: float,
    rng: np.random.Generator,
    n_samples: int = N_SAMPLES,
) -> Optional[float]:
    """RETURNS (Optional[float]): the mean disorder of two versions, chosen at random,
    one of which is shifted; None if they have no spans.

    versions (Sequence[Placed]): the versions to choose from.
    size (float): length of the axis.
    """
    lengths = np.concatenate([one.end - one.start for one in versions])
    if not len(lengths):
        return None
    # A shift that is too short would be no shift.
    least = min(float(lengths.mean()) / 2, size / 2)
    found: List[float] = []
    for _ in range(n_samples):
        one, two = (versions[k] for k in rng.integers(len(versions), size=2))
        by = rng.uniform(least, size - least)
        cost, n_spans = doc_costs(one.shifted(0.0, size), two.shifted(by, size), 1)[0]
        if n_spans:
            found.append(cost / n_spans)
    return float(np.mean(found)) if found else None


def gamma_from(costs: Doubles, chance: Optional[float]) -> Doubles:
    """RETURNS (Doubles): gamma; not a number without spans or chance. Shape: (...)

    costs (Doubles): sums of `doc_costs`. Shape: (..., 2)
    chance (Optional[float]): see `disorder_by_chance`.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        disorder = costs[..., 0] / np.where(costs[..., 1] > 0, costs[..., 1], np.nan)
        return 1 - disorder / (chance if chance else np.nan)
