"""The boundary offset prediction network (Tang et al. 2023).

Token vectors pass a BiLSTM and become span vectors by a conditional layer norm; each is
fused with a vector of each type to scores of the offset classes; convolutions over
(type, start, last) correct the scores. The types are learned embeddings (the paper's
"w/o type inputs"), the encoder's vectors of soft prompts (type inputs), or their sum.
"""

from dataclasses import dataclass
from typing import Iterator, List, Optional, Sequence, Tuple, Union, cast

import numpy as np
import torch
from torch import Tensor, nn

from ...settings import Settings, at_least, even, fraction, one_of, setting, yes_or_no
from ..blocks.lstm import optional_lstm
from ..blocks.projection import Projection
from ..codec import WindowBatch
from .convolution import FullGridConvolution, GridConvolution
from .fusion import SpanTypeFusion
from .offsets import CENTER, OFFSET_SIDES, OffsetClasses
from .span_vectors import BiaffineFusion, SpanVectors

CONVOLUTIONS = ("depthwise", "full")

# Initial score of each class, with 0 for "out of range". Without it, the first steps
# would only learn that entities are rare.
PRIOR = -7.0


@dataclass(frozen=True)
class OffsetSettings(Settings):
    """Sizes, rates and classes of the boundary offset network.

    type_inputs (bool): whether the encoder reads the types together with the text and
        returns their vectors, as `spacy_spanner.Transformer.v1` with `prompts` does;
        they are added to learned embeddings of the types.
    type_embeddings (bool): whether types have learned embeddings; without them, as in
        the paper, types are nothing but the vectors of the encoder.
    type_lstm (bool): whether the BiLSTM reads the vectors of the types before those of
        the tokens, as in the paper; otherwise they skip it.
    max_offset (int): S, how far the boundary of a span may be from that of the entity
        that it points at; 0 for no offsets.
    offset_sides (str): which boundaries have offsets: "both", "start" or "end".
    lstm_width (int): size of a BiLSTM between encoder and spans, both directions
        together; 0 for none.
    hidden_width (int): size of the vectors of boundaries or spans, and of types.
    span_network (bool): whether span vectors are built in full and pass a feed-forward
        network before they meet the types, as in the paper; this needs more memory and
        time. Otherwise the boundaries are projected before the conditional norm.
    region_embedding (int): size of the embedding that tells spans from the other half
        of the grid; 0 for none.
    distance_embedding (int): size of the embedding of a span's width; 0 for none.
    n_distances (int): spans of this many tokens or more share one embedding.
    conv_layers (int): convolutions over the grid, with dilations 1, 2, ...; 0 for none.
    conv_kind (str): "depthwise", with a kernel for each channel, or "full", the
        convolutions of the paper, whose channels are the classes.
    conv_width (int): channels of depthwise convolutions.
    conv_residual (bool): whether convolutions are added to the scores, as in the
        authors' code; otherwise they replace them, as in the paper. Depthwise ones are
        always added.
    conv_types (bool): whether convolutions reach over neighbouring types too, as in the
        paper; results then depend on the order of the labels.
    dropout (float): rate on the vectors of boundaries and of type inputs, and before
        the convolutions. `[training] dropout` reaches the encoder only.
    input_dropout (float): rate before and after the BiLSTM; also on the type inputs of
        the encoder.
    """

    type_inputs: bool = setting(False, yes_or_no)
    type_embeddings: bool = setting(True, yes_or_no)
    type_lstm: bool = setting(False, yes_or_no)
    max_offset: int = setting(2, at_least(0))
    offset_sides: str = setting("both", one_of(OFFSET_SIDES))
    lstm_width: int = setting(200, even)
    hidden_width: int = setting(150, at_least(1))
    span_network: bool = setting(False, yes_or_no)
    region_embedding: int = setting(20, at_least(0))
    distance_embedding: int = setting(20, at_least(0))
    n_distances: int = setting(32, at_least(1))
    conv_layers: int = setting(0, at_least(0))
    conv_kind: str = setting("depthwise", one_of(CONVOLUTIONS))
    conv_width: int = setting(16, at_least(1))
    conv_residual: bool = setting(True, yes_or_no)
    conv_types: bool = setting(False, yes_or_no)
    dropout: float = setting(0.2, fraction)
    input_dropout: float = setting(0.1, fraction)

    @property
    def classes(self) -> OffsetClasses:
        """The classes of a cell."""
        return OffsetClasses(self.max_offset, self.offset_sides)


