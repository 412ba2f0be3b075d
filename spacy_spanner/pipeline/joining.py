"""Join the spans of several components: the mathematics of `span_ensemble`.

A component gives each span that it finds a probability. The ensemble averages them; for
a span that a component has not found, its probability counts as 0.
"""

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ..spans.overlap import resolve_overlaps
from ..spans.table import Bools, Floats, SpanTable
from .calibration import Calibration

# A span by start, end and label, possibly after the number of its document.
Row = Tuple[Any, ...]
# The scores of one component, by span.
Found = Dict[Row, float]
Matrix = NDArray[np.float64]  # (span, member)
# Steps of the fit of weights, and the change at which it ends.
STEPS, SMALL = 500, 1e-6
# Keeps a weight from dividing by 0.
TINY = 1e-9


class Votes(NamedTuple):
    """What all members say about all spans that any of them has found.

    rows (List[Row]): the spans.
    scores (Matrix): 0 for spans that a member has not found. (span, member)
    present (Bools): whether the member has found the span. (span, member)
    """

    rows: List[Row]
    scores: Matrix
    present: Bools


def collect_votes(members: Sequence[Found]) -> Votes:
    """RETURNS (Votes): the union of the spans of all members, sorted."""
    rows = sorted({row for found in members for row in found})
    columns = [[found.get(row, np.nan) for row in rows] for found in members]
    scores = np.asarray(columns, dtype=np.float64).reshape(len(members), len(rows)).T
    present = ~np.isnan(scores)
    return Votes(rows, np.where(present, scores, 0.0), present)


def calibrated(votes: Votes, calibrations: Sequence[Calibration]) -> Matrix:
    """RETURNS (Matrix): probabilities; what was not found stays 0. (span, member)"""
    columns = [
        np.where(known, calibration.of(score.astype(np.float32)), 0.0)
        for score, known, calibration in zip(
            votes.scores.T, votes.present.T, calibrations
        )
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def average(scores: Matrix, weights: Sequence[float]) -> Floats:
    """RETURNS (Floats): the weighted mean over the members. (span,)"""
    return np.average(scores, axis=1, weights=weights).astype(np.float32)


def join(
    votes: Votes,
    score: Floats,
    labels: Sequence[str],
    lowest: Dict[str, float],
    overlap: str,
) -> SpanTable:
    """Choose spans by their joint scores.

    score (Floats): the joint scores. (span,)
    labels (Sequence[str]): label by id.
    lowest (Dict[str, float]): threshold of each label.
    overlap (str): "flat", "nested" or "any".
    RETURNS (SpanTable): in document order.
    """
    ids = {label: number for number, label in enumerate(labels)}
    spans = SpanTable.of([(start, end, ids[label]) for start, end, label in votes.rows])
    limits = np.asarray([lowest[label] for label in labels], dtype=np.float32)
    spans = spans._replace(score=score)
    return resolve_overlaps(spans.take(score >= limits[spans.label]), overlap)


def fit_weights(scores: Matrix, right: Bools) -> List[float]:
    """Find the weights under which the averages are most likely.

    The average is a mixture: a member is drawn by its weight and decides. So
    expectation maximisation finds the best weights, without a step size.

    scores (Matrix): calibrated. (span, member)
    right (Bools): whether the span is in the gold. (span,)
    RETURNS (List[float]): they add up to 1; equal if there is nothing to learn from.
    """
    n_members = scores.shape[1]
    weights = np.full(n_members, 1 / n_members)
    if not right.any():
        return weights.tolist()
    likelihood = np.clip(np.where(right[:, None], scores, 1 - scores), TINY, 1.0)
    for _ in range(STEPS):
        shares = likelihood * weights
        updated = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
        change, weights = np.abs(updated - weights).max(), updated
        if change < SMALL:
            break
    rounded = weights.round(4)
    rounded[rounded.argmax()] += 1 - rounded.sum()  # no score may grow by rounding
    return [round(weight, 4) for weight in rounded.tolist()]
