"""Scores that give credit for partial matches.

As in SemEval-2013 task 9.1 ("strict", "exact", "type", "partial"), except that spans
are paired by overlap instead of order.
"""

from collections import Counter
from typing import Any, Callable, Dict, Iterable, Tuple

from .counts import f_beta
from .matching import any_pair, pair_spans, same_boundaries, same_label
from .readings import Reading

# What counts as correct for each score, in the order of the tables.
PARTIAL_SCORES = {
    "strict": "boundaries and label correct",
    "exact": "boundaries correct, any label",
    "overlap_type": "label correct, boundaries overlap",
    "partial": "any overlap, any label; half a point if boundaries differ",
    "type": "label correct anywhere in the document",
}


def partial_scores(readings: Iterable[Reading]) -> Dict[str, Dict[str, Any]]:
    """Compute scores with credit for partial matches.

    readings (Iterable[Reading]): documents.
    RETURNS (Dict[str, Dict[str, Any]]): by name of the score (see `PARTIAL_SCORES`),
        the `credit` in points, and `p`, `r`, `f`, which are None if there are neither
        gold nor predicted spans.
    """
    credit = dict.fromkeys(PARTIAL_SCORES, 0.0)
    n_gold = n_predicted = 0
    for reading in readings:
        n_gold += len(reading.gold)
        n_predicted += len(reading.predicted)
        for name, give in _CREDITS.items():
            credit[name] += give(reading)
    return {
        name: {"credit": points, **_prf(points, n_gold, n_predicted)}
        for name, points in credit.items()
    }


def _prf(points: float, n_gold: int, n_predicted: int) -> Dict[str, Any]:
    if not (n_gold or n_predicted):
        return {"p": None, "r": None, "f": None}
    precision = points / n_predicted if n_predicted else 0.0
    recall = points / n_gold if n_gold else 0.0
    return {"p": precision, "r": recall, "f": f_beta(precision, recall)}


def _strict(reading: Reading) -> float:
    return len(reading.gold & reading.predicted.keys())


def _exact(reading: Reading) -> float:
    return len(pair_spans(reading.gold, reading.predicted, same_boundaries))


def _overlap_type(reading: Reading) -> float:
    return len(pair_spans(reading.gold, reading.predicted, same_label))


def _partial(reading: Reading) -> float:
    pairs = pair_spans(reading.gold, reading.predicted, any_pair)
    return sum(1.0 if same_boundaries(*pair) else 0.5 for pair in pairs)


def _type(reading: Reading) -> float:
    """Compare the number of gold and predicted spans of each label."""
    counters: Tuple[Counter, Counter] = Counter(), Counter()
    for counter, spans in zip(counters, (reading.gold, reading.predicted)):
        counter.update(label for _, _, label in spans)
    return sum((counters[0] & counters[1]).values())


_CREDITS: Dict[str, Callable[[Reading], float]] = {
    "strict": _strict,
    "exact": _exact,
    "overlap_type": _overlap_type,
    "partial": _partial,
    "type": _type,
}
