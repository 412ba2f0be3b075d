"""Gold and predicted spans of documents; precision, recall and F-score of groups."""

from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)

SpanKey = Tuple[int, int, str]  # start, end (exclusive), label
Grouping = Callable[[Set[SpanKey]], Mapping[str, Set[SpanKey]]]

# Maximum number of tokens of each length class; `LONGER` is the class of longer spans.
LENGTH_CLASSES = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6-9": 9}
LONGER = "10+"


class Reading(NamedTuple):
    """Gold and predicted spans of one document, on the tokens of the reference.

    gold (Set[SpanKey]): spans without duplicates.
    predicted (Dict[SpanKey, Optional[float]]): spans without duplicates, and their
        scores, if any.
    unplaced (List[Optional[float]]): scores of misaligned spans, whose boundaries are
        inside tokens of the reference.
    """

    gold: Set[SpanKey]
    predicted: Dict[SpanKey, Optional[float]]
    unplaced: List[Optional[float]]


class Counts(NamedTuple):
    """The counts that precision and recall of a group of spans are computed from.

    found (float): gold spans that were predicted; a partial match is a part of one.
    gold (int): gold spans.
    right (float): predicted spans that are correct.
    predicted (int): predicted spans.
    """

    found: float = 0
    gold: int = 0
    right: float = 0
    predicted: int = 0

    def plus(self, other: "Counts") -> "Counts":
        """RETURNS (Counts): the sums."""
        return Counts(
            self.found + other.found,
            self.gold + other.gold,
            self.right + other.right,
            self.predicted + other.predicted,
        )

    @property
    def precision(self) -> float:
        """Share of predicted spans that are correct; 0 if nothing is predicted."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of gold spans that were predicted; 0 if there are no gold spans."""
        return self.found / self.gold if self.gold else 0.0

    @property
    def f_score(self) -> float:
        """Harmonic mean of precision and recall."""
        return f_beta(self.precision, self.recall)

    @property
    def prf(self) -> Dict[str, Optional[float]]:
        """`p`, `r` and `f`, which are None if there are neither gold nor predicted
        spans.
        """
        if not (self.gold or self.predicted):
            return dict.fromkeys("prf")
        return {"p": self.precision, "r": self.recall, "f": self.f_score}

    def as_dict(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): scores, and numbers of `gold` and `predicted`."""
        return {**self.prf, "gold": self.gold, "predicted": self.predicted}


def f_beta(precision: float, recall: float, beta: float = 1.0) -> float:
    """RETURNS (float): F-beta; recall is weighted beta times as much as precision."""
    weight = beta * beta
    total = weight * precision + recall
    return (1 + weight) * precision * recall / total if total else 0.0


def count_groups(readings: Iterable[Reading], group: Grouping) -> Dict[str, Counts]:
    """Count spans by group.

    A predicted span is compared with all gold spans of the document, and a gold span
    with all predicted ones: the group only determines where a span is counted.

    readings (Iterable[Reading]): documents.
    group (Grouping): splits the gold spans, and the predicted spans, of a document.
    RETURNS (Dict[str, Counts]): counts by name of the group.
    """
    totals: Dict[str, Counts] = {}

    def add(name: str, **numbers: int) -> None:
        totals[name] = totals.get(name, Counts()).plus(Counts(**numbers))

    for gold, predicted, _ in readings:
        for name, spans in group(gold).items():
            add(name, gold=len(spans), found=len(spans & predicted.keys()))
        for name, spans in group(set(predicted)).items():
            add(name, predicted=len(spans), right=len(spans & gold))
    return totals


def by_nothing(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): one group, named "all"."""
    return {"all": spans}


def by_type(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): groups by label."""
    return _grouped(spans, lambda span: span[2])


def by_length(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): groups by number of tokens."""
    return _grouped(spans, lambda span: length_class(span[1] - span[0]))


def _grouped(
    spans: Set[SpanKey], name: Callable[[SpanKey], str]
) -> Dict[str, Set[SpanKey]]:
    groups: Dict[str, Set[SpanKey]] = {}
    for span in spans:
        groups.setdefault(name(span), set()).add(span)
    return groups


def length_class(width: int) -> str:
    """RETURNS (str): name of the length class of a span with this number of tokens."""
    fitting = (name for name, limit in LENGTH_CLASSES.items() if width <= limit)
    return next(fitting, LONGER)


def shortest_length(name: str) -> int:
    """RETURNS (int): the smallest number of tokens of a length class."""
    return int(name.split("-")[0].rstrip("+"))


def by_nesting(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): "nested" spans share a token with another span
    of the set, "flat" spans do not.
    """
    nested = nested_spans(spans)
    return {"flat": spans - nested, "nested": nested}


def nested_spans(spans: Set[SpanKey]) -> Set[SpanKey]:
    """RETURNS (Set[SpanKey]): spans that share a token with another span of the set."""
    found: Set[SpanKey] = set()
    last: SpanKey = (-1, -1, "")  # the span with the largest end so far
    for span in sorted(spans):
        if span[0] < last[1]:
            found.update((span, last))
        if span[1] > last[1]:
            last = span
    return found


def crossing_spans(spans: Set[SpanKey]) -> Set[SpanKey]:
    """RETURNS (Set[SpanKey]): spans that overlap another without containment."""
    found: Set[SpanKey] = set()
    open_spans: List[SpanKey] = []
    for span in sorted(spans):
        start, end, _ = span
        open_spans = [other for other in open_spans if other[1] > start]
        rivals = [o for o in open_spans if o[0] < start and o[1] < end]
        found.update(rivals, [span] if rivals else [])
        open_spans.append(span)
    return found


def macro_average(by_label: Mapping[str, Counts]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): means of `p`, `r` and `f` over labels; None without."""
    if not by_label:
        return dict.fromkeys("prf")
    rows = [(one.precision, one.recall, one.f_score) for one in by_label.values()]
    return {name: sum(column) / len(rows) for name, column in zip("prf", zip(*rows))}
