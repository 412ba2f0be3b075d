"""Confidence intervals and paired comparison by resampling documents.

Documents are resampled, not spans, because the spans of a document are not independent.
The counts of all samples are one matrix product: draws per document, times its counts.
"""

from collections import Counter
from typing import Any, Dict, Iterator, List, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, Grouping, Reading, by_nothing, count_groups

N_SAMPLES = 1000
CONFIDENCE = 0.95
# Maximum number of draws in memory.
MAX_DRAWS = 5_000_000

Doubles = NDArray[np.float64]


Interval = List[float]  # low and high


def count_matrix(
    readings: Sequence[Reading], group: Grouping, names: Sequence[str]
) -> Doubles:
    """RETURNS (Doubles): counts of each group in each document. (doc, group, 4)"""
    matrix = np.zeros((len(readings), len(names), len(Counts())))
    for row, reading in zip(matrix, readings):
        counts = count_groups([reading], group)
        if names:
            row[:] = [counts.get(name, Counts()) for name in names]
    return matrix


def prf_of(counts: Doubles) -> Doubles:
    """RETURNS (Doubles): precision, recall, F1; 0 if undefined. (..., 3)

    counts (Doubles): found, gold, right, predicted. (..., 4)
    """
    found, gold, right, predicted = np.moveaxis(counts, -1, 0)
    precision = right / np.maximum(predicted, 1)
    recall = found / np.maximum(gold, 1)
    total = precision + recall
    f_score = 2 * precision * recall / np.where(total > 0, total, 1)
    return np.stack([precision, recall, f_score], axis=-1)


def resample(counts: Doubles, rng: np.random.Generator, n_samples: int) -> Doubles:
    """Draw bootstrap samples of all documents, with replacement.

    counts (Doubles): (doc, ...)
    RETURNS (Doubles): total counts of each sample. (sample, ...)
    """
    n_docs = counts.shape[0]
    flat = counts.reshape(n_docs, -1)
    chances = np.full(n_docs, 1 / n_docs)
    sums = [
        rng.multinomial(n_docs, chances, size=size) @ flat
        for size in _batch_sizes(n_samples, n_docs)
    ]
    return np.concatenate(sums).reshape(n_samples, *counts.shape[1:])


def _batch_sizes(n_samples: int, n_docs: int) -> Iterator[int]:
    """YIELDS (int): numbers of samples to draw at once, to limit the memory."""
    at_once = max(1, MAX_DRAWS // n_docs)
    for start in range(0, n_samples, at_once):
        yield min(at_once, n_samples - start)


def intervals(
    readings: Sequence[Reading],
    *,
    group: Grouping = by_nothing,
    names: Sequence[str] = ("all",),
    seed: int = 0,
    n_samples: int = N_SAMPLES,
) -> Optional[Dict[str, Dict[str, Interval]]]:
    """Estimate confidence intervals of the scores.

    readings (Sequence[Reading]): documents.
    group (Grouping), names (Sequence[str]): how to group the spans, and the groups.
    seed (int), n_samples (int): random seed, and number of bootstrap samples.
    RETURNS (Optional[Dict[str, Dict[str, Interval]]]): 95 % intervals of `p`, `r` and
        `f` by group; None for fewer than two documents.
    """
    if len(readings) < 2:
        return None
    matrix = count_matrix(readings, group, names)
    sums = resample(matrix, np.random.default_rng(seed), n_samples)
    scores = prf_of(sums)  # (sample, group, score)
    # A sample without any span of a group has no score.
    scored = sums[..., 1] + sums[..., 3] > 0  # (sample, group)
    return {
        name: _intervals(scores[scored[:, row], row]) for row, name in enumerate(names)
    }


def _intervals(scores: Doubles) -> Dict[str, Interval]:
    """RETURNS (Dict[str, Interval]): by score. Shape: (sample, 3)"""
    return {letter: interval_of(column) for letter, column in zip("prf", scores.T)}


def interval_of(values: Doubles) -> Interval:
    """RETURNS (Interval): the 95 % interval of samples, or zeros without any."""
    if not len(values):
        return [0.0, 0.0]
    tail = (1 - CONFIDENCE) / 2
    return np.quantile(values, [tail, 1 - tail]).tolist()


def compare_pairs(
    first: Sequence[Reading],
    second: Sequence[Reading],
    *,
    seed: int = 0,
    n_samples: int = N_SAMPLES,
) -> Dict[str, Any]:
    """Compare two models on the same documents.

    first, second (Sequence[Reading]): readings of each model, in the same order.
    seed (int): random seed.
    n_samples (int): number of bootstrap samples and of permutations.
    RETURNS (Dict[str, Any]): `difference` of `p`, `r`, `f` (second minus first); its
        `interval` from the paired bootstrap; `p_value`, the share of permutations of
        the models' predictions within documents that differ in F1 at least as much;
        `found_by`, the numbers of gold spans found by `both`, `first`, `second` or
        `neither`. `interval` and `p_value` are None for fewer than two documents.
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
    result["interval"] = _intervals(differences)
    result["p_value"] = _permutation_test(one, two, float(observed[2]), rng, n_samples)
    return result


def _permutation_test(
    one: Doubles,
    two: Doubles,
    observed: float,
    rng: np.random.Generator,
    n_samples: int,
) -> float:
    """RETURNS (float): p-value of the approximate randomisation test on F1."""
    n_extreme = 0
    for size in _batch_sizes(n_samples, len(one)):
        exchanged = rng.random((size, len(one))) < 0.5
        moved = exchanged @ (two - one)  # (sample, 4)
        difference = prf_of(two.sum(axis=0) - moved) - prf_of(one.sum(axis=0) + moved)
        n_extreme += int((np.abs(difference[:, 2]) >= abs(observed) - 1e-12).sum())
    return (n_extreme + 1) / (n_samples + 1)


def _found_by(first: Sequence[Reading], second: Sequence[Reading]) -> Dict[str, int]:
    counts = Counter(
        (span in one.predicted, span in two.predicted)
        for one, two in zip(first, second)
        for span in one.gold
    )
    return {
        "both": counts[True, True],
        "first": counts[True, False],
        "second": counts[False, True],
        "neither": counts[False, False],
    }
