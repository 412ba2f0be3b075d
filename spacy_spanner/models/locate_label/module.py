"""The networks of the two-stage identifier (Shen et al. 2021, Sections 3.2 to 3.4).

Three MLPs score spans: the filter and the classifier read [max(h_i..h_j); h_i; h_j],
the boundary regressor [max(h_i..h_j); h_(i-1); h_(j+1)], with learned vectors beyond
the edges of a window. The first layer of an MLP acts on a concatenation, so it is a sum
of three products. Two of them depend on one token: they are computed once for each
token and added for each span.
"""

from dataclasses import dataclass
from typing import NamedTuple, Sequence, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...settings import Settings, at_least, even, fraction, one_of, setting
from ..blocks.lstm import optional_lstm
from ..codec import WindowBatch
from .range_maxima import RangeMaxima

# Kinds of offsets, and the standard deviation of their initial weights. Weights are
# small so that hardly any boundary moves at first: seeds that fit would be moved away.
# Squashed offsets are multiplied by the length of the window.
OFFSETS = {"linear": 1e-2, "squashed": 1e-4}
# Spans that pass an MLP at once, which bounds memory. In prediction on a CPU there are
# fewer, so that their vectors stay in its cache.
SPANS_AT_ONCE, SPANS_IN_CACHE = 16_384, 2048
# Numbers of 4 bytes that make one cell of `max_cells`, so that its default stands for
# 190 MB, whatever the windows. Other models keep 2 to 88 numbers of a score.
NUMBERS_PER_CELL = 24
# Numbers that a seed holds in prediction, where the MLPs read some seeds at a time.
SEED_IN_PREDICTION = 40


class Spans(NamedTuple):
    """Spans on the device, columns `(span,)`; `last` is inclusive."""

    window: Tensor
    start: Tensor
    last: Tensor

    def take(self, rows: Tensor) -> "Spans":
        """RETURNS (Spans): the rows with these numbers."""
        return Spans(*(column.index_select(0, rows) for column in self))


class Places(NamedTuple):
    """Spans as `RangeMaxima.at` reads them, columns `(span,)`."""

    first: Tensor
    further: Tensor


class SpanMLP(nn.Module):
    """A linear map of [pooled; left; right], GELU, dropout, and a second linear map."""

    def __init__(
        self, n_in: int, hidden_width: int, n_out: int, *, dropout: float
    ) -> None:
        """Build the layers.

        n_in (int): size of each of the three vectors.
        hidden_width, n_out (int): output sizes of the two maps.
        dropout (float): rate on the hidden layer.
        """
        super().__init__()
        self.pooled = nn.Linear(n_in, hidden_width)
        self.left = nn.Linear(n_in, hidden_width, bias=False)
        self.right = nn.Linear(n_in, hidden_width, bias=False)
        self.hidden = nn.Sequential(nn.GELU(), nn.Dropout(dropout))
        self.output = nn.Linear(hidden_width, n_out)
        # Larger than torch's default: the output of a BiLSTM is small at first. With
        # small weights, gradients would be small too, and training would start slowly.
        for layer in (self.pooled, self.left, self.right, self.output):
            nn.init.xavier_normal_(layer.weight)

    def forward(
        self,
        maxima: RangeMaxima,
        places: Places,
        left: Tuple[Tensor, Tensor],
        right: Tuple[Tensor, Tensor],
    ) -> Tensor:
        """Score spans.

        maxima (RangeMaxima): of the token vectors.
        places (Places): the spans. Columns: (span,)
        left, right (Tuple[Tensor, Tensor]): vectors (batch, place, width), and which
            of all places is next to each span (span,).
        RETURNS (Tensor): (span, n_out)
        """
        # The bias is added to each token, not to each span.
        tables = (
            F.linear(left[0], self.left.weight, self.pooled.bias).flatten(0, 1),
            self.right(right[0]).flatten(0, 1),
        )  # (batch·place, hidden)
        in_cache = left[0].is_cpu and not torch.is_grad_enabled()
        at_once = SPANS_IN_CACHE if in_cache else SPANS_AT_ONCE
        columns = (*places, left[1], right[1])
        scores = [
            self._score_some(maxima.at(first, further), tables, rows)
            for first, further, *rows in zip(*(c.split(at_once) for c in columns))
        ]
        return scores[0] if len(scores) == 1 else torch.cat(scores)

    def _score_some(
        self, maxima: Tensor, tables: Tuple[Tensor, Tensor], rows: Sequence[Tensor]
    ) -> Tensor:
        """RETURNS (Tensor): (span, n_out)"""
        one, two = (table.index_select(0, row) for table, row in zip(tables, rows))
        hidden = torch.addmm(one + two, maxima, self.pooled.weight.T)
        scores: Tensor = self.output(self.hidden(hidden))
        return scores


@dataclass(frozen=True)
class LocateLabelSettings(Settings):
    """Sizes and rates of filter, regressor and classifier.

    lstm_width (int): size of a BiLSTM between encoder and MLPs, both directions
        together; 0 for none.
    hidden_width (int): size of the hidden layer of each MLP.
    offsets (str): "linear" in tokens, or "squashed" to the length of the window.
    dropout (float): rate on the hidden layers. `[training] dropout` reaches the encoder
        only.
    input_dropout (float): rate before and after the BiLSTM.
    """

    lstm_width: int = setting(200, even)
    hidden_width: int = setting(150, at_least(1))
    offsets: str = setting("linear", one_of(tuple(OFFSETS)))
    dropout: float = setting(0.2, fraction)
    input_dropout: float = setting(0.1, fraction)


