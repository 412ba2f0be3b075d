"""Counts of right, wrong and missed spans, and precision, recall and F from these."""

from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Set

from .readings import Reading, SpanKey

# Longest span of each class of length, in tokens; one more class holds what is longer.
LENGTH_CLASSES = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6-9": 9}
LONGER = "10+"

Grouping = Callable[[Set[SpanKey]], Mapping[str, Set[SpanKey]]]


class Counts(NamedTuple):
    """What precision and recall of a group of spans are made of.

    found (int): gold spans that were predicted.
    gold (int): gold spans.
    right (int): predicted spans that are in the gold.
    predicted (int): predicted spans.
    """

    found: int = 0
    gold: int = 0
    right: int = 0
    predicted: int = 0

    def plus(self, other: "Counts") -> "Counts":
        """RETURNS (Counts): the sums."""
        return Counts(*(one + two for one, two in zip(self, other)))

    @property
    def precision(self) -> float:
        """Share of predicted spans that are right; 0 where nothing is predicted."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of gold spans that were found; 0 where there is no gold."""
        return self.found / self.gold if self.gold else 0.0

    @property
    def f_score(self) -> float:
        """Harmonic mean of precision and recall."""
        return f_beta(self.precision, self.recall)

    def as_dict(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): `p`, `r`, `f`, None where there is nothing on
        either side, and the numbers of spans as `gold` and `predicted`.
        """
        nothing = not (self.gold or self.predicted)
        values = (self.precision, self.recall, self.f_score)
        scores = {
            name: None if nothing else value for name, value in zip("prf", values)
        }
        return {**scores, "gold": self.gold, "predicted": self.predicted}


def f_beta(precision: float, recall: float, beta: float = 1.0) -> float:
    """RETURNS (float): weighted harmonic mean; recall counts beta times as much."""
    weight = beta * beta
    total = weight * precision + recall
    return (1 + weight) * precision * recall / total if total else 0.0


def count_groups(readings: Iterable[Reading], group: Grouping) -> Dict[str, Counts]:
    """Count apart the groups that spans belong to.

    A predicted span is right if it is anywhere in the gold, and a gold span is found if
    it is anywhere in the prediction: the group only decides where it is counted.

    readings (Iterable[Reading]): documents.
    group (Grouping): splits the gold, and the predicted spans, of a document.
    RETURNS (Dict[str, Counts]): by name of the group.
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
    groups: Dict[str, Set[SpanKey]] = {}
    for span in spans:
        groups.setdefault(span[2], set()).add(span)
    return groups


def by_length(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): groups by number of tokens."""
    groups: Dict[str, Set[SpanKey]] = {}
    for span in spans:
        groups.setdefault(length_class(span[1] - span[0]), set()).add(span)
    return groups


def length_class(width: int) -> str:
    """RETURNS (str): name of the class that a span of so many tokens is in."""
    fitting = (name for name, limit in LENGTH_CLASSES.items() if width <= limit)
    return next(fitting, LONGER)


def by_nesting(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    """RETURNS (Dict[str, Set[SpanKey]]): "nested" are those that share a token with
    another of the same side, "flat" all others.
    """
    nested = nested_spans(spans)
    return {"flat": spans - nested, "nested": nested}


def nested_spans(spans: Set[SpanKey]) -> Set[SpanKey]:
    """RETURNS (Set[SpanKey]): those that share a token with another of them."""
    found: Set[SpanKey] = set()
    widest: SpanKey = (-1, -1, "")  # the one that reaches furthest so far
    for span in sorted(spans):
        if span[0] < widest[1]:
            found.update((span, widest))
        if span[1] > widest[1]:
            widest = span
    return found


def macro_average(by_label: Mapping[str, Counts]) -> Dict[str, Any]:
    """Average over types, each with the same weight.

    by_label (Mapping[str, Counts]): counts of each type.
    RETURNS (Dict[str, Any]): means of `p`, `r` and `f`; None without types.
    """
    if not by_label:
        return {"p": None, "r": None, "f": None}
    rows = [(one.precision, one.recall, one.f_score) for one in by_label.values()]
    return {name: sum(column) / len(rows) for name, column in zip("prf", zip(*rows))}