class OffsetModule(nn.Module):
    """Token vectors to scores of every offset class of every span and type."""

    def __init__(self, n_in: int, n_labels: int, settings: OffsetSettings) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels.
        settings (OffsetSettings): sizes, rates and classes.
        """
        super().__init__()
        width, dropout = settings.hidden_width, settings.dropout
        self.settings = settings
        self.classes = settings.classes
        self.scores_per_pair = _numbers_per_pair(settings, n_labels)
        self.scores_per_label = _numbers_per_label(settings)
        self.joins_types = bool(settings.conv_layers and settings.conv_types)
        rates = {"dropout": dropout, "input_dropout": settings.input_dropout}
        self.type_embedding: Optional[nn.Embedding] = None
        if settings.type_embeddings:
            self.type_embedding = nn.Embedding(n_labels, width)
        self.type_lstm = settings.type_lstm
        self.type_projection: Optional[Projection] = None
        n_read = settings.lstm_width or n_in
        if settings.type_inputs:
            n_type = n_read if settings.type_lstm else n_in
            self.type_projection = Projection(n_type, width, **rates)
        self.lstm = optional_lstm(
            n_in, settings.lstm_width, dropout=settings.input_dropout
        )
        places = {
            "region": settings.region_embedding,
            "distance": settings.distance_embedding,
            "n_distances": settings.n_distances,
        }
        n_classes = self.classes.n_classes
        self.spans: Optional[SpanVectors] = None
        self.fusion: Union[BiaffineFusion, SpanTypeFusion]
        if settings.span_network:
            self.spans = SpanVectors(n_read, width, dropout=dropout, **places)
            self.fusion = BiaffineFusion(width, n_classes)
        else:
            self.start = Projection(n_read, width, **rates)
            self.last = Projection(n_read, width, **rates)
            self.fusion = SpanTypeFusion(width, n_classes, **places)
        self.convolution = _grid_convolution(settings)
        self._expect_few_entities()

    def _expect_few_entities(self) -> None:
        """Give all classes but "out of range" a low score at first."""
        with torch.no_grad():
            self.fusion.weight[CENTER:, -1, -1] = PRIOR
            if isinstance(self.convolution, FullGridConvolution):
                replaced = not self.convolution.residual
                self.convolution.outer.bias[CENTER:] = PRIOR if replaced else 0.0

    def forward(self, batch: WindowBatch) -> Tensor:
        """Score all pairs of tokens; only convolutions and the loss over the whole grid
        read those with start > last.

        batch (WindowBatch): vectors of shape (batch, token, width)
        RETURNS (Tensor): (batch, start, last, label, class); undefined for padding.
        """
        sides, types = self.sides_and_types(batch)
        return self._score(batch, sides, types)

    def score_spans(self, batch: WindowBatch, columns: Sequence[Tensor]) -> Tensor:
        """Score some spans. In short windows, other pairs of tokens are not scored.

        columns (Sequence[Tensor]): window, start and last. Shapes: (cell,)
        RETURNS (Tensor): (cell, label, class)
        """
        sides, types = self.sides_and_types(batch)
        n_tokens, n_scores = batch.vectors.shape[1], self.classes.n_classes
        if n_tokens <= 2 * types.shape[1] * n_scores and self.scores_spans_alone(types):
            fusion = cast(SpanTypeFusion, self.fusion)
            by_type = fusion.contract(types, fusion.weight)
            scores = fusion.score_cells(fusion.sides(*sides), by_type, *columns)
            return scores.unflatten(1, (types.shape[1], -1))
        return take_cells(self._score(batch, sides, types), *columns)

    def scores_spans_alone(self, types: Tensor) -> bool:
        """RETURNS (bool): whether the score of a span depends on nothing but its two
        tokens.
        """
        fused = isinstance(self.fusion, SpanTypeFusion) and self.convolution is None
        return fused and len(types) == 1

    def in_parts(self, batch: WindowBatch) -> Iterator[Tensor]:
        """Score all pairs of tokens for some labels at a time, so that there are about
        `max_cells` numbers at once. Convolutions over types need all labels.

        batch (WindowBatch): has a limit.
        YIELDS (Tensor): (batch, start, last, label, class), the labels in their order.
        """
        sides, types = self.sides_and_types(batch)
        n_pairs = len(batch.lengths) * batch.vectors.shape[1] ** 2
        at_once = (batch.max_cells or 0) // (n_pairs * self.scores_per_label)
        if self.joins_types:
            at_once = types.shape[1]
        for some in types.split(max(1, at_once), dim=1):
            yield self._score(batch, sides, some)

    def sides_and_types(self, batch: WindowBatch) -> Tuple[List[Tensor], Tensor]:
        """RETURNS (Tuple[List[Tensor], Tensor]): what the fusion combines: vectors of
        the spans, or of the tokens in both roles, and those of the types.
        """
        tokens, inputs = self._read(batch)
        if self.spans is not None:
            sides = [self.spans(tokens)]
        else:
            sides = [self.start(tokens), self.last(tokens)]
        return sides, self._type_vectors(inputs)

    def _score(
        self, batch: WindowBatch, sides: Sequence[Tensor], types: Tensor
    ) -> Tensor:
        """RETURNS (Tensor): scores of some types. (batch, start, last, label, class)"""
        scores: Tensor = self.fusion(*sides, types)
        if self.convolution is not None:
            mask = batch.mask[:, :, None] & batch.mask[:, None, :]
            scores = self.convolution(scores, mask)
        return scores

    def _read(self, batch: WindowBatch) -> Tuple[Tensor, Optional[Tensor]]:
        """Run the BiLSTM over the tokens, or over types and tokens.

        RETURNS (Tuple[Tensor, Optional[Tensor]]): vectors of the tokens (batch, token,
            width), and those of the types that the encoder gave (batch, label, width).
        """
        if not self.type_lstm or batch.types is None:
            return self.lstm(batch).vectors, batch.types
        n_labels = batch.types.shape[1]
        joined = WindowBatch(
            torch.cat([batch.types, batch.vectors], dim=1),
            np.asarray(batch.lengths) + n_labels,
        )
        read = self.lstm(joined).vectors
        return read[:, n_labels:], read[:, :n_labels]

    def _type_vectors(self, inputs: Optional[Tensor]) -> Tensor:
        """Embed the types, and add their vectors in the text if the encoder has them.

        An encoder may return nearly the same vector for all prompts; embeddings differ.

        RETURNS (Tensor): (batch, label, width), or (1, label, width) without inputs.
        """
        parts = []
        if self.type_embedding is not None:
            parts.append(self.type_embedding.weight[None])
        if self.type_projection is not None:
            assert inputs is not None  # the architecture requires such an encoder
            parts.append(self.type_projection(inputs))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def take_cells(grid: Tensor, window: Tensor, start: Tensor, last: Tensor) -> Tensor:
    """Leave out all other pairs of tokens and padding.

    grid (Tensor): (batch, start, last, label, class)
    window, start, last (Tensor): the cells. Shapes: (cell,)
    RETURNS (Tensor): (cell, label, class)
    """
    n_tokens = grid.shape[1]
    row = (window * n_tokens + start) * n_tokens + last
    rows = grid.flatten(3).flatten(0, 2).index_select(0, row)
    return rows.unflatten(1, grid.shape[3:])


def _numbers_per_pair(settings: OffsetSettings, n_labels: int) -> int:
    """RETURNS (int): numbers that a pair of tokens costs, for `max_cells`."""
    # Normed, with embeddings, and after the network.
    vectors = 3 * settings.hidden_width if settings.span_network else 0
    return n_labels * _numbers_per_label(settings) + vectors


def _numbers_per_label(settings: OffsetSettings) -> int:
    """RETURNS (int): numbers that a pair of tokens costs for each label."""
    n_classes = settings.classes.n_classes
    width = n_classes if settings.conv_kind == "full" else settings.conv_width
    n_channels = width * (1 + settings.conv_layers) if settings.conv_layers else 0
    return n_classes + n_channels


def _grid_convolution(settings: OffsetSettings) -> Optional[nn.Module]:
    if not settings.conv_layers:
        return None
    if settings.conv_kind == "full":
        return FullGridConvolution(
            settings.classes.n_classes,
            n_layers=settings.conv_layers,
            types=settings.conv_types,
            residual=settings.conv_residual,
            dropout=settings.dropout,
        )
    return GridConvolution(
        settings.classes.n_classes,
        n_layers=settings.conv_layers,
        width=settings.conv_width,
        types=settings.conv_types,
        dropout=settings.dropout,
    )
