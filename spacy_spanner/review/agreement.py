"""Agreement of annotated versions: all measures, overall, by label and by document."""

from itertools import combinations
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from numpy.typing import NDArray

from ..evaluation.bootstrap import N_SAMPLES, Interval, interval_of, resample
from .gamma import Placed, disorder_by_chance, doc_costs, gamma_from
from .pairwise import MEASURES, STRICT, count_table, match
from .token_agreement import (
    Tokens,
    Values,
    alpha_of,
    kappa_of,
    token_counts,
    values_by_label,
    values_of_label,
)
from .versions import CharSpan, Units, Version, units_of

ALL = "(all)"  # labels or versions
N_WORDS = 12  # of a text that rows of documents begin with
KAPPA, ALPHA, GAMMA = "kappa", "alpha", "gamma"
NAMES = {
    **{name: f"F1: {meaning}" for name, meaning in MEASURES.items()},
    KAPPA: "Cohen's kappa on tokens",
    ALPHA: "Krippendorff's alpha on tokens",
    GAMMA: "aligned spans, compared with chance",
}
Doubles = NDArray[np.float64]
# From sums of counts to scores. Shapes: (..., count) to (...)
Measure = Callable[[Doubles], Doubles]
Key = Tuple[str, str, str, str]  # first, second, label, measure


class Score(NamedTuple):
    """A measured agreement.

    first, second (str): names of two versions, or "(all)" and an empty name.
    label (str): a label, or "(all)".
    measure (str): one of `NAMES`.
    value (Optional[float]): None if the measure means nothing here.
    interval (Optional[Interval]): 95 % interval; None for fewer than two documents.
    """

    first: str
    second: str
    label: str
    measure: str
    value: Optional[float]
    interval: Optional[Interval]


class Agreement(NamedTuple):
    """What was measured.

    versions (List[Version]): versions of the same texts.
    labels (List[str]): all labels.
    n_tokens (int): tokens, without white space.
    overlapping (bool): whether spans of a version overlap, so that kappa and alpha are
        only given by label.
    scores (List[Score]): overall and by label.
    by_doc (List[Dict[str, Any]]): a row for each document.
    """

    versions: List[Version]
    labels: List[str]
    n_tokens: int
    overlapping: bool
    scores: List[Score]
    by_doc: List[Dict[str, Any]]

    def score(self, measure: str, label: str = ALL, *pair: str) -> Score:
        """RETURNS (Score): that of two versions, or of all."""
        wanted = (*(pair or (ALL, "")), label, measure)
        return next(score for score in self.scores if score[:4] == wanted)


class _Sheet:
    """Counts by document, of which all measures are functions."""

    def __init__(self) -> None:
        self.counts: Dict[Key, Doubles] = {}
        self.measures: Dict[Key, Measure] = {}

    def add(self, key: Key, counts: Doubles, measure: Measure) -> None:
        """Add a measure and its counts. Shape: (doc, count)"""
        self.counts[key] = counts
        self.measures[key] = measure

    def scores(self, seed: int, n_samples: int) -> List[Score]:
        """RETURNS (List[Score]): values, with intervals of the same samples for all."""
        counts = np.concatenate(list(self.counts.values()), axis=1)
        sums = counts.sum(axis=0, keepdims=True)
        if len(counts) > 1:
            rng = np.random.default_rng(seed)
            sums = np.concatenate([sums, resample(counts, rng, n_samples)])
        ends = np.cumsum([one.shape[1] for one in self.counts.values()])
        parts = np.split(sums, ends[:-1], axis=1)
        found = {
            key: measure(part)
            for (key, measure), part in zip(self.measures.items(), parts)
        }
        found.update(_means_of_pairs(found))
        return [_score(key, values) for key, values in found.items()]


def _score(key: Key, values: Doubles) -> Score:
    """values (Doubles): of all documents, then of samples. Shape: (1 + sample,)"""
    if np.isnan(values[0]):
        return Score(*key, None, None)
    samples = values[1:][~np.isnan(values[1:])]
    interval = interval_of(samples) if len(samples) else None
    return Score(*key, float(values[0]), interval)


def _means_of_pairs(found: Dict[Key, Doubles]) -> Dict[Key, Doubles]:
    """RETURNS (Dict[Key, Doubles]): for all versions, the means over pairs that have a
    value.
    """
    groups: Dict[Tuple[str, str], List[Doubles]] = {}
    for (_, second, label, measure), values in found.items():
        if second:
            groups.setdefault((label, measure), []).append(values)
    means = {}
    for (label, measure), rows in groups.items():
        table = np.stack(rows)
        given = ~np.isnan(table)
        total = np.where(given, table, 0.0).sum(axis=0)
        count = given.sum(axis=0)
        mean = total / np.where(count, count, np.nan)
        means[ALL, "", label, measure] = mean
    return means


