"""From candidates to the spans of a document: thresholds, overlaps, temperature.

Thresholds hold for tempered scores, and are compared here and nowhere else; the head
only gets a lower limit, so that it reports fewer candidates.
"""

from typing import Dict, List, NamedTuple, Sequence

import numpy as np

from ..errors import Errors
from ..settings import SpanSettings
from ..spans.overlap import resolve_overlaps
from ..spans.table import Bools, Floats, SpanTable
from .temperature import calibrate, temper

ROUNDING = 1e-6  # of scores that are tempered


class Thresholds(NamedTuple):
    """Which scores are high enough.

    lowest (Floats): the lowest tempered score to write, by label. Shape: (label,)
    temperature (float): divides the log-odds of scores.
    """

    lowest: Floats
    temperature: float

    @property
    def of_candidates(self) -> Floats:
        """The lowest score to report before it is tempered. Shape: (label,)"""
        return temper(self.lowest, 1 / self.temperature)

    def reached_by(self, spans: SpanTable) -> Bools:
        """RETURNS (Bools): which spans to keep. Shape: (span,)"""
        tolerance = 0.0 if self.temperature == 1.0 else ROUNDING
        score = calibrate(spans.score, self.temperature)
        return score >= self.lowest[spans.label] - tolerance


def read_thresholds(
    settings: SpanSettings, label_ids: Dict[str, int], component: str
) -> Thresholds:
    """Look up the threshold of each label.

    RETURNS (Thresholds): of the labels in the order of their ids.
    RAISES (ValueError): SP006 for thresholds of labels that do not exist.
    """
    special = settings.label_thresholds
    unknown = sorted(set(special) - set(label_ids))
    if unknown:
        raise ValueError(
            Errors.SP006.format(
                component=component,
                unknown=", ".join(unknown),
                labels=", ".join(label_ids),
            )
        )
    numbers = [special.get(label, settings.threshold) for label in label_ids]
    return Thresholds(np.asarray(numbers, dtype=np.float32), settings.temperature)


def choose_spans(
    candidates: SpanTable, white_space: Bools, thresholds: Thresholds, overlap: str
) -> SpanTable:
    """Choose the spans to write from the candidates of concatenated documents.

    Spans of different documents never touch, so one pass selects for all of them.

    candidates (SpanTable): in any order, with the scores of the head.
    white_space (Bools): tokens that no span may begin or end with. Shape: (token,)
    overlap (str): "flat", "nested" or "any".
    RETURNS (SpanTable): in document order, with tempered scores.
    """
    outer = white_space[candidates.start] | white_space[candidates.end - 1]
    kept = candidates.take(thresholds.reached_by(candidates) & ~outer)
    chosen = resolve_overlaps(kept, overlap)
    # Only now: tempered scores near 1 may be equal where these differ.
    return chosen._replace(score=calibrate(chosen.score, thresholds.temperature))


def split_by_doc(spans: SpanTable, lengths: Sequence[int]) -> List[SpanTable]:
    """Cut spans on concatenated documents into those of each document.

    spans (SpanTable): sorted by start.
    lengths (Sequence[int]): tokens of each document.
    RETURNS (List[SpanTable]): on each document's own tokens.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    bounds = np.searchsorted(spans.start, offsets)
    return [
        spans.take(np.arange(first, last)).shift(-offset)
        for first, last, offset in zip(bounds, bounds[1:], offsets)
    ]
