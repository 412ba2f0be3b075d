"""Scored spans on the device, and the choice of labels for the cells of a model."""

from typing import Iterable, NamedTuple, Sequence, Tuple

import torch
from torch import Tensor

NO_SPAN = -1.0  # score of a candidate that holds the place of none
DECISIONS = ("threshold", "argmax")


class Candidates(NamedTuple):
    """Scored spans of a batch on the device, columns `(span,)`; `end` is exclusive.
    Those with the score `NO_SPAN` are none.
    """

    window: Tensor
    start: Tensor
    end: Tensor
    label: Tensor
    score: Tensor

    @classmethod
    def at(
        cls, columns: Sequence[Tensor], cell: Tensor, label: Tensor, scores: Tensor
    ) -> "Candidates":
        """Look up the boundaries and scores of some cells and labels.

        columns (Sequence[Tensor]): window, start and last of the cells. Shapes: (cell,)
        cell, label (Tensor): which cell and label each candidate has. Shapes: (span,)
        scores (Tensor): (cell, label)
        RETURNS (Candidates): one for each pair of cell and label.
        """
        window, start, last = (column[cell] for column in columns)
        return cls(window, start, last + 1, label, scores[cell, label])

    def real(self) -> "Candidates":
        """RETURNS (Candidates): without those that are none; a GPU waits."""
        exists = self.score >= 0
        return Candidates(*(column[exists] for column in self))


def join(parts: Iterable[Candidates]) -> Candidates:
    """RETURNS (Candidates): the candidates of all parts in their order."""
    return Candidates(*(torch.cat(columns) for columns in zip(*parts)))


def only_best_class(probabilities: Tensor, decision: str) -> Tensor:
    """With "argmax", as in the papers, leave only the most probable class of each row.

    probabilities (Tensor): of classes that exclude each other. Shape: (..., class)
    decision (str): "threshold" changes nothing.
    RETURNS (Tensor): the same, with -1, which no threshold accepts, instead of the
        other classes. Shape: (..., class)
    """
    if decision == "threshold":
        return probabilities
    best = probabilities.amax(dim=-1, keepdim=True)
    return probabilities.where(probabilities >= best, -1.0)


def best_labels(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """Choose the best of the labels of each cell that reach their threshold; of labels
    whose scores are equal to four digits, the first.

    scores (Tensor): (cell, label)
    thresholds (Tensor): (label,)
    RETURNS (Tuple[Tensor, Tensor]): cells that have one, and their labels. (span,)
    """
    best, top = _best_of(scores, thresholds)
    (cell,) = (top >= 0).nonzero(as_tuple=True)
    return cell, best[cell]


def best_or_none(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """Choose as `best_labels`, but keep all cells: their number is known without
    waiting for the device.

    RETURNS (Tuple[Tensor, Tensor]): labels, and scores, `NO_SPAN` where none reaches
        its threshold. Shapes: (cell,)
    """
    best, top = _best_of(scores, thresholds)
    score = scores.gather(1, best[:, None])[:, 0]
    return best, score.where(top >= 0, NO_SPAN)


def _best_of(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """RETURNS (Tuple[Tensor, Tensor]): labels, and rounded scores. (cell,)"""
    # Rounded: scores differ in the last digits from batch to batch.
    rounded = scores.round(decimals=4)
    top, best = rounded.where(scores >= thresholds, NO_SPAN).max(dim=-1)
    return best, top


def all_labels(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """Choose the labels of each cell that reach their threshold.

    scores (Tensor): (cell, label)
    thresholds (Tensor): (label,)
    RETURNS (Tuple[Tensor, Tensor]): cells and labels. (span,)
    """
    cell, label = (scores >= thresholds).nonzero(as_tuple=True)
    return cell, label
