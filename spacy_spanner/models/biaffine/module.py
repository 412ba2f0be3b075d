"""The biaffine scorer of spans (Zhu and Li 2022, Equations 1 to 3).

r_ij = h^s_i^T U h^e_j + W [h^s_i ; h^e_j ; w_(j-i)] + b. The product of W with a
concatenation is a sum of three products; the first two live inside `Biaffine`, and the
third is a table of scores by width, because w_(j-i) only depends on the width.
"""

from typing import Optional

from torch import Tensor, nn
from torch.nn import functional as F

from ..blocks.lstm import BiLSTM
from ..blocks.projection import Projection
from ..codec import WindowBatch
from .pair_scores import Biaffine


class BiaffineModule(nn.Module):
    """Token vectors to class scores of spans."""

    def __init__(
        self,
        n_in: int,
        n_labels: int,
        *,
        lstm_width: int,
        hidden_width: int,
        width_embedding: int,
        n_widths: int,
        dropout: float,
        input_dropout: float,
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels; "no entity" comes on top, as class 0.
        lstm_width (int): size of the BiLSTM's output, 0 for none.
        hidden_width (int): size of the boundary representations h^s and h^e.
        width_embedding (int): size of the width embedding w.
        n_widths (int): spans of this many tokens or more share one embedding.
        dropout (float): rate behind the boundary representations.
        input_dropout (float): rate in front of the BiLSTM, and behind it.
        """
        super().__init__()
        self.lstm: Optional[BiLSTM] = None
        if lstm_width:
            self.lstm = BiLSTM(n_in, lstm_width, dropout=input_dropout)
            n_in = lstm_width
        rates = {"dropout": dropout, "input_dropout": input_dropout}
        self.start = Projection(n_in, hidden_width, **rates)
        self.last = Projection(n_in, hidden_width, **rates)
        self.biaffine = Biaffine(hidden_width, n_labels + 1)
        self.width_embedding = nn.Embedding(n_widths, width_embedding)
        self.width_scores = nn.Linear(width_embedding, n_labels + 1, bias=False)

    def forward(
        self,
        batch: WindowBatch,
        window: Tensor,
        start: Tensor,
        last: Tensor,
        *,
        band: Optional[int] = None,
    ) -> Tensor:
        """Score the given spans.

        batch (WindowBatch): vectors of shape (batch, token, width)
        window, start, last (Tensor): the spans, as indices. Shape: (cell,)
        band (Optional[int]): no span has more tokens.
        RETURNS (Tensor): (cell, class), class 0 is "no entity".
        """
        vectors = batch.vectors if self.lstm is None else self.lstm(batch).vectors
        band = self._worthwhile(band, vectors.shape[1])
        scores = self.biaffine(self.start(vectors), self.last(vectors), band)
        width = last - start
        column = last if band is None else width
        # One index into rows: the backward pass of a triple index is slow on GPUs.
        _, n_starts, n_columns, n_classes = scores.shape
        row = (window * n_starts + start) * n_columns + column
        pair_scores = scores.reshape(-1, n_classes).index_select(0, row)
        width = width.clamp(max=self.width_embedding.num_embeddings - 1)
        return pair_scores + F.embedding(width, self.scores_by_width())

    def _worthwhile(self, band: Optional[int], n_tokens: int) -> Optional[int]:
        """RETURNS (Optional[int]): the band, where it is smaller than the whole grid.

        A band copies the vectors of its pairs; the grid has the scores of all pairs.
        """
        if band is None or band >= n_tokens:
            return None
        copied = band * self.start.linear.out_features
        return band if copied < n_tokens * self.biaffine.n_classes else None

    def scores_by_width(self) -> Tensor:
        """RETURNS (Tensor): what the width adds to the scores. (width, class)"""
        return self.width_scores(self.width_embedding.weight)