class LocateLabelModule(nn.Module):
    """Token vectors to scores and offsets of spans."""

    numbers_per_cell = NUMBERS_PER_CELL

    def __init__(self, n_in: int, n_labels: int, settings: LocateLabelSettings) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels; "no entity" is added as class 0.
        settings (LocateLabelSettings): sizes and rates.
        """
        super().__init__()
        self.offsets = settings.offsets
        hidden_width, rate = settings.hidden_width, settings.input_dropout
        self.token_numbers, self.seed_numbers = _numbers_kept(n_in, settings)
        self.lstm = optional_lstm(n_in, settings.lstm_width, dropout=rate)
        n_in = settings.lstm_width or n_in
        self.dropout = nn.Dropout(rate)
        rate = settings.dropout
        self.filter_mlp = SpanMLP(n_in, hidden_width, 1, dropout=rate)
        self.offset_mlp = SpanMLP(n_in, hidden_width, 2, dropout=rate)
        self.class_mlp = SpanMLP(n_in, hidden_width, n_labels + 1, dropout=rate)
        nn.init.normal_(self.offset_mlp.output.weight, std=OFFSETS[self.offsets])
        nn.init.zeros_(self.offset_mlp.output.bias)
        # The vectors before the first and after the last token of a window.
        self.edges = nn.Parameter(torch.empty(2, n_in))
        nn.init.normal_(self.edges, std=0.1)

    def forward(self, batch: WindowBatch) -> "SpanReader":
        """RETURNS (SpanReader): the encoded batch, ready to score spans."""
        vectors = self.dropout(self.lstm(batch).vectors)
        return SpanReader(self, vectors, RangeMaxima(vectors), batch.sizes)

    def cells(self, n_tokens: int, n_seeds: int, *, in_training: bool) -> int:
        """RETURNS (int): what a padded window counts as for `max_cells`."""
        per_seed = self.seed_numbers if in_training else SEED_IN_PREDICTION
        numbers = n_tokens * self.token_numbers + n_seeds * per_seed
        return max(1, numbers // NUMBERS_PER_CELL)


def _numbers_kept(n_in: int, settings: LocateLabelSettings) -> Tuple[int, int]:
    """Reckon what is kept for the backward pass, in numbers of 4 bytes.

    RETURNS (Tuple[int, int]): of a token, with the BiLSTM and the table of maxima, as
        counted; and of a seed. In each of the MLPs, a seed has its maximum, a byte that
        says where each number of it is from, and three numbers for each hidden unit.
    """
    n_read, hidden_width = settings.lstm_width or n_in, settings.hidden_width
    of_token = 15 * n_in + 25 * settings.lstm_width
    of_seed = 3 * (5 * n_read // 4 + 3 * hidden_width) + 50
    return of_token, of_seed


class SpanReader(NamedTuple):
    """An encoded batch of windows, and the networks that score its spans.

    networks (LocateLabelModule): the three MLPs.
    vectors (Tensor): (batch, token, width)
    maxima (RangeMaxima): of the vectors, over any span.
    lengths (Tensor): tokens per window. Shape: (batch,)
    """

    networks: LocateLabelModule
    vectors: Tensor
    maxima: RangeMaxima
    lengths: Tensor

    def filter(self, spans: Spans) -> Tensor:
        """RETURNS (Tensor): logits of being an entity. (span,)"""
        return self._score_inside(self.networks.filter_mlp, spans)[:, 0]

    def classify(self, spans: Spans) -> Tensor:
        """RETURNS (Tensor): scores of the classes. (span, class)"""
        return self._score_inside(self.networks.class_mlp, spans)

    def regress(self, spans: Spans) -> Tensor:
        """Predict how far the boundaries of spans should be moved, in tokens.

        The paper's offsets are linear. The authors' code squashes them with a sigmoid
        and scales them by the length of the window, so that boundaries only move to the
        right; "squashed" is the symmetric form, up to a whole window in each direction.

        RETURNS (Tensor): offsets of start and last. (span, 2)
        """
        batch, n_tokens, _ = self.vectors.shape
        before, after = self.networks.edges[:, None, None].expand(2, batch, 1, -1)
        left = torch.cat([before, self.vectors], dim=1)  # (batch, token + 1, width)
        right = torch.cat([self.vectors, after], dim=1)
        places = self._places(spans)
        first = places.first + spans.window  # windows have one place more
        length = self.lengths.index_select(0, spans.window)
        further = spans.last + 1
        further = further.masked_fill(further == length, n_tokens) - spans.start
        offsets: Tensor = self.networks.offset_mlp(
            self.maxima, places, (left, first), (right, first + further)
        )
        if self.networks.offsets == "squashed":
            offsets = torch.tanh(offsets / 2) * length[:, None]
        return offsets

    def _places(self, spans: Spans) -> Places:
        first = spans.window * self.maxima.n_tokens + spans.start
        return Places(first, spans.last - spans.start)

    def _score_inside(self, mlp: SpanMLP, spans: Spans) -> Tensor:
        """Apply an MLP to a span's maximum, its first, and its last token."""
        places = self._places(spans)
        first = self.vectors, places.first
        last = self.vectors, places.first + places.further
        scores: Tensor = mlp(self.maxima, places, first, last)
        return scores
