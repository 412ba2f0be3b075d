"""Calibration: do the scores of spans match the share of correct spans?

Appendix B of "Boundary Smoothing for Named Entity Recognition" (ACL 2022): ten bins of
equal width, and the expected calibration error over these.
"""

from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..spans.table import Floats
from .readings import Reading

N_CALIBRATION_BINS = 10


class ReliabilityBin(NamedTuple):
    """The spans with a score between two limits.

    low, high (float): limits; `high` is exclusive, except in the last bin.
    n_spans (int): number of spans.
    confidence (Optional[float]): mean score; None for an empty bin.
    accuracy (Optional[float]): share of correct spans; None for an empty bin.
    """

    low: float
    high: float
    n_spans: int
    confidence: Optional[float]
    accuracy: Optional[float]


def collect_confidence(readings: Iterable[Reading]) -> Tuple[Floats, Floats]:
    """Collect the scores of predicted spans. Misaligned spans do not count for
    precision, as in spaCy, but count as wrong here.

    RETURNS (Tuple[Floats, Floats]): scores, and 1 for correct spans. (span,)
    """
    confidence: List[float] = []
    correct: List[bool] = []
    for gold, predicted, unplaced in readings:
        for span, score in predicted.items():
            if score is not None:
                confidence.append(score)
                correct.append(span in gold)
        wrong = [score for score in unplaced if score is not None]
        confidence += wrong
        correct += [False] * len(wrong)
    return np.asarray(confidence, dtype="f"), np.asarray(correct, dtype="f")


def reliability_table(confidence: Floats, correct: Floats) -> List[ReliabilityBin]:
    """Sort spans into ten bins of equal width by their score.

    confidence (Floats): scores in [0, 1]. Shape: (span,)
    correct (Floats): 1 for correct spans. Shape: (span,)
    RETURNS (List[ReliabilityBin]): all bins, in order.
    """
    last = N_CALIBRATION_BINS - 1
    index = np.minimum((confidence * N_CALIBRATION_BINS).astype(int), last)
    columns = [
        np.bincount(index, weights=weights, minlength=N_CALIBRATION_BINS).tolist()
        for weights in (None, confidence, correct)
    ]
    return [
        ReliabilityBin(
            place / N_CALIBRATION_BINS,
            (place + 1) / N_CALIBRATION_BINS,
            count,
            total / count if count else None,
            right / count if count else None,
        )
        for place, (count, total, right) in enumerate(zip(*columns))
    ]


def calibration_error(table: Sequence[ReliabilityBin]) -> Optional[float]:
    """Compute the expected calibration error: Σ_bins share of spans × |mean score -
    share of correct spans|.

    table (Sequence[ReliabilityBin]): see `reliability_table`.
    RETURNS (Optional[float]): the error; None if the table is empty.
    """
    total = sum(row.n_spans for row in table)
    gaps = [
        row.n_spans * abs(row.confidence - row.accuracy)
        for row in table
        if row.confidence is not None and row.accuracy is not None
    ]
    return sum(gaps) / total if total else None
