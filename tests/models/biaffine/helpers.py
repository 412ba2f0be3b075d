"""Gold, its targets, and what the codec makes of given logits."""

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from spacy_spanner.models.biaffine.codec import BiaffineCodec, BiaffineTargets
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
EPSILONS = [0.0, 0.1, 0.3]

GOLD: Dict[str, Rows] = {
    "none": [],
    "one": [(1, 3, 0)],
    "nested": [(0, 4, 0), (1, 3, 1), (2, 3, 0)],
    "nested with one start": [(0, 3, 0), (0, 2, 1), (0, 1, 0)],
    "crossing": [(0, 3, 0), (2, 5, 1)],
    "adjacent": [(0, 2, 0), (2, 4, 0), (4, 5, 1)],
    "one token": [(0, 1, 0), (3, 4, 1), (4, 5, 0)],
    "whole window": [(0, 5, 1)],
    "first and last boundary": [(0, 1, 1), (0, 5, 0), (4, 5, 1)],
}


class GivenLogits(nn.Module):
    """Answers with given logits, whatever it is asked."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, batch: WindowBatch, *cells: Tensor, **options: Any) -> Tensor:
        assert len(cells[0]) == len(self.logits)
        return self.logits


def batch_of(lengths: Sequence[int]) -> WindowBatch:
    return WindowBatch(torch.zeros(len(lengths), max(lengths), 1), np.asarray(lengths))


def targets_of(
    codec: BiaffineCodec, gold: Sequence[Rows], lengths: Sequence[int]
) -> BiaffineTargets:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        rng=np.random.default_rng(0),
    )


def dense(targets: BiaffineTargets, n_labels: int = 2) -> Tensor:
    """Mass of each label on each cell: (cell, label)."""
    masses = torch.zeros(len(targets.cells.window), n_labels)
    masses[targets.cell, targets.label] = torch.as_tensor(targets.mass)
    return masses


def ideal_logits(
    codec: BiaffineCodec, targets: BiaffineTargets, n_labels: int = 2
) -> Tensor:
    """The logits at which the loss is smallest: (cell, class)."""
    masses = dense(targets, n_labels)
    if codec.multilabel:
        margins = masses.logit(eps=1e-6)
        return torch.cat([torch.zeros(len(masses), 1), margins], dim=1)
    rest = 1 - masses.sum(dim=1, keepdim=True)
    return torch.cat([rest, masses], dim=1).clamp(min=1e-6).log()


def found(
    codec: BiaffineCodec,
    logits: Tensor,
    lengths: Sequence[int],
    thresholds: Sequence[float] = (0.5, 0.5),
) -> List[Rows]:
    """Candidates by window, in the order of gold."""
    given = codec.candidates(
        GivenLogits(logits), batch_of(lengths), torch.tensor(thresholds)
    )
    windows: List[Rows] = [[] for _ in lengths]
    for window, *span in zip(*(column.tolist() for column in given[:4])):
        windows[window].append(tuple(span))
    return [sorted(rows) for rows in windows]
