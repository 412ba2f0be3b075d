"""Confidence intervals and paired comparison by resampling documents.

A document is the unit: its spans are not independent of each other. All samples are one
product of matrices: how often a document is drawn, times its counts.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, Grouping, by_nothing, count_groups
from .readings import Reading

N_SAMPLES = 1000
CONFIDENCE = 0.95
# Draws held in memory at once.
MAX_DRAWS = 5_000_000

Doubles = NDArray[np.float64]


class Interval(NamedTuple):
    """A percentile interval of a score."""

    low: float
    high: float


def count_matrix(
    readings: Sequence[Reading], group: Grouping, names: Sequence[str]
) -> Doubles:
    """RETURNS (Doubles): counts of each group in each document. (doc, group, 4)"""
    matrix = np.zeros((len(readings), len(names), len(Counts())))
    for row, reading in zip(matrix, readings):
        counts = count_groups([reading], group)
        for place, name in enumerate(names):
            row[place] = counts.get(name, Counts())
    return matrix


def prf_of(counts: Doubles) -> Doubles:
    """Compute scores of many counts at once.

    counts (Doubles): found, gold, right, predicted. (..., 4)
    RETURNS (Doubles): precision, recall, F1; 0 where there is nothing. (..., 3)
    """
    found, gold, right, predicted = (counts[..., place] for place in range(4))
    precision = right / np.maximum(predicted, 1)
    recall = found / np.maximum(gold, 1)
    total = precision + recall
    f_score = 2 * precision * recall / np.where(total > 0, total, 1)
    return np.stack([precision, recall, f_score], axis=-1)


def resample(counts: Doubles, rng: np.random.Generator, n_samples: int) -> Doubles:
    """Draw as many documents as there are, with replacement, many times.

    counts (Doubles): (doc, ...)
    RETURNS (Doubles): sums over each sample. (sample, ...)
    """
    n_docs = counts.shape[0]
    flat = counts.reshape(n_docs, -1)
    at_once = max(1, MAX_DRAWS // n_docs)
    sums: List[Doubles] = []
    for start in range(0, n_samples, at_once):
        size = min(at_once, n_samples - start)
        draws = rng.multinomial(n_docs, np.full(n_docs, 1 / n_docs), size=size)
        sums.append(draws @ flat)
    return np.concatenate(sums).reshape(n_samples, *counts.shape[1:])


def intervals(
    readings: Sequence[Reading],
    *,
    group: Grouping = by_nothing,
    names: Sequence[str] = ("all",),
    seed: int = 0,
    n_samples: int = N_SAMPLES,
) -> Optional[Dict[str, Dict[str, Interval]]]:
    """Estimate how far scores would differ on other documents of the same kind.

    readings (Sequence[Reading]): documents.
    group (Grouping): what is scored apart.
    names (Sequence[str]): the groups.
    seed (int): seed of the sampling.
    RETURNS (Optional[Dict[str, Dict[str, Interval]]]): 95 % intervals of `p`, `r` and
        `f` by group; None where there are less than two documents.
    """
    if len(readings) < 2:
        return None
    matrix = count_matrix(readings, group, names)
    sums = resample(matrix, np.random.default_rng(seed), n_samples)
    scores = prf_of(sums)  # (sample, group, score)
    # A sample without any span of a group has no score.
    scored = sums[..., 1] + sums[..., 3] > 0  # (sample, group)
    return {
        name: {
            letter: _interval(scores[scored[:, row], row, column])
            for column, letter in _PRF
        }
        for row, name in enumerate(names)
    }


_PRF = list(enumerate("prf"))


def _interval(values: Doubles) -> Interval:
    if not len(values):
        return Interval(0.0, 0.0)
    tail = (1 - CONFIDENCE) / 2
    return Interval(*np.quantile(values, [tail, 1 - tail]).tolist())


def compare_pairs(
    first: Sequence[Reading],
    second: Sequence[Reading],
    *,
    seed: int = 0,
    n_samples: int = N_SAMPLES,
) -> Dict[str, Any]:
    """Compare two models on the same documents.

    first, second (Sequence[Reading]): their readings, in the same order.
    seed (int): seed of the sampling.
    RETURNS (Dict[str, Any]): `difference` of `p`, `r`, `f` (second minus first), its
        `interval` from paired resampling, and `p_value`, the share of random exchanges
        of the two answers to a document that differ in F1 at least as much. And how
        many gold spans `both`, `first`, `second` or `neither` have found. Where there
        are less than two documents, intervals and `p_value` are None.
    """
    one, two = (
        count_matrix(side, by_nothing, ["all"])[:, 0] for side in (first, second)
    )
    observed = prf_of(two.sum(axis=0)) - prf_of(one.sum(axis=0))
    result: Dict[str, Any] = {
        "difference": dict(zip("prf", observed.tolist())),
        "interval": None,
        "p_value": None,
        "found_by": _found_by(first, second),
    }
    if len(first) < 2:
        return result
    rng = np.random.default_rng(seed)
    sums = prf_of(resample(np.stack([one, two], axis=1), rng, n_samples))
    differences = sums[:, 1] - sums[:, 0]  # (sample, score)
    result["interval"] = {
        letter: _interval(differences[:, column]) for column, letter in _PRF
    }
    result["p_value"] = _exchange_test(one, two, float(observed[2]), rng, n_samples)
    return result


def _exchange_test(
    one: Doubles,
    two: Doubles,
    observed: float,
    rng: np.random.Generator,
    n_samples: int,
) -> float:
    """RETURNS (float): p-value of the approximate randomisation test on F1."""
    n_extreme = 0
    at_once = max(1, MAX_DRAWS // len(one))
    for start in range(0, n_samples, at_once):
        size = min(at_once, n_samples - start)
        exchanged = rng.random((size, len(one))) < 0.5
        moved = exchanged @ (two - one)  # (sample, 4)
        difference = prf_of(two.sum(axis=0) - moved) - prf_of(one.sum(axis=0) + moved)
        n_extreme += int((np.abs(difference[:, 2]) >= abs(observed) - 1e-12).sum())
    return (n_extreme + 1) / (n_samples + 1)


def _found_by(first: Sequence[Reading], second: Sequence[Reading]) -> Dict[str, int]:
    counts = dict.fromkeys(("both", "first", "second", "neither"), 0)
    names = {(1, 1): "both", (1, 0): "first", (0, 1): "second", (0, 0): "neither"}
    for one, two in zip(first, second):
        for span in one.gold:
            counts[names[int(span in one.predicted), int(span in two.predicted)]] += 1
    return counts
