"""How often texts and words occur in a corpus, and how their occurrences are labelled.

All counts leave out one annotated span: a span is no evidence for itself.
"""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from ..evaluation.counts import SpanKey

Words = Sequence[str]
Form = Tuple[str, ...]
# Pseudo-counts of shares.
FEW, ONE = 0.2, 1.0


class Elsewhere(NamedTuple):
    """The other occurrences of the text of a span.

    labels (Dict[str, int]): how many have each label.
    unlabelled (int): how many have none.
    """

    labels: Dict[str, int]
    unlabelled: int


def form_of(words: Words, span: SpanKey) -> Form:
    """RETURNS (Form): the words of a span, in upper and lower case."""
    return tuple(words[span[0] : span[1]])


def count_forms(words: Iterable[Words], forms: Set[Form]) -> Dict[Form, int]:
    """RETURNS (Dict[Form, int]): how often each of some texts occurs."""
    counts: Counter = Counter()
    widths = sorted({len(form) for form in forms})
    for doc in words:
        for width in widths:
            for start in range(len(doc) - width + 1):
                form = tuple(doc[start : start + width])
                if form in forms:
                    counts[form] += 1
    return counts


class Occurrences:
    """Counts in an annotated corpus.

    words (Sequence[Words]): the tokens of each document.
    gold (Sequence[Set[SpanKey]]): the annotated spans of each document.
    forms (Iterable[Form]): texts to count besides those of the annotated spans.
    """

    def __init__(
        self,
        words: Sequence[Words],
        gold: Sequence[Set[SpanKey]],
        forms: Iterable[Form] = (),
    ) -> None:
        self.words = words
        self._gold = gold
        self._labelled: Dict[Form, Counter] = {}
        self._numbers: Counter = Counter()
        self._inside: Counter = Counter()
        # Labels of spans by their first and by their last word.
        self._begin: Dict[str, Counter] = {}
        self._end: Dict[str, Counter] = {}
        self._labels: Counter = Counter()
        for doc, spans in zip(words, gold):
            lower = [word.lower() for word in doc]
            self._numbers.update(lower)
            self._inside.update(lower[place] for place in covered(spans))
            for span in spans:
                start, end, label = span
                self._labels[label] += 1
                form = form_of(doc, span)
                for table, key in (
                    (self._labelled, form),
                    (self._begin, lower[start]),
                    (self._end, lower[end - 1]),
                ):
                    table.setdefault(key, Counter())[label] += 1  # type: ignore
        self._forms = count_forms(words, {*forms, *self._labelled})

    @property
    def labels(self) -> List[str]:
        """The labels of the corpus."""
        return sorted(self._labels)

    def elsewhere(self, doc: int, span: SpanKey) -> Elsewhere:
        """RETURNS (Elsewhere): the other occurrences of the text of a span."""
        form = form_of(self.words[doc], span)
        labels = Counter(self._labelled.get(form, ()))
        here = [label for *place, label in self._gold[doc] if place == [*span[:2]]]
        labels.subtract(here)
        known = {label: n for label, n in sorted(labels.items()) if n > 0}
        others = self._forms.get(form, 1) - 1
        return Elsewhere(known, max(others - sum(known.values()), 0))

    def share_of_label(self, label: str) -> float:
        """RETURNS (float): the share of the spans with a label."""
        return (self._labels[label] + FEW) / (sum(self._labels.values()) + ONE)

    def boundary_shares(
        self, doc: int, span: SpanKey, own: Optional[SpanKey]
    ) -> List[float]:
        """Measure whether words usually are where the boundaries put them.

        own (Optional[SpanKey]): the annotated span to leave out.
        RETURNS (List[float]): the logarithms of the share of its first word that begins
            a span, of its last word that ends one, of the label among spans with this
            first word, and with this last word.
        """
        found: List[float] = []
        sides = ((self._begin, span[0]), (self._end, span[1] - 1))
        for side, (table, place) in enumerate(sides):
            word = self.words[doc][place].lower()
            labels = table.get(word, Counter())
            mine = own is not None and own[side] == span[side]
            total = sum(labels.values()) - mine
            same = labels[span[2]] - (mine and own is not None and own[2] == span[2])
            prior = self.share_of_label(span[2])
            found += [
                _log_share(total, self._numbers[word] - mine),
                float(np.log((same + prior) / (total + ONE))),
            ]
        return [found[0], found[2], found[1], found[3]]

    def inside_shares(
        self, doc: int, span: SpanKey, own: Optional[SpanKey]
    ) -> List[float]:
        """RETURNS (List[float]): the logarithms of the share of a word that is inside
        of spans: of the word before the span, of the word after it, and of the word of
        the span where it is smallest. For the arguments, see `boundary_shares`.
        """

        def share(place: int) -> float:
            if not 0 <= place < len(self.words[doc]):
                return _log_share(0, 9)
            word = self.words[doc][place].lower()
            mine = own is not None and own[0] <= place < own[1]
            return _log_share(self._inside[word] - mine, self._numbers[word] - mine)

        within = min(share(place) for place in range(span[0], span[1]))
        return [share(span[0] - 1), share(span[1]), within]


def covered(spans: Iterable[SpanKey]) -> Set[int]:
    """RETURNS (Set[int]): tokens that are inside of at least one span."""
    return {place for start, end, _ in spans for place in range(start, end)}


def _log_share(number: int, total: int) -> float:
    return float(np.log((max(number, 0) + FEW) / (max(total, 0) + ONE)))
