"""Choose the documents in which a model expects most errors, and different ones.

Each candidate is a decision: it is an entity or not. With calibrated scores, one with
score p is decided wrongly with probability min(p, 1 - p). The sum over the candidates
of a document is the expected number of its wrong decisions.

Documents are chosen one after the other. A text that was chosen before, with the same
label, teaches less: each repetition counts a fraction of the one before. So gains only
fall while documents are chosen, and the greedy choice is close to the best one.
"""

import heapq
from collections import Counter
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from spacy.tokens import Doc

from ..evaluation.scorer import predicted_spans
from ..pipeline.span_scores import scores_of

# Lowest score of a candidate, and what a repetition counts.
FLOOR, REPETITION = 0.01, 0.5


class Decision(NamedTuple):
    """A candidate that is an entity or not.

    label, text (str): its label, and its text in lower case.
    error (float): the probability that it is decided wrongly.
    """

    label: str
    text: str
    error: float


class Chosen(NamedTuple):
    """A chosen document.

    place (int): its place in the pool, from 0.
    expected_errors (float): in the document alone.
    gain (float): what decided: weighted by label, and less for repeated texts.
    """

    place: int
    expected_errors: float
    gain: float


class Preferences(NamedTuple):
    """What documents are chosen by.

    weights (Mapping[str, float]): how much errors of some labels count; 1 for others.
    per_token (bool): divide expected errors by the number of tokens, to compare
        documents by the work that they take.
    repetition (float): what a repetition of the same text and label counts, compared
        with the one before; 1 for no diversity.
    """

    weights: Mapping[str, float] = {}
    per_token: bool = False
    repetition: float = REPETITION


DEFAULTS = Preferences()


def decisions_of(doc: Doc, key: str) -> Optional[List[Decision]]:
    """RETURNS (Optional[List[Decision]]): the candidates of a document that was
    predicted with a low threshold; None if they have no scores.
    """
    group = predicted_spans(doc, key)
    scores = [score for score in scores_of(doc, key) if score is not None]
    if len(scores) < len(group):
        return None
    return [
        Decision(span.label_, span.text.lower(), min(score, 1 - score))
        for span, score in zip(group, scores)
    ]


def choose(
    pool: Sequence[Sequence[Decision]],
    sizes: Sequence[int],
    number: int,
    preferences: Preferences = DEFAULTS,
) -> List[Chosen]:
    """Choose documents greedily by their gain.

    pool (Sequence[Sequence[Decision]]): the decisions of each document.
    sizes (Sequence[int]): tokens of each document.
    number (int): documents to choose, all if there are fewer.
    RETURNS (List[Chosen]): in the order of choice; of equal ones, the earlier first.
    """
    seen: Counter = Counter()

    def gain(place: int) -> float:
        total = _weighted(pool[place], preferences, seen)
        return total / max(sizes[place], 1) if preferences.per_token else total

    # Gains only fall, so one that is up to date and on top is the largest.
    heap: List[Tuple[float, int, int]] = [(-gain(n), n, 0) for n in range(len(pool))]
    heapq.heapify(heap)
    chosen: List[Chosen] = []
    while heap and len(chosen) < number:
        value, place, version = heapq.heappop(heap)
        if version < len(chosen):
            heapq.heappush(heap, (-gain(place), place, len(chosen)))
            continue
        errors = sum(one.error for one in pool[place])
        chosen.append(Chosen(place, errors, -value))
        seen.update((one.label, one.text) for one in pool[place])
    return chosen


def _weighted(
    decisions: Iterable[Decision], preferences: Preferences, seen: Counter
) -> float:
    """RETURNS (float): expected errors, weighted by label and discounted by repetition,
    also within the document.
    """
    here: Dict[Tuple[str, str], int] = {}
    total = 0.0
    for label, text, error in sorted(decisions, key=lambda one: -one.error):
        times = here.get((label, text), seen[label, text])
        here[label, text] = times + 1
        weight = preferences.weights.get(label, 1.0)
        total += weight * error * preferences.repetition**times
    return total
