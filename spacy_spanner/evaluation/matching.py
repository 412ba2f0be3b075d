"""Pair predicted spans with gold spans, classify the errors, and score partial matches.

Each span is part of at most one pair. Pairs with a larger overlap are made first, so
that the result does not depend on the order of the spans.

Partial matches get credit as in SemEval-2013 task 9.1 ("strict", "exact", "type",
"partial"), except that spans are paired by overlap instead of order.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from .counts import Counts, Reading, SpanKey

Admissible = Callable[[SpanKey, SpanKey], bool]

# From best to worst; a span is paired by the first rule that finds a partner.
CORRECT, LABEL, BOUNDARY, BOTH = "correct", "label", "boundary", "both"
MISSED, SPURIOUS = "missed", "spurious"
KINDS = (CORRECT, LABEL, BOUNDARY, BOTH, MISSED, SPURIOUS)
# What counts as correct for each score, in the order of the tables.
PARTIAL_SCORES = {
    "strict": "boundaries and label correct",
    "exact": "boundaries correct, any label",
    "overlap_type": "label correct, boundaries overlap",
    "partial": "any overlap, any label; half a point if boundaries differ",
    "type": "label correct anywhere in the document",
}


class Match(NamedTuple):
    """A gold span and the predicted span paired with it, or one of them alone.

    gold (Optional[SpanKey]): None for a spurious span.
    predicted (Optional[SpanKey]): None for a missed span.
    kind (str): "correct"; "label" (only the label is wrong); "boundary" (only the
        boundaries are wrong); "both" (label and boundaries are wrong, but the spans
        overlap); "missed" or "spurious" (no partner).
    """

    gold: Optional[SpanKey]
    predicted: Optional[SpanKey]
    kind: str


def same_boundaries(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): whether start and end are the same."""
    return one[:2] == other[:2]


def same_label(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): whether the labels are the same."""
    return one[2] == other[2]


def any_pair(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): True; only overlapping spans are candidates."""
    return True


RULES: Dict[str, Admissible] = {
    CORRECT: lambda one, other: one == other,
    LABEL: same_boundaries,
    BOUNDARY: same_label,
    BOTH: any_pair,
}


def overlap_ratio(one: SpanKey, other: SpanKey) -> float:
    """RETURNS (float): intersection over union, in tokens."""
    shared = min(one[1], other[1]) - max(one[0], other[0])
    union = max(one[1], other[1]) - min(one[0], other[0])
    return max(shared, 0) / union


def pair_spans(
    gold: Iterable[SpanKey], predicted: Iterable[SpanKey], admissible: Admissible
) -> List[Tuple[SpanKey, SpanKey]]:
    """Pair overlapping spans one to one, the largest overlap first.

    admissible (Admissible): whether a gold and a predicted span may be paired.
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
    """YIELDS (Tuple[SpanKey, SpanKey]): overlapping spans of two sorted lists."""
    starts = [span[0] for span in predicted]
    longest = max((span[1] - span[0] for span in predicted), default=0)
    for wanted in gold:
        first = bisect_right(starts, wanted[0] - longest)
        for found in predicted[first : bisect_left(starts, wanted[1])]:
            if found[1] > wanted[0]:
                yield wanted, found


def match_reading(reading: Reading) -> List[Match]:
    """RETURNS (List[Match]): the spans of a document, in its order; each is part of
    exactly one match.
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
    return sorted(matches, key=lambda match: match.gold or match.predicted or ())


def count_kinds(matches: Iterable[Match]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): number of matches of every kind."""
    counts = Counter(match.kind for match in matches)
    return {kind: counts[kind] for kind in KINDS}


def partial_scores(readings: Iterable[Reading]) -> Dict[str, Dict[str, Any]]:
    """Compute scores with credit for partial matches.

    RETURNS (Dict[str, Dict[str, Any]]): for each of `PARTIAL_SCORES`, the `credit` in
        points, and `p`, `r`, `f`, which are None if there are no spans.
    """
    credit = dict.fromkeys(PARTIAL_SCORES, 0.0)
    n_gold = n_predicted = 0
    for reading in readings:
        n_gold += len(reading.gold)
        n_predicted += len(reading.predicted)
        for name, points in _credits(reading).items():
            credit[name] += points
    return {
        name: {"credit": points, **Counts(points, n_gold, points, n_predicted).prf}
        for name, points in credit.items()
    }


def _credits(reading: Reading) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): the points of a document for each score."""
    gold, predicted = reading.gold, set(reading.predicted)
    overlapping = pair_spans(gold, predicted, any_pair)
    exact = sum(same_boundaries(*pair) for pair in overlapping)
    labels = [Counter(label for _, _, label in spans) for spans in (gold, predicted)]
    return {
        "strict": len(gold & predicted),
        "exact": len(pair_spans(gold, predicted, same_boundaries)),
        "overlap_type": len(pair_spans(gold, predicted, same_label)),
        "partial": exact + (len(overlapping) - exact) / 2,
        "type": (labels[0] & labels[1]).total(),
    }
