"""Targets, loss and candidates of the boundary offset network (Tang et al. 2023).

The loss is the cross entropy of the classes of every span and type, summed over a
window. The paper averages over the whole grid (Equation 7), so that the few cells near
entities hardly count; `loss_cells` chooses.
"""

from dataclasses import dataclass
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from ...settings import at_least, fraction, one_of, setting
from ...spans.geometry import (
    SpanCells,
    enumerate_grid,
    enumerate_spans,
    find_cells,
)
from ...spans.layouts import FlatGold, flatten_gold
from ...spans.table import Ints, SpanTable
from ..blocks.cell_losses import sparse_soft_cross_entropy
from ..blocks.cells import span_columns
from ..blocks.divergence import Scored
from ..blocks.padded_rows import to_device
from ..codec import ClassCounts, Contradiction, Pass, SpanCodec, WindowBatch
from ..scored_spans import DECISIONS, Candidates, all_labels, join, only_best_class
from .centers import find_centers
from .decoding import DECODINGS, collect_pointers, decode_all_votes, decode_votes
from .module import OffsetModule, OffsetSettings, take_cells
from .offsets import CENTER, OffsetClasses, SoftCellLabels, label_cells, smooth_cells

LOSS_CELLS = ("spans", "grid", "mirrored_grid")


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
    decision (str): "threshold" (every class that reaches the threshold counts) or
        "argmax" (only the most probable class of a cell and type, as in the paper; if
        it reaches the threshold).
    loss_cells (str): "spans" (the sum over the spans of a window), "grid" (the mean
        over all pairs of tokens, as in the paper; those that are no spans are out of
        range) or "mirrored_grid" (the same, but the other half of the grid mirrors the
        spans, as in the authors' code).
    boundary_smoothing (float): ε, the probability with which the targets take the
        boundaries of the gold as moved; 0 gives hard targets.
    smoothing_distance (int): D, how far boundaries may be moved.
    label_smoothing (float): share of every target that is spread evenly over the
        classes.
    """

    decoding: str = setting("centers_only", one_of(DECODINGS))
    decision: str = setting("threshold", one_of(DECISIONS))
    loss_cells: str = setting("spans", one_of(LOSS_CELLS))
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
        """RETURNS (Tensor): cross entropy over the cells of `loss_cells` and the types,
        summed over the batch.
        """
        return self.learn_pass(module, batch, targets).loss

    def learn_pass(
        self,
        module: nn.Module,
        batch: WindowBatch,
        targets: OffsetTargets,
        earlier: Optional[Pass] = None,
    ) -> Pass:
        """RETURNS (Pass): the loss, and the scores of all cells and types."""
        over_spans = self.loss_cells == "spans"
        cells = (enumerate_spans if over_spans else enumerate_grid)(batch.lengths)
        logits, places = score_cells(module, batch, cells, spans=over_spans)
        n_labels = logits.shape[1]
        classes: Any = module.classes
        entries = self._smooth_targets(targets, classes)
        row = find_cells(cells, *entries[:3]) * n_labels + entries.label
        share = 1 / (n_labels * np.asarray(batch.lengths, dtype=np.float32) ** 2)
        columns = (row, entries.offset - 1, entries.mass, share)
        index, label, mass, weight = to_device(columns, logits.device)
        logits = logits.flatten(0, 1)
        of_cell = None
        if not over_spans:
            of_cell = weight[places[0]].repeat_interleave(n_labels)
        loss = sparse_soft_cross_entropy(
            logits,
            index,
            label,
            mass,
            smoothing=self.label_smoothing,
            weight=of_cell,
            missing=self._missing(batch, *places),
        )
        return Pass(loss, [Scored(logits, 1.0 if of_cell is None else of_cell)])

    def _missing(
        self, batch: WindowBatch, window: Tensor, start: Tensor, last: Tensor
    ) -> Optional[Tensor]:
        """RETURNS (Optional[Tensor]): for each cell and label, the share of entities
        without annotation. Shape: (cell·label, 1)
        """
        if self.loss_cells == "mirrored_grid":
            start, last = torch.minimum(start, last), torch.maximum(start, last)
        rates = batch.missing_at(window, start, last)
        return None if rates is None else rates.reshape(-1, 1)

    def _smooth_targets(
        self, targets: OffsetTargets, classes: OffsetClasses
    ) -> SoftCellLabels:
        """RETURNS (SoftCellLabels): the target mass of classes on cells."""
        entries = smooth_cells(
            targets.gold,
            lengths=targets.lengths,
            classes=classes,
            epsilon=self.boundary_smoothing,
            distance=self.smoothing_distance,
        )
        return mirror(entries) if self.loss_cells == "mirrored_grid" else entries

    def contradictions(self, module: nn.Module) -> List[Contradiction]:
        """RETURNS (List[Contradiction]): votes without offsets, and embeddings of the
        half of the grid where only one half is scored.
        """
        settings: Any = module.settings
        found = []
        if self.decoding != "centers_only" and not settings.max_offset:
            first = f'decoding = "{self.decoding}"'
            why = "votes come from offsets, so that only centers are predicted"
            found.append(Contradiction(first, "model.max_offset = 0", why))
        # The default embedding is constant too, but costs next to nothing.
        chosen = settings.span_network or (
            settings.region_embedding != OffsetSettings.region_embedding
        )
        one_half = self.loss_cells == "spans" and not settings.conv_layers
        if chosen and one_half and settings.region_embedding:
            first = f"model.region_embedding = {settings.region_embedding}"
            why = (
                "without the other half of the grid in the loss or in convolutions, "
                "all cells have the same embedding"
            )
            found.append(Contradiction(first, 'loss_cells = "spans"', why))
        return found

    def count_classes(
        self, module: nn.Module, batch: WindowBatch, targets: OffsetTargets
    ) -> ClassCounts:
        """RETURNS (ClassCounts): spans and types by the class of their offset."""
        classes: Any = module.classes
        cells = enumerate_spans(batch.lengths)
        logits, _ = score_cells(module, batch, cells, spans=True)
        predicted = logits.argmax(dim=-1).flatten().cpu().numpy()
        entries = label_cells(targets.gold, lengths=batch.lengths, classes=classes)
        row = find_cells(cells, entries.window, entries.start, entries.last)
        gold = np.zeros_like(predicted)
        gold[row * logits.shape[1] + entries.label] = entries.offset
        size = classes.n_classes
        pairs = np.bincount(gold * size + predicted, minlength=size * size)
        names = ["out of range", *classes.names]
        return ClassCounts(names, pairs.reshape(size, size))

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """RETURNS (Candidates): scored spans of the batch; see `candidate_parts`."""
        return join(self.candidate_parts(module, batch, thresholds))

    def candidate_parts(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Iterator[Candidates]:
        """Find spans by centers, or by centers and votes.

        thresholds (Tensor): (label,)
        YIELDS (Candidates): scored spans of some labels, as many as `max_cells` allows.
            The score of a center is its probability; that of a span found by votes is
            the mean probability of the votes.
        """
        network: Any = module
        centers_only = self.decoding == "centers_only" and self.decision == "threshold"
        if centers_only and isinstance(module, OffsetModule):
            parts = find_centers(module, batch, thresholds)
            if parts is not None:
                yield from parts
                return
        limited = batch.max_cells is not None
        grids = network.in_parts(batch) if limited else [network(batch)]
        cells = span_columns(batch)
        first = 0
        for grid in grids:
            part = slice(first, first + grid.shape[3])
            scores = take_cells(grid, *cells)
            found = self._decode(module, batch, cells, scores, thresholds[part])
            yield found._replace(label=found.label + first)
            first = part.stop

    def _decode(
        self,
        module: nn.Module,
        batch: WindowBatch,
        columns: List[Tensor],
        logits: Tensor,
        thresholds: Tensor,
    ) -> Candidates:
        """Find the spans of some labels.

        columns (List[Tensor]): window, start and last of the cells. Shapes: (cell,)
        logits (Tensor): (cell, label, class)
        thresholds (Tensor): (label,)
        RETURNS (Candidates): scored spans, with the places of the labels as labels.
        """
        classes: Any = module.classes
        # With the cells in a row for each class, a softmax takes a tenth of the time.
        probabilities = logits.movedim(-1, 0).softmax(dim=0).movedim(0, -1)
        probabilities = only_best_class(probabilities, self.decision)[..., CENTER:]
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


def mirror(entries: SoftCellLabels) -> SoftCellLabels:
    """RETURNS (SoftCellLabels): the entries, and those of more than one token again in
    the other half of the grid.
    """
    longer = entries.start < entries.last
    columns: Any = [column[longer] for column in entries]
    window, start, last, *rest = columns
    pairs: Any = zip(entries, (window, last, start, *rest))
    return SoftCellLabels(*map(np.concatenate, pairs))


def score_cells(
    module: nn.Module, batch: WindowBatch, cells: SpanCells, *, spans: bool
) -> Tuple[Tensor, List[Tensor]]:
    """Run the module on all labels.

    spans (bool): whether all cells are spans.
    RETURNS (Tuple[Tensor, List[Tensor]]): scores (cell, label, class), and the columns
        of the cells on the device.
    """
    device = batch.vectors.device
    columns = span_columns(batch, listed=cells) if spans else to_device(cells, device)
    if spans and isinstance(module, OffsetModule):
        return module.score_spans(batch, columns), columns
    return take_cells(module(batch), *columns), columns
