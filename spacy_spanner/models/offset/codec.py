"""Targets, loss and candidates of the boundary offset network (Tang et al. 2023).

The loss is the cross entropy of the classes of every span and type, summed over a
window. The paper averages over the whole grid, so that the few cells near entities
hardly count.
"""

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np
from torch import Tensor, nn

from ...settings import at_least, fraction, one_of, setting
from ...spans.geometry import SpanCells, enumerate_spans, find_cells
from ...spans.layouts import FlatGold, flatten_gold
from ...spans.table import Ints, SpanTable
from ..blocks.cell_losses import sparse_soft_cross_entropy
from ..blocks.padded_rows import to_device
from ..codec import Candidates, SpanCodec, WindowBatch, all_labels
from .decoding import DECODINGS, collect_pointers, decode_all_votes, decode_votes
from .offsets import CENTER, smooth_cells


class OffsetTargets(NamedTuple):
    """Gold spans of a batch; the cells that point at them depend on the module.

    gold (FlatGold): columns (span,)
    lengths (Ints): tokens per window. Shape: (batch,)
    """

    gold: FlatGold
    lengths: Ints


@dataclass(frozen=True)
class OffsetCodec(SpanCodec):
    """Settings of the boundary offset network.

    decoding (str): "centers_only" (what is predicted as a center), "votes" (also what
        offsets point at, by the two rules of the paper), or "all_votes" (without the
        rules).
    boundary_smoothing (float): ε, the probability with which the targets take the
        boundaries of the gold as moved; 0 gives hard targets.
    smoothing_distance (int): D, how far boundaries may be moved.
    label_smoothing (float): share of every target that is spread evenly over the
        classes.
    """

    decoding: str = setting("centers_only", one_of(DECODINGS))
    boundary_smoothing: float = setting(0.1, fraction)
    smoothing_distance: int = setting(1, at_least(1))
    label_smoothing: float = setting(0.0, fraction)

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, *, rng: np.random.Generator
    ) -> OffsetTargets:
        """RETURNS (OffsetTargets): the gold of all windows in one table."""
        return OffsetTargets(flatten_gold(gold), lengths)

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: OffsetTargets
    ) -> Tensor:
        """RETURNS (Tensor): cross entropy, summed over spans and types of the batch."""
        cells = enumerate_spans(batch.lengths)
        logits, _ = score_cells(module, batch, cells)
        classes: Any = module.classes
        entries = smooth_cells(
            targets.gold,
            lengths=targets.lengths,
            classes=classes,
            epsilon=self.boundary_smoothing,
            distance=self.smoothing_distance,
        )
        row = find_cells(cells, *entries[:3]) * logits.shape[1] + entries.label
        columns = (row, entries.offset - 1, entries.mass)
        index, label, mass = to_device(columns, logits.device)
        return sparse_soft_cross_entropy(
            logits.flatten(0, 1), index, label, mass, smoothing=self.label_smoothing
        )

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """Find spans by centers, or by centers and votes.

        thresholds (Tensor): (label,)
        RETURNS (Candidates): scored spans of the batch. The score of a center is its
            probability; that of a span found by votes is the mean probability of the
            votes.
        """
        logits, columns = score_cells(module, batch, enumerate_spans(batch.lengths))
        classes: Any = module.classes
        probabilities = logits.softmax(dim=-1)[..., CENTER:]
        if self.decoding == "centers_only" or not classes.max_offset:
            centers = probabilities[..., 0]  # (cell, label)
            return Candidates.at(columns, *all_labels(centers, thresholds), centers)
        pointers = collect_pointers(
            probabilities,
            *columns,
            lengths=batch.lengths,
            thresholds=thresholds,
            classes=classes,
        )
        if self.decoding == "all_votes":
            return decode_all_votes(pointers)
        return decode_votes(pointers, classes)


def score_cells(
    module: nn.Module, batch: WindowBatch, cells: SpanCells
) -> Tuple[Tensor, List[Tensor]]:
    """Run the module and leave out the lower triangle and padding.

    RETURNS (Tuple[Tensor, List[Tensor]]): scores (cell, label, class), and the columns
        of the cells on the device.
    """
    columns = to_device(cells, batch.vectors.device)
    grid = module(batch)  # (batch, start, last, label, class)
    window, start, last = columns
    n_tokens = grid.shape[1]
    row = (window * n_tokens + start) * n_tokens + last
    rows = grid.flatten(3).flatten(0, 2).index_select(0, row)
    return rows.unflatten(1, grid.shape[3:]), columns
