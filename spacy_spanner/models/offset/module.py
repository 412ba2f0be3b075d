"""The boundary offset prediction network (Tang et al. 2023).

Token vectors pass a BiLSTM and become span vectors by a conditional layer norm; each is
fused with a vector of each type to scores of the offset classes; convolutions over
(type, start, last) correct the scores. The types are vectors that the encoder computed
from soft prompts, or learned embeddings (the paper's "w/o type inputs").
"""

from typing import Optional

import torch
from torch import Tensor, nn

from ...codec import WindowBatch
from ...errors import Errors
from ...nn.lstm import BiLSTM
from ...nn.mlp import Projection
from .convolution import GridConvolution
from .fusion import SpanTypeFusion
from .offsets import CENTER, OffsetClasses

# The score of each class at the start, against 0 for "out of range": without it, the
# first steps would be spent on learning that entities are rare.
PRIOR = -7.0


class OffsetModule(nn.Module):
    """Token vectors to scores of every offset class of every span and type."""

    def __init__(
        self,
        n_in: int,
        n_labels: int,
        *,
        classes: OffsetClasses,
        type_inputs: bool,
        lstm_width: int,
        hidden_width: int,
        region_embedding: int,
        distance_embedding: int,
        n_distances: int,
        conv_layers: int,
        conv_width: int,
        conv_types: bool,
        dropout: float,
        input_dropout: float,
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels.
        classes (OffsetClasses): the classes of a cell.
        type_inputs (bool): whether the encoder gives vectors of the types.

        See `build_offset_model` for the others.
        """
        super().__init__()
        self.classes = classes
        self.lstm: Optional[BiLSTM] = None
        n_token = n_in
        if lstm_width:
            self.lstm = BiLSTM(n_in, lstm_width, dropout=input_dropout)
            n_token = lstm_width
        rates = {"dropout": dropout, "input_dropout": input_dropout}
        self.start = Projection(n_token, hidden_width, **rates)
        self.last = Projection(n_token, hidden_width, **rates)
        self.type_embedding: Optional[nn.Embedding] = None
        self.type_projection: Optional[Projection] = None
        if type_inputs:
            self.type_projection = Projection(n_in, hidden_width, **rates)
        else:
            self.type_embedding = nn.Embedding(n_labels, hidden_width)
        self.fusion = SpanTypeFusion(
            hidden_width,
            classes.n_classes,
            region_width=region_embedding,
            distance_width=distance_embedding,
            n_distances=n_distances,
        )
        with torch.no_grad():
            self.fusion.weight[CENTER:, -1, -1] = PRIOR
        self.convolution: Optional[GridConvolution] = None
        if conv_layers:
            self.convolution = GridConvolution(
                classes.n_classes,
                conv_width,
                n_layers=conv_layers,
                types=conv_types,
                dropout=dropout,
            )
        # Numbers that a pair of tokens costs: scores, and channels of every layer.
        channels = conv_width * (1 + conv_layers) if conv_layers else 0
        self.scores_per_pair = n_labels * (classes.n_classes + channels)

    def forward(self, batch: WindowBatch) -> Tensor:
        """Score all pairs of tokens; those with start > last only feed convolutions.

        batch (WindowBatch): vectors of shape (batch, token, width)
        RAISES (ValueError): SP020 when the encoder should give types, but does not.
        RETURNS (Tensor): (batch, start, last, label, class); padding has no meaning.
        """
        tokens = batch.vectors if self.lstm is None else self.lstm(batch).vectors
        start, last = self.start(tokens), self.last(tokens)
        scores: Tensor = self.fusion(start, last, self._type_vectors(batch))
        if self.convolution is not None:
            mask = batch.mask[:, :, None] & batch.mask[:, None, :]
            scores = self.convolution(scores, mask)
        return scores

    def _type_vectors(self, batch: WindowBatch) -> Tensor:
        """RETURNS (Tensor): (batch, label, width), or (1, label, width) if learned."""
        if self.type_projection is None:
            assert self.type_embedding is not None  # for the type checker
            return self.type_embedding.weight[None]
        if batch.types is None:
            raise ValueError(Errors.SP020.format(setting="type_inputs", value=True))
        vectors: Tensor = self.type_projection(batch.types)
        return vectors