def measure_agreement(
    versions: Sequence[Version], *, seed: int = 0, n_samples: int = N_SAMPLES
) -> Agreement:
    """Measure how far versions agree.

    versions (Sequence[Version]): of the same texts, see `versions.align`.
    seed (int): of the intervals, and of agreement by chance.
    n_samples (int): bootstrap samples of the documents.
    RETURNS (Agreement): all measures.
    """
    labels = sorted({s[2] for version in versions for d in version.spans for s in d})
    label_ids = {label: number for number, label in enumerate(labels)}
    units = [units_of(version, label_ids) for version in versions]
    tokens = Tokens.of(versions[0].docs)
    sheet, n_docs = _Sheet(), len(versions[0].docs)
    names = [version.name for version in versions]
    for one, two in combinations(range(len(versions)), 2):
        pair = names[one], names[two]
        _add_f_scores(sheet, pair, units[one], units[two], n_docs, labels)
        _add_gammas(sheet, pair, units[one], units[two], tokens, labels, seed)
    values = {
        label: values_of_label(tokens, units, place)
        for place, label in enumerate(labels)
    }
    values[ALL] = values_by_label(tokens, units, len(labels))
    _add_on_tokens(sheet, names, tokens, values, n_docs)
    by_doc = _rows_of_docs(versions, sheet)
    scores = sheet.scores(seed, n_samples)
    n_tokens, overlapping = len(tokens.start), values[ALL].overlapping
    return Agreement(list(versions), labels, n_tokens, overlapping, scores, by_doc)


def f_scores(counts: Doubles) -> Doubles:
    """RETURNS (Doubles): the share of the spans of both versions that agree, which is
    F1 if they agree one to one; not a number without spans. Shape: (...)

    counts (Doubles): see `pairwise.count_table`. Shape: (..., 4)
    """
    total = counts[..., 1] + counts[..., 3]
    agree = counts[..., 0] + counts[..., 2]
    return agree / np.where(total > 0, total, np.nan)


def _add_f_scores(
    sheet: _Sheet,
    pair: Tuple[str, str],
    one: Units,
    two: Units,
    n_docs: int,
    labels: Sequence[str],
) -> None:
    tables = count_table(one, two, match(one, two), n_docs, len(labels))
    for name, table in tables.items():
        for place, label in enumerate([*labels, ALL]):
            sheet.add((*pair, label, name), table[:, place], f_scores)


def _add_gammas(
    sheet: _Sheet,
    pair: Tuple[str, str],
    one: Units,
    two: Units,
    tokens: Tokens,
    labels: Sequence[str],
    seed: int,
) -> None:
    n_docs = len(tokens.offsets)
    size = float(max(tokens.end.max(initial=0), 1))
    for place, label in enumerate([*labels, ALL]):
        sides = [one, two]
        if label != ALL:
            sides = [side.take(side.label == place) for side in sides]
        placed = [Placed.of(side, tokens.offsets) for side in sides]
        rng = np.random.default_rng([seed, place])
        chance = disorder_by_chance(placed, size, rng)
        costs = doc_costs(placed[0], placed[1], n_docs)
        sheet.add((*pair, label, GAMMA), costs, _gamma(chance))


def _gamma(chance: Optional[float]) -> Measure:
    return lambda costs: gamma_from(costs, chance)


def _add_on_tokens(
    sheet: _Sheet,
    names: Sequence[str],
    tokens: Tokens,
    values: Dict[str, Values],
    n_docs: int,
) -> None:
    """Add kappa of each pair, and alpha of all versions."""
    for label, found in values.items():
        for one, two in combinations(range(len(names)), 2):
            pair = found._replace(values=found.values[[one, two]])
            key = names[one], names[two], label, KAPPA
            sheet.add(key, token_counts(tokens, pair, n_docs), _kappa(pair))
        counts = token_counts(tokens, found, n_docs)
        sheet.add((ALL, "", label, ALPHA), counts, _alpha(found))


def _kappa(found: Values) -> Measure:
    if found.overlapping:
        return _nothing
    return lambda counts: kappa_of(counts, found.n_values)


def _alpha(found: Values) -> Measure:
    if found.overlapping:
        return _nothing
    return lambda counts: alpha_of(counts, len(found.values))


def _nothing(counts: Doubles) -> Doubles:
    """RETURNS (Doubles): not a number: the measure means nothing. Shape: (...)"""
    return np.full(counts.shape[:-1], np.nan)


def _rows_of_docs(versions: Sequence[Version], sheet: _Sheet) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): number, beginning of the text, numbers of spans,
    and means over pairs of F1 and gamma of each document.
    """
    columns = {}
    for measure in (STRICT, GAMMA):
        found = {
            key: function(sheet.counts[key])
            for key, function in sheet.measures.items()
            if key[2:] == (ALL, measure)
        }
        (columns[measure],) = _means_of_pairs(found).values()
    rows = []
    for number, doc in enumerate(versions[0].docs):
        here: List[Set[CharSpan]] = [version.spans[number] for version in versions]
        shared = set.intersection(*here)
        row: Dict[str, Any] = {"document": number + 1}
        row.update((name, _or_none(columns[name][number])) for name in columns)
        row["not_shared"] = len(set.union(*here) - shared)
        row["spans"] = {v.name: len(spans) for v, spans in zip(versions, here)}
        row["text"] = " ".join(doc[:N_WORDS].text.split())
        rows.append(row)
    return rows


def _or_none(value: float) -> Optional[float]:
    return None if np.isnan(value) else round(float(value), 4)
