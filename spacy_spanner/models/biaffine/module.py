"""The biaffine scorer of spans (Zhu and Li 2022, Equations 1 to 3).

r_ij = h^s_i^T U h^e_j + W [h^s_i ; h^e_j ; w_(j-i)] + b. The product of W with a
concatenation is a sum of three products: the first two are computed in `Biaffine`; the
third is a table of scores by width, because w_(j-i) depends on nothing else.
"""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...settings import Settings, at_least, even, fraction, setting
from ..blocks.lstm import optional_lstm
from ..blocks.padded_rows import in_cache
from ..blocks.projection import Projection
from ..codec import WindowBatch
from .span_convolution import KEPT_PER_LAYER, SpanConvolution


@dataclass(frozen=True)
class BiaffineSettings(Settings):
    """Sizes and rates of the biaffine scorer.

    lstm_width (int): size of a BiLSTM between encoder and classifier, both directions
        together, as in the authors' code; 0 for none.
    hidden_width (int): size of the representations of the two boundaries.
    width_embedding (int): size of the embedding of a span's width.
    n_widths (int): spans of this many tokens or more share one embedding.
    dropout (float): rate on the boundary representations. `[training] dropout` reaches
        the encoder only.
    input_dropout (float): rate before and after the BiLSTM.
    conv_layers (int): convolutions over the grid of spans, as in CNN-NER, so that the
        scores of a span depend on the spans around it; 0 for none.
    conv_width (int): channels of the convolutions.
    """

    lstm_width: int = setting(200, even)
    hidden_width: int = setting(150, at_least(1))
    width_embedding: int = setting(25, at_least(1))
    n_widths: int = setting(32, at_least(1))
    dropout: float = setting(0.2, fraction)
    input_dropout: float = setting(0.1, fraction)
    conv_layers: int = setting(0, at_least(0))
    conv_width: int = setting(32, at_least(1))


class BiaffineModule(nn.Module):
    """Token vectors to class scores of spans."""

    def __init__(self, n_in: int, n_labels: int, settings: BiaffineSettings) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels; "no entity" is added as class 0.
        settings (BiaffineSettings): sizes and rates.
        """
        super().__init__()
        hidden_width, rate = settings.hidden_width, settings.input_dropout
        self.lstm = optional_lstm(n_in, settings.lstm_width, dropout=rate)
        n_in = settings.lstm_width or n_in
        rates = {"dropout": settings.dropout, "input_dropout": rate}
        self.start = Projection(n_in, hidden_width, **rates)
        self.last = Projection(n_in, hidden_width, **rates)
        n_classes, n_layers = n_labels + 1, settings.conv_layers
        channels = settings.conv_width if n_layers else n_classes
        self.biaffine = Biaffine(hidden_width, channels)
        self.convolution: Optional[SpanConvolution] = None
        self.scores_per_pair = n_classes
        if n_layers:
            self.convolution = SpanConvolution(channels, n_classes, n_layers)
            self.scores_per_pair += channels * (2 + n_layers * KEPT_PER_LAYER)
        self.width_embedding = nn.Embedding(settings.n_widths, settings.width_embedding)
        self.width_scores = nn.Linear(settings.width_embedding, n_classes, bias=False)

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
        vectors = self.lstm(batch).vectors
        band = self._worthwhile(band, vectors.shape[1])
        parts = zip(in_cache(vectors), in_cache(batch.mask[:, :, None]))
        scores = torch.cat([self._score_pairs(*part, band) for part in parts])
        width = last - start
        column = last if band is None else width
        # One index into rows: the backward pass of a triple index is slow on GPUs.
        _, n_starts, n_columns, n_classes = scores.shape
        row = (window * n_starts + start) * n_columns + column
        pair_scores = scores.reshape(-1, n_classes).index_select(0, row)
        width = width.clamp(max=self.width_embedding.num_embeddings - 1)
        return pair_scores + F.embedding(width, self.scores_by_width())

    def _score_pairs(
        self, vectors: Tensor, mask: Tensor, band: Optional[int]
    ) -> Tensor:
        """RETURNS (Tensor): scores of all pairs, see `Biaffine`.

        vectors (Tensor): (batch, token, width)
        mask (Tensor): True for real tokens. Shape: (batch, token, 1)
        """
        scores: Tensor = self.biaffine(self.start(vectors), self.last(vectors), band)
        if self.convolution is not None:
            spans = (mask & mask.transpose(1, 2)).triu()
            scores = self.convolution(scores, spans)
        return scores

    def _worthwhile(self, band: Optional[int], n_tokens: int) -> Optional[int]:
        """RETURNS (Optional[int]): the band if it is cheaper than the whole grid.

        A band copies the vectors of its pairs; the grid has the scores of all pairs.
        Convolutions need the grid.
        """
        if band is None or band >= n_tokens or self.convolution is not None:
            return None
        copied = band * self.start.linear.out_features
        return band if copied < n_tokens * self.biaffine.n_classes else None

    def scores_by_width(self) -> Tensor:
        """RETURNS (Tensor): the part of the scores that depends on the width. Shape:
        (width, class)
        """
        return self.width_scores(self.width_embedding.weight)


class Biaffine(nn.Module):
    """Score pairs of tokens: `s_c = [x; 1]^T U_c [y; 1]`.

    Bilinear, linear and constant terms are one tensor: with a one appended to both
    vectors, the last column and row of U are the linear maps, and its corner is the
    bias. So vectors need not be concatenated.
    """

    def __init__(self, width: int, n_classes: int) -> None:
        """Build the layer.

        width (int): size of the vectors on both sides.
        n_classes (int): scores per pair.
        """
        super().__init__()
        self.n_classes = n_classes
        self.weight = nn.Parameter(torch.empty(n_classes, width + 1, width + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights from torch's global generator.

        The weights are small, so that all scores are nearly equal at first: most pairs
        are no entity, and large random scores would first have to be unlearned.
        """
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, y: Tensor, band: Optional[int] = None) -> Tensor:
        """Score each x with each y, or only with those of the next `band` tokens.

        x (Tensor): (batch, start, width)
        y (Tensor): (batch, last, width)
        band (Optional[int]): pairs with last - start in [0, band) only.
        RETURNS (Tensor): (batch, start, last, class); with a band, the third axis is
            last - start, and scores of pairs that leave the window are undefined.
        """
        x, y = F.pad(x, (0, 1), value=1.0), F.pad(y, (0, 1), value=1.0)
        batch, token, width = x.shape
        weight = self.weight.permute(1, 0, 2).reshape(width, -1)
        x = (x @ weight).view(batch, token, self.n_classes, width)
        if band is None:
            x = x.reshape(batch, token * self.n_classes, width)
            scores = torch.bmm(x, y.transpose(1, 2))  # (batch, start·class, last)
            scores = scores.view(batch, token, self.n_classes, -1)
        else:
            y = F.pad(y, (0, 0, 0, band - 1)).unfold(1, band, 1)
            scores = x @ y  # (batch, start, class, offset)
        return scores.transpose(2, 3)
