"""Pair predicted spans with gold spans, and name the kind of each error.

A span takes part in one pair at most; of several possible pairs, the one with the
largest overlap is made first. So the result depends on no order.
"""

from bisect import bisect_left, bisect_right
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .readings import Reading, SpanKey

Admissible = Callable[[SpanKey, SpanKey], bool]

# From best to worst; a span is paired by the first rule that finds it a partner.
CORRECT, LABEL, BOUNDARY, BOTH = "correct", "label", "boundary", "both"
MISSED, SPURIOUS = "missed", "spurious"
ERROR_KINDS = (LABEL, BOUNDARY, BOTH, MISSED, SPURIOUS)


class Match(NamedTuple):
    """A gold span and the predicted span that answers it; one of them may lack.

    kind (str): "correct"; "label" (boundaries right, label wrong); "boundary" (label
        right, boundaries overlap); "both" (overlap, label wrong); "missed" or
        "spurious" (no partner).
    """

    gold: Optional[SpanKey]
    predicted: Optional[SpanKey]
    kind: str


def same_boundaries(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): whether start and end agree."""
    return one[:2] == other[:2]


def same_label(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): whether the labels agree."""
    return one[2] == other[2]


def any_pair(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): True; for spans that overlap, this is enough."""
    return True


RULES: Dict[str, Admissible] = {
    CORRECT: lambda one, other: one == other,
    LABEL: same_boundaries,
    BOUNDARY: same_label,
    BOTH: any_pair,
}


def overlap_ratio(one: SpanKey, other: SpanKey) -> float:
    """RETURNS (float): shared tokens, divided by the tokens of either span."""
    shared = min(one[1], other[1]) - max(one[0], other[0])
    union = max(one[1], other[1]) - min(one[0], other[0])
    return max(shared, 0) / union


def pair_spans(
    gold: Iterable[SpanKey], predicted: Iterable[SpanKey], admissible: Admissible
) -> List[Tuple[SpanKey, SpanKey]]:
    """Pair spans that share a token, one to one, the largest overlap first.

    admissible (Admissible): which gold and predicted span may be a pair.
    RETURNS (List[Tuple[SpanKey, SpanKey]]): gold and predicted span of each pair.
    """
    candidates = [
        (-overlap_ratio(wanted, found), wanted, found)
        for wanted, found in _overlapping(sorted(gold), sorted(predicted))
        if admissible(wanted, found)
    ]
    pairs = []
    taken_gold, taken_predicted = set(), set()
    for _, wanted, found in sorted(candidates):
        if wanted not in taken_gold and found not in taken_predicted:
            pairs.append((wanted, found))
            taken_gold.add(wanted)
            taken_predicted.add(found)
    return pairs


def _overlapping(
    gold: List[SpanKey], predicted: List[SpanKey]
) -> Iterable[Tuple[SpanKey, SpanKey]]:
    """YIELDS (Tuple[SpanKey, SpanKey]): pairs that share a token; both lists sorted."""
    starts = [span[0] for span in predicted]
    longest = max((span[1] - span[0] for span in predicted), default=0)
    for wanted in gold:
        first = bisect_right(starts, wanted[0] - longest)
        for found in predicted[first : bisect_left(starts, wanted[1])]:
            if found[1] > wanted[0]:
                yield wanted, found


def match_reading(reading: Reading) -> List[Match]:
    """Explain every gold and every predicted span of a document.

    reading (Reading): the document.
    RETURNS (List[Match]): in document order; each span stands in exactly one.
    """
    gold, predicted = set(reading.gold), set(reading.predicted)
    matches = []
    for kind, admissible in RULES.items():
        for wanted, found in pair_spans(gold, predicted, admissible):
            matches.append(Match(wanted, found, kind))
            gold.discard(wanted)
            predicted.discard(found)
    matches += [Match(span, None, MISSED) for span in gold]
    matches += [Match(None, span, SPURIOUS) for span in predicted]
    return sorted(matches, key=_place)


def _place(match: Match) -> SpanKey:
    span = match.gold or match.predicted
    assert span is not None  # one of them is there by construction
    return span


def count_kinds(matches: Iterable[Match]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): matches of each kind, also of those that are absent."""
    counts = dict.fromkeys((CORRECT, *ERROR_KINDS), 0)
    for match in matches:
        counts[match.kind] += 1
    return counts
