"""What a model answers to be trained and run: the protocol `SpanCodec`.

A codec is a frozen dataclass of settings, without weights, labels or documents. It
turns gold spans into targets, and drives its module in both directions: to a loss in
training, to scored candidates in prediction. All that the four models share (windows,
batches, devices, selection, writing) happens outside.
"""

from typing import Any, Dict, NamedTuple, Optional, Protocol, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from ..spans.table import Bools, Floats, Ints, SpanTable


class WindowBatch(NamedTuple):
    """Windows of similar length, padded.

    vectors (Tensor): token vectors, zero where padded. Shape: (batch, token, width)
    lengths (Ints): tokens per window, on the host. Shape: (batch,)
    types (Optional[Tensor]): a vector of each label in each window, from an encoder
        that reads the labels together with the text. Shape: (batch, label, width)
    """

    vectors: Tensor
    lengths: Ints
    types: Optional[Tensor] = None

    @property
    def mask(self) -> Tensor:
        """True for real tokens, on the device. Shape: (batch, token)"""
        device = self.vectors.device
        lengths = torch.as_tensor(self.lengths, device=device)
        position = torch.arange(self.vectors.shape[1], device=device)
        return position[None, :] < lengths[:, None]


class Candidates(NamedTuple):
    """Scored spans of a batch on the device, columns `(span,)`; `end` is exclusive."""

    window: Tensor
    start: Tensor
    end: Tensor
    label: Tensor
    score: Tensor

    @classmethod
    def at(
        cls, columns: Sequence[Tensor], cell: Tensor, label: Tensor, scores: Tensor
    ) -> "Candidates":
        """Report cells with some of their labels.

        columns (Sequence[Tensor]): window, start and last of the cells. Shapes: (cell,)
        cell, label (Tensor): what to report. Shapes: (span,)
        scores (Tensor): (cell, label)
        """
        window, start, last = (column[cell] for column in columns)
        return cls(window, start, last + 1, label, scores[cell, label])


def best_labels(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """Choose the best label of each cell, of those at or above their threshold; of
    labels that are equal to four digits, the first.

    scores (Tensor): (cell, label)
    thresholds (Tensor): (label,)
    RETURNS (Tuple[Tensor, Tensor]): cells that have one, and their labels. (span,)
    """
    # Rounded, so that the noise of another batch does not choose between equals.
    rounded = scores.round(decimals=4)
    top, best = rounded.where(scores >= thresholds, -1.0).max(dim=-1)
    (cell,) = (top >= 0).nonzero(as_tuple=True)
    return cell, best[cell]


def all_labels(scores: Tensor, thresholds: Tensor) -> Tuple[Tensor, Tensor]:
    """Choose the labels of each cell that are at or above their threshold.

    scores (Tensor): (cell, label)
    thresholds (Tensor): (label,)
    RETURNS (Tuple[Tensor, Tensor]): cells, and labels. (span,)
    """
    cell, label = (scores >= thresholds).nonzero(as_tuple=True)
    return cell, label


class SpanCodec(Protocol):
    """The settings of a model, and its mathematics around the module."""

    def lost(self, spans: SpanTable) -> Dict[str, Bools]:
        """Tell which gold spans this model can never predict.

        spans (SpanTable): gold of one document.
        RETURNS (Dict[str, Bools]): by reason, in words that fit behind "spans", one
            value a span.
        """
        ...

    def targets(
        self,
        gold: Sequence[SpanTable],
        lengths: Ints,
        *,
        n_labels: int,
        rng: np.random.Generator,
    ) -> Any:
        """Turn gold spans into what the loss compares with. Pure, in numpy.

        gold (Sequence[SpanTable]): spans of each window, in its token positions.
        lengths (Ints): tokens per window. Shape: (batch,)
        n_labels (int): the number of labels.
        rng (Generator): source of all sampling.
        RETURNS (Any): targets of the batch, which only this codec reads.
        """
        ...

    def loss(self, module: nn.Module, batch: WindowBatch, targets: Any) -> Tensor:
        """Run the module and compare with the targets.

        RETURNS (Tensor): the sum of the windows' losses, a scalar.
        """
        ...

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """Run the module and reduce what it says to the spans worth a look.

        thresholds (Tensor): the lowest score to report, by label. Shape: (label,)
        RETURNS (Candidates): spans with scores in [0, 1], on the device.
        """
        ...

    def rescore(self, spans: SpanTable, window: Ints) -> Floats:
        """Change the scores of candidates in the light of the others of their window,
        on the host: for a model's own suppression. What falls below its threshold is
        dropped afterwards.

        spans (SpanTable), window (Ints): candidates of a batch. Shapes: (span,)
        RETURNS (Floats): scores; for most models, those of the spans. Shape: (span,)
        """
        ...
