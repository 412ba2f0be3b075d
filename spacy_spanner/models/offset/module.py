"""The boundary offset prediction network (Tang et al. 2023).

Token vectors pass a BiLSTM and become span vectors by a conditional layer norm; each is
fused with a vector of each type to scores of the offset classes; convolutions over
(type, start, last) correct the scores. The types are learned embeddings (the paper's
"w/o type inputs"), to which type inputs add what the encoder made of soft prompts.
"""

from typing import Optional

import torch
from torch import Tensor, nn

from ..blocks.lstm import BiLSTM
from ..blocks.projection import Projection
from ..codec import WindowBatch
from .convolution import ConvolutionShape, GridConvolution
from .fusion import PlaceEmbeddings, SpanTypeFusion
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
        places: PlaceEmbeddings,
        convolution: ConvolutionShape,
        dropout: float,
        input_dropout: float,
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels.

        See `build_offset_model` for the others.
        """
        super().__init__()
        self.classes = classes
        rates = {"dropout": dropout, "input_dropout": input_dropout}
        self.type_embedding = nn.Embedding(n_labels, hidden_width)
        self.type_projection: Optional[Projection] = None
        if type_inputs:
            self.type_projection = Projection(n_in, hidden_width, **rates)
        self.lstm: Optional[BiLSTM] = None
        if lstm_width:
            self.lstm = BiLSTM(n_in, lstm_width, dropout=input_dropout)
        self.start = Projection(lstm_width or n_in, hidden_width, **rates)
        self.last = Projection(lstm_width or n_in, hidden_width, **rates)
        self.fusion = SpanTypeFusion(hidden_width, classes.n_classes, places)
        with torch.no_grad():
            self.fusion.weight[CENTER:, -1, -1] = PRIOR
        self.convolution: Optional[GridConvolution] = None
        if convolution.n_layers:
            self.convolution = GridConvolution(
                classes.n_classes, convolution, dropout=dropout
            )
        # Numbers that a pair of tokens costs, for `max_cells`.
        self.scores_per_pair = n_labels * (classes.n_classes + convolution.n_channels)

    def forward(self, batch: WindowBatch) -> Tensor:
        """Score all pairs of tokens; those with start > last only feed convolutions.

        batch (WindowBatch): vectors of shape (batch, token, width)
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
        """Tell types apart by embeddings, in the light of the text if it is known.

        An encoder may make nearly the same vector of all prompts; embeddings differ.

        RETURNS (Tensor): (batch, label, width), or (1, label, width) without inputs.
        """
        vectors: Tensor = self.type_embedding.weight[None]
        if self.type_projection is not None:
            assert batch.types is not None  # the architecture asks for such an encoder
            vectors = vectors + self.type_projection(batch.types)
        return vectors
