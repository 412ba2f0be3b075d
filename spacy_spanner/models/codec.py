"""The interface that every model implements, `SpanCodec`, and the types that it uses.

A codec is a frozen dataclass of settings; it has no weights, labels or documents. It
turns gold spans into targets, and runs the torch module: to a loss in training, to
scored candidates in prediction. Windows, batches, devices, the choice of spans and
their annotation are the same for all models and are not its concern.
"""

from abc import ABC, abstractmethod
from typing import (
    Any,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
)

import numpy as np
import torch
from torch import Tensor, nn

from ..settings import Settings
from ..spans.table import Bools, Floats, Ints, SpanTable
from .blocks.divergence import Scored
from .scored_spans import Candidates


class WindowBatch(NamedTuple):
    """Windows of similar length, padded.

    vectors (Tensor): token vectors, zero where padded. Shape: (batch, token, width)
    lengths (Ints): tokens per window, on the host. Shape: (batch,)
    types (Optional[Tensor]): a vector of each label in each window, from an encoder
        that reads the labels together with the text. Shape: (batch, label, width)
    max_cells (Optional[int]): how many numbers to compute at once in prediction, if a
        model can divide its windows; no limit if None.
    missing (Optional[Tensor]): in training, the share of the entities of each span and
        label that are not annotated, see `spans.missing`; None if annotation is
        complete. Shape: (batch, start, last, label)
    on_device (Optional[Tensor]): the lengths on the device, if they are there already.
        Shape: (batch,)
    """

    vectors: Tensor
    lengths: Ints
    types: Optional[Tensor] = None
    max_cells: Optional[int] = None
    missing: Optional[Tensor] = None
    on_device: Optional[Tensor] = None

    @property
    def sizes(self) -> Tensor:
        """Tokens per window, on the device. Shape: (batch,)"""
        if self.on_device is not None:
            return self.on_device
        return torch.as_tensor(self.lengths, device=self.vectors.device)

    @property
    def mask(self) -> Tensor:
        """True for real tokens, on the device. Shape: (batch, token)"""
        position = torch.arange(self.vectors.shape[1], device=self.vectors.device)
        return position[None, :] < self.sizes[:, None]

    def missing_at(
        self, window: Tensor, start: Tensor, last: Tensor
    ) -> Optional[Tensor]:
        """RETURNS (Optional[Tensor]): the rates of spans, by label. Shape: (..., label)

        window, start, last (Tensor): the spans, in shapes that broadcast.
        """
        return None if self.missing is None else self.missing[window, start, last]


class Contradiction(NamedTuple):
    """Two settings with their values, of which one makes the other useless, and why."""

    first: str
    second: str
    why: str


class Pass(NamedTuple):
    """What a pass of a batch through a module gives in training.

    loss (Tensor): the sum of the windows' losses, a scalar.
    scored (Sequence[Scored]): the scores that a pass with the same targets but other
        dropout should agree with.
    chosen (Any): what another pass has to choose as this one did, so that both can be
        compared.
    """

    loss: Tensor
    scored: Sequence[Scored]
    chosen: Any = None


class ClassCounts(NamedTuple):
    """Cells by their gold class and their most probable class.

    names (List[str]): of the classes; the first is that of cells without meaning.
    counts (Ints): Shape: (gold class, predicted class)
    """

    names: List[str]
    counts: Ints


class SpanCodec(Settings, ABC):
    """The settings of a model, and its mathematics around the module."""

    @abstractmethod
    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, *, rng: np.random.Generator
    ) -> Any:
        """Turn gold spans into what the loss compares with, in numpy and without side
        effects.

        gold (Sequence[SpanTable]): spans of each window, in its token positions.
        lengths (Ints): tokens per window. Shape: (batch,)
        rng (Generator): source of all sampling.
        RETURNS (Any): targets of the batch, which are only passed to `loss`.
        """

    @abstractmethod
    def loss(self, module: nn.Module, batch: WindowBatch, targets: Any) -> Tensor:
        """Run the module and compare its output with the targets.

        RETURNS (Tensor): the sum of the windows' losses, a scalar.
        """

    def learn_pass(
        self,
        module: nn.Module,
        batch: WindowBatch,
        targets: Any,
        earlier: Optional[Pass] = None,
    ) -> Pass:
        """Do the same as `loss`, for `r_drop`; by default, passes are not compared.

        earlier (Optional[Pass]): another pass with the same targets.
        RETURNS (Pass): the loss, and what is compared with the other pass.
        """
        return Pass(self.loss(module, batch, targets), ())

    @abstractmethod
    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        """Run the module and reduce its output to spans that reach their threshold.

        thresholds (Tensor): the lowest score to report, by label. Shape: (label,)
        RETURNS (Candidates): spans with scores in [0, 1], on the device.
        """

    def candidate_parts(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Iterator[Candidates]:
        """Yield the candidates of a batch in parts, so that they never exist all at
        once; by default, there is one part.

        thresholds (Tensor): the lowest score to report, by label. Shape: (label,)
        YIELDS (Candidates): at least one part; what `candidates` returns in all.
        """
        yield self.candidates(module, batch, thresholds)

    def cells(
        self, module: nn.Module, n_labels: int, n_tokens: int, *, in_training: bool
    ) -> int:
        """Reckon what a padded window counts as for `max_cells`.

        By default, these are the scores of all pairs of tokens: one for each label and
        one for "no entity", or as many as the module has in `scores_per_pair`.

        RETURNS (int): a number that grows with the tokens.
        """
        per_pair: int = getattr(module, "scores_per_pair", n_labels + 1)
        return n_tokens**2 * per_pair

    def lost(self, spans: SpanTable) -> Dict[str, Bools]:
        """Find gold spans that this model can never predict; by default, there are
        none.

        spans (SpanTable): gold of one document.
        RETURNS (Dict[str, Bools]): for each reason, which spans it concerns. A reason
            completes a sentence about "spans", such as "longer than 5". Shape: (span,)
        """
        return {}

    def contradictions(self, module: nn.Module) -> List[Contradiction]:
        """Find settings of codec and module that make each other useless; by default,
        there are none.

        RETURNS (List[Contradiction]): what to warn of.
        """
        return []

    def learnable(self, spans: SpanTable) -> SpanTable:
        """RETURNS (SpanTable): the gold spans that are not lost, in the order given."""
        masks = list(self.lost(spans).values())
        return spans.take(~np.any(masks, axis=0)) if masks else spans

    def count_classes(
        self, module: nn.Module, batch: WindowBatch, targets: Any
    ) -> Optional[ClassCounts]:
        """Count how well the module tells classes that are no labels, such as offsets;
        by default, there are none.

        RETURNS (Optional[ClassCounts]): the counts of all cells of the batch.
        """
        return None

    def rescore(self, spans: SpanTable, window: Ints) -> Floats:
        """Change the scores of candidates by comparing those of a window, on the host;
        by default, scores stay as they are. Spans that fall below their threshold are
        dropped afterwards.

        spans (SpanTable), window (Ints): candidates of a batch. Shapes: (span,)
        RETURNS (Floats): the new scores. Shape: (span,)
        """
        return spans.score
