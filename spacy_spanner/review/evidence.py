"""What speaks for and against a span: numbers from which its suspicion is computed."""

from bisect import bisect_left
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from ..evaluation.counts import Reading, SpanKey
from ..evaluation.matching import overlap_ratio
from .occurrences import Occurrences

# Lowest score that is told from 0, of the span itself and of spans that overlap it.
LOWEST, LOWEST_RIVAL = 1e-5, 1e-4
# Spans that overlap by at least this share have the same entity in mind.
SAME_ENTITY = 0.5


class Item(NamedTuple):
    """A span in question.

    doc (int): number of its document.
    span (SpanKey): the span, which may be annotated or not.
    own (Optional[SpanKey]): the annotated span that it is or replaces, which must not
        count as evidence; None if there is none.
    """

    doc: int
    span: SpanKey
    own: Optional[SpanKey]


class Scores:
    """The scores of a document's candidates, by their places.

    candidates (Dict[SpanKey, Optional[float]]): spans predicted with a low threshold.
    """

    def __init__(self, candidates: Dict[SpanKey, Optional[float]]) -> None:
        self._score = {span: score or 0.0 for span, score in candidates.items()}
        self._sorted = sorted(self._score)
        self._starts = [span[0] for span in self._sorted]
        widths = [span[1] - span[0] for span in self._sorted]
        self._longest = max(widths, default=0)

    def of(self, span: SpanKey) -> float:
        """RETURNS (float): the score of a span; 0 if it is no candidate."""
        return self._score.get(span, 0.0)

    def overlapping(self, span: SpanKey) -> List[SpanKey]:
        """RETURNS (List[SpanKey]): the candidates that share a token with a span."""
        first = bisect_left(self._starts, span[0] - self._longest)
        last = bisect_left(self._starts, span[1])
        return [one for one in self._sorted[first:last] if one[1] > span[0]]

    def best(self, spans: Sequence[SpanKey]) -> Tuple[float, Optional[SpanKey]]:
        """RETURNS (Tuple[float, Optional[SpanKey]]): the best of some candidates and
        its score; 0 and None if there are none.
        """
        top = max(spans, key=lambda span: (self.of(span), span), default=None)
        return (0.0, None) if top is None else (self.of(top), top)


class Alternatives(NamedTuple):
    """The candidates that could stand in place of a span, the best of each kind.

    relabelled: the same boundaries with another label.
    moved: the same label on other boundaries that nearly agree.
    rival: any other boundaries.
    """

    relabelled: Tuple[float, Optional[SpanKey]]
    moved: Tuple[float, Optional[SpanKey]]
    rival: Tuple[float, Optional[SpanKey]]


class Evidence:
    """Everything that is known about the spans of a corpus.

    words (Sequence[Sequence[str]]): the tokens of each document.
    readings (Sequence[Reading]): gold spans, and candidates with their scores.
    items (Sequence[Item]): the spans in question.
    """

    def __init__(
        self,
        words: Sequence[Sequence[str]],
        readings: Sequence[Reading],
        items: Sequence[Item] = (),
    ) -> None:
        self.gold: List[Set[SpanKey]] = [reading.gold for reading in readings]
        self.scores = [Scores(reading.predicted) for reading in readings]
        forms = {tuple(words[i.doc][i.span[0] : i.span[1]]) for i in items}
        self.occurrences = Occurrences(words, self.gold, forms)

    def alternatives(self, item: Item) -> Alternatives:
        """RETURNS (Alternatives): candidates that are not annotated themselves."""
        span, scores = item.span, self.scores[item.doc]
        others = self.gold[item.doc] - {item.own}
        free = [one for one in scores.overlapping(span) if one not in others | {span}]
        elsewhere = [one for one in free if one[:2] != span[:2]]
        near = [
            one
            for one in elsewhere
            if one[2] == span[2] and overlap_ratio(one, span) >= SAME_ENTITY
        ]
        relabelled = [one for one in free if one[:2] == span[:2]]
        return Alternatives(*map(scores.best, (relabelled, near, elsewhere)))

    def rows(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """RETURNS (NDArray): the features of items. Shape: (item, feature)"""
        return np.asarray([self.features(item) for item in items], dtype=np.float64)

    def features(self, item: Item) -> List[float]:
        """RETURNS (List[float]): the numbers of a span, always in the same order."""
        doc, span, own = item
        found = self.alternatives(item)
        score, other = self.scores[doc].of(span), found.relabelled[0]
        return [
            _log_odds(score, LOWEST),
            _log_odds(other, LOWEST),
            _log_odds(max(score, other), LOWEST),
            _log_odds(found.moved[0], LOWEST_RIVAL),
            _log_odds(found.rival[0], LOWEST_RIVAL),
            float(np.log(span[1] - span[0])),
            float(np.log(self.occurrences.share_of_label(span[2]))),
            *self._of_text(item),
            *self._of_neighbours(item),
            *self.occurrences.boundary_shares(doc, span, own),
            *self.occurrences.inside_shares(doc, span, own),
        ]

    def _of_text(self, item: Item) -> List[float]:
        """RETURNS (List[float]): how other occurrences of the text are labelled."""
        found = self.occurrences.elsewhere(item.doc, item.span)
        same = found.labels.get(item.span[2], 0)
        different = sum(found.labels.values()) - same
        total = same + different + found.unlabelled
        return [
            *np.log1p([same, different, found.unlabelled]).tolist(),
            float(np.log((different + 0.5) / (same + different + 1))),
            float(np.log((found.unlabelled + 0.5) / (total + 1))),
            float(total == 0),
        ]

    def _of_neighbours(self, item: Item) -> List[float]:
        """RETURNS (List[float]): how the span lies to annotated spans."""
        start, end, _ = item.span
        others = [
            one
            for one in self.gold[item.doc] - {item.own}
            if one[0] < end and start < one[1]
        ]
        inside = any(one[0] <= start and end <= one[1] for one in others)
        around = any(start <= one[0] and one[1] <= end for one in others)
        nested = [
            (one[0] <= start and end <= one[1]) or (start <= one[0] and one[1] <= end)
            for one in others
        ]
        nearest = max((overlap_ratio(one, item.span) for one in others), default=0.0)
        return [nearest, float(inside), float(around), float(not all(nested))]


def _log_odds(score: float, lowest: float) -> float:
    return float(logit(min(max(score, lowest), 1 - lowest)))
