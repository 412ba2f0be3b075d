"""Targets, loss and candidates of the biaffine model (Zhu and Li 2022).

The loss is the cross entropy over all spans of a window, summed; boundary smoothing
(Section 3.2) moves mass of the targets to the spans around a gold span. With
`multilabel`, every label has its own sigmoid over its margin to "no entity", so one
span can carry several labels, which the softmax of the paper cannot give.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from ...settings import at_least, fraction, one_of, optional, setting, yes_or_no
from ...spans.geometry import SpanCells, enumerate_spans, find_cells
from ...spans.layouts import flatten_gold
from ...spans.overlap import repeats
from ...spans.table import Bools, Floats, Ints, SpanTable
from ..blocks.cell_losses import sparse_binary_cross_entropy, sparse_soft_cross_entropy
from ..blocks.cells import span_columns
from ..blocks.divergence import Scored, yes_or_no_scores
from ..blocks.padded_rows import to_device
from ..codec import Pass, SpanCodec, WindowBatch
from ..scored_spans import (
    DECISIONS,
    Candidates,
    all_labels,
    best_labels,
    join,
    only_best_class,
)
from .smoothing import hard_boundaries, smooth_boundaries


class BiaffineTargets(NamedTuple):
    """The cells of a batch, and the entity mass on them.

    cells (SpanCells): every span that is scored. Columns: (cell,)
    cell, label (Ints), mass (Floats): where mass lies. Shape: (entry,)
    """

    cells: SpanCells
    cell: Ints
    label: Ints
    mass: Floats


@dataclass(frozen=True)
class BiaffineCodec(SpanCodec):
    """Settings of the biaffine model.

    boundary_smoothing (float): ε, the share of a gold span's mass that goes to the
        spans around it; 0 gives hard targets.
    smoothing_distance (int): D, how far the boundaries of these spans may be moved.
    label_smoothing (float): α, the share of every target that is spread evenly over
        the classes, which the paper compares with boundary smoothing.
    multilabel (bool): whether one span may carry several labels.
    decision (str): "threshold" (labels that reach the threshold) or "argmax" (as in the
        paper, only the most probable class of a span; if it reaches the threshold).
    max_width (Optional[int]): longest span that is scored, in tokens; no limit if
        None.
    """

    boundary_smoothing: float = setting(0.1, fraction)
    smoothing_distance: int = setting(1, at_least(1))
    label_smoothing: float = setting(0.0, fraction)
    multilabel: bool = setting(False, yes_or_no)
    decision: str = setting("threshold", one_of(DECISIONS))
    max_width: Optional[int] = setting(None, optional(at_least(1)))

    def lost(self, spans: SpanTable) -> Dict[str, Bools]:
        """RETURNS (Dict[str, Bools]): too wide spans, and further labels of a span."""
        return {
            f"longer than max_width = {self.max_width}": self._too_wide(spans),
            "with the same boundaries as another span (set multilabel = true)": (
                np.zeros(spans.n_spans, dtype=bool)
                if self.multilabel
                else repeats(spans)
            ),
        }

    def _too_wide(self, spans: SpanTable) -> Bools:
        limit = np.inf if self.max_width is None else self.max_width
        return spans.end - spans.start > limit

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, *, rng: np.random.Generator
    ) -> BiaffineTargets:
        """Enumerate the spans of a batch and place the smoothed gold on them. Gold that
        is lost is left out: if all labels of a span shared its probability, none could
        reach its threshold.

        gold (Sequence[SpanTable]): spans of each window.
        lengths (Ints): tokens per window. Shape: (batch,)
        RETURNS (BiaffineTargets): sparse targets.
        """
        cells = enumerate_spans(lengths, self.max_width)
        soft = smooth_boundaries(
            hard_boundaries(flatten_gold(list(map(self.learnable, gold)))),
            lengths,
            epsilon=self.boundary_smoothing,
            distance=self.smoothing_distance,
            exclusive=not self.multilabel,
            max_width=self.max_width,
        )
        cell = find_cells(cells, *soft[:3])
        return BiaffineTargets(cells, cell, soft.label, soft.mass)

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: BiaffineTargets
    ) -> Tensor:
        """RETURNS (Tensor): cross entropy, summed over the cells of the batch."""
        return self.learn_pass(module, batch, targets).loss

    def learn_pass(
        self,
        module: nn.Module,
        batch: WindowBatch,
        targets: BiaffineTargets,
        earlier: Optional[Pass] = None,
    ) -> Pass:
        """RETURNS (Pass): the loss, and the scores of all cells."""
        logits, columns = self._score(module, batch, targets.cells)
        entries: Any = to_device(targets[1:], logits.device)  # cell, label, mass
        extras: Any = {
            "smoothing": self.label_smoothing,
            "missing": batch.missing_at(*columns),
        }
        if self.multilabel:
            margin = logits[:, 1:] - logits[:, :1]
            loss = sparse_binary_cross_entropy(margin, *entries, **extras)
            return Pass(loss, [yes_or_no_scores(margin)])
        loss = sparse_soft_cross_entropy(logits, *entries, **extras)
        return Pass(loss, [Scored(logits)])

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """RETURNS (Candidates): scored spans of the batch; see `candidate_parts`."""
        return join(self.candidate_parts(module, batch, thresholds))

    def candidate_parts(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Iterator[Candidates]:
        """Report labels that reach their threshold: with the softmax the best of each
        span, with `multilabel` all.

        thresholds (Tensor): (label,)
        YIELDS (Candidates): those of up to `max_cells` scores.
        """
        logits, columns = self._score(module, batch)
        n_cells, n_classes = logits.shape
        at_once = max(1, (batch.max_cells or logits.numel()) // n_classes)
        for first in range(0, max(n_cells, 1), at_once):
            part = slice(first, first + at_once)
            some = [column[part] for column in columns]
            yield self._choose(logits[part], some, thresholds)

    def _choose(
        self, logits: Tensor, columns: Sequence[Tensor], thresholds: Tensor
    ) -> Candidates:
        """RETURNS (Candidates): those of some cells, with scores (cell, class)."""
        if self.multilabel:
            margin = logits[:, 1:] - logits[:, :1]
            # A label and its absence are two classes.
            both = torch.stack([(-margin).sigmoid(), margin.sigmoid()], dim=-1)
            scores = only_best_class(both, self.decision)[..., 1]  # (cell, label)
            chosen = all_labels(scores, thresholds)
        else:
            # With the cells in a row for each class, a softmax takes a tenth of the
            # time.
            classes = only_best_class(logits.T.softmax(dim=0).T, self.decision)
            scores = classes[:, 1:]  # (cell, label)
            chosen = best_labels(scores, thresholds)
        return Candidates.at(columns, *chosen, scores)

    def _score(
        self, module: nn.Module, batch: WindowBatch, cells: Optional[SpanCells] = None
    ) -> Tuple[Tensor, List[Tensor]]:
        """RETURNS (Tuple[Tensor, List[Tensor]]): scores of the cells (cell, class), and
        the columns of the cells on the device.
        """
        columns = span_columns(batch, self.max_width, cells)
        return module(batch, *columns, band=self.max_width), columns
