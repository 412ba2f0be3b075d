"""The boundary offset prediction network (Tang et al. 2023).

Token vectors pass a BiLSTM and become span vectors by a conditional layer norm; each is
fused with a vector of each type to scores of the offset classes; convolutions over
(type, start, last) correct the scores. The types are learned embeddings (the paper's
"w/o type inputs"); type inputs add the encoder's vectors of soft prompts to them.
"""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor, nn

from ...settings import Settings, at_least, even, fraction, one_of, setting, yes_or_no
from ..blocks.lstm import optional_lstm
from ..blocks.projection import Projection
from ..codec import WindowBatch
from .convolution import GridConvolution
from .fusion import SpanTypeFusion
from .offsets import CENTER, OFFSET_SIDES, OffsetClasses

# Initial score of each class, with 0 for "out of range". Without it, the first steps
# would only learn that entities are rare.
PRIOR = -7.0


@dataclass(frozen=True)
class OffsetSettings(Settings):
    """Sizes, rates and classes of the boundary offset network.

    type_inputs (bool): whether the encoder reads the types together with the text and
        returns their vectors, as `spacy_spanner.Transformer.v1` with `prompts` does;
        they are added to learned embeddings of the types.
    max_offset (int): S, how far the boundary of a span may be from that of the entity
        that it points at; 0 for no offsets.
    offset_sides (str): which boundaries have offsets: "both", "start" or "end".
    lstm_width (int): size of a BiLSTM between encoder and spans, both directions
        together; 0 for none.
    hidden_width (int): size of the vectors of boundaries and types.
    region_embedding (int): size of the embedding that tells spans from the other half
        of the grid; 0 for none.
    distance_embedding (int): size of the embedding of a span's width; 0 for none.
    n_distances (int): spans of this many tokens or more share one embedding.
    conv_layers (int): convolutions over the grid, with dilations 1, 2, ...; 0 for none.
    conv_width (int): channels of the convolutions.
    conv_types (bool): whether convolutions reach over neighbouring types too, as in the
        paper; results then depend on the order of the labels.
    dropout (float): rate on the vectors of boundaries and of type inputs, and before
        the convolutions. `[training] dropout` reaches the encoder only.
    input_dropout (float): rate before and after the BiLSTM; also on the type inputs of
        the encoder.
    """

    type_inputs: bool = setting(False, yes_or_no)
    max_offset: int = setting(2, at_least(0))
    offset_sides: str = setting("both", one_of(OFFSET_SIDES))
    lstm_width: int = setting(200, even)
    hidden_width: int = setting(150, at_least(1))
    region_embedding: int = setting(20, at_least(0))
    distance_embedding: int = setting(20, at_least(0))
    n_distances: int = setting(32, at_least(1))
    conv_layers: int = setting(0, at_least(0))
    conv_width: int = setting(16, at_least(1))
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
        self.classes = settings.classes
        n_classes = self.classes.n_classes
        rates = {"dropout": dropout, "input_dropout": settings.input_dropout}
        self.type_embedding = nn.Embedding(n_labels, width)
        self.type_projection: Optional[Projection] = None
        if settings.type_inputs:
            self.type_projection = Projection(n_in, width, **rates)
        self.lstm = optional_lstm(
            n_in, settings.lstm_width, dropout=settings.input_dropout
        )
        n_in = settings.lstm_width or n_in
        self.start = Projection(n_in, width, **rates)
        self.last = Projection(n_in, width, **rates)
        self.fusion = SpanTypeFusion(
            width,
            n_classes,
            region=settings.region_embedding,
            distance=settings.distance_embedding,
            n_distances=settings.n_distances,
        )
        with torch.no_grad():
            self.fusion.weight[CENTER:, -1, -1] = PRIOR
        self.convolution = _grid_convolution(settings)
        # Numbers that a pair of tokens costs, for `max_cells`.
        n_channels = settings.conv_width * (1 + settings.conv_layers)
        per_label = n_classes + (n_channels if settings.conv_layers else 0)
        self.scores_per_pair = n_labels * per_label

    def forward(self, batch: WindowBatch) -> Tensor:
        """Score all pairs of tokens; only convolutions read those with start > last.

        batch (WindowBatch): vectors of shape (batch, token, width)
        RETURNS (Tensor): (batch, start, last, label, class); undefined for padding.
        """
        tokens = self.lstm(batch).vectors
        start, last = self.start(tokens), self.last(tokens)
        scores: Tensor = self.fusion(start, last, self._type_vectors(batch))
        if self.convolution is not None:
            mask = batch.mask[:, :, None] & batch.mask[:, None, :]
            scores = self.convolution(scores, mask)
        return scores

    def _type_vectors(self, batch: WindowBatch) -> Tensor:
        """Embed the types, and add their vectors in the text if the encoder has them.

        An encoder may return nearly the same vector for all prompts; embeddings differ.

        RETURNS (Tensor): (batch, label, width), or (1, label, width) without inputs.
        """
        vectors: Tensor = self.type_embedding.weight[None]
        if self.type_projection is not None:
            assert batch.types is not None  # the architecture requires such an encoder
            vectors = vectors + self.type_projection(batch.types)
        return vectors


def _grid_convolution(settings: OffsetSettings) -> Optional[GridConvolution]:
    if not settings.conv_layers:
        return None
    return GridConvolution(
        settings.classes.n_classes,
        n_layers=settings.conv_layers,
        width=settings.conv_width,
        types=settings.conv_types,
        dropout=settings.dropout,
    )
