"""The denoiser of spans (Shen et al. 2023, Section 4.2).

The vector of a noisy span is pooled from its tokens, and is told where the span lies
and how noisy it is. Layers of attention refine it. From it, two pointers find the
tokens where the entity begins and ends, and a classifier names it.

What only depends on the tokens is computed once for all denoising steps (`encode`):
keys and values of the attention, keys of the pointers, and what spans are pooled from.
"""

from typing import Any, NamedTuple, Optional, Union, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..blocks.lstm import BiLSTM
from ..blocks.padded_rows import at_tokens
from ..codec import WindowBatch
from .attention import DenoiserLayer
from .classifier import DenoisedClassifier, NoisyClassifier
from .noise import TokenSpans
from .pointer import Pointer
from .tokens import Moments, SpanPooling, Tables, TokenMemory, distance_table, sinusoids

CLASSIFIERS = ("denoised", "noisy")

SINUSOIDS = 64  # size of the embeddings of positions and timesteps


class Denoised(NamedTuple):
    """What the denoiser sees in noisy spans.

    state (Tensor): their vectors. Shape: (batch, span, width)
    start, last (Tensor): scores of the tokens as their boundaries. Shapes:
        (batch, span, token)
    """

    state: Tensor
    start: Tensor
    last: Tensor


class DiffusionModule(nn.Module):
    """Token vectors and noisy spans to boundaries and classes."""

    def __init__(
        self,
        n_in: int,
        n_labels: int,
        *,
        lstm_width: int,
        hidden_width: int,
        n_layers: int,
        pooling: str,
        pointer: str,
        classifier: str,
        n_widths: int,
        dropout: float,
        input_dropout: float,
        **layer: Any,
    ) -> None:
        """Build the layers; see `architecture.build_diffusion_model` for the arguments.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels; "no entity" comes on top, as class 0.
        **layer: what each `DenoiserLayer` gets besides.
        """
        super().__init__()
        # Numbers that a pair of tokens costs, for `max_cells`. A pointer of sums has a
        # vector for each span and token, and of spans there are fewer than tokens.
        self.scores_per_pair = n_labels + 1
        if pointer == "sum":
            self.scores_per_pair = max(self.scores_per_pair, hidden_width // 4)
        self.lstm: Optional[BiLSTM] = None
        if lstm_width:
            self.lstm = BiLSTM(n_in, lstm_width, dropout=input_dropout)
            n_in = lstm_width
        self.input_dropout = nn.Dropout(input_dropout)
        self.tokens = nn.Sequential(
            nn.Linear(n_in, hidden_width), nn.LayerNorm(hidden_width)
        )
        self.spans = SpanEmbedding(n_in, hidden_width, pooling)
        self.time = nn.Sequential(
            nn.Linear(SINUSOIDS, hidden_width),
            nn.GELU(),
            nn.Linear(hidden_width, hidden_width),
        )
        layers = (
            DenoiserLayer(hidden_width, dropout=dropout, **layer)
            for _ in range(n_layers)
        )
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(hidden_width)
        self.start = Pointer(hidden_width, pointer)
        self.last = Pointer(hidden_width, pointer)
        self.classifier: Union[DenoisedClassifier, NoisyClassifier]
        if classifier == "noisy":
            self.classifier = NoisyClassifier(hidden_width, n_labels, dropout=dropout)
        else:
            self.classifier = DenoisedClassifier(
                n_in, hidden_width, n_labels, n_widths=n_widths, dropout=dropout
            )

    @property
    def reads_denoised(self) -> bool:
        """Whether spans are classified by where they should be, not where they are."""
        return isinstance(self.classifier, DenoisedClassifier)

    def encode(self, batch: WindowBatch) -> TokenMemory:
        """Compute what all denoising steps need of the tokens.

        batch (WindowBatch): vectors of shape (batch, token, n_in)
        RETURNS (TokenMemory): the windows as the denoiser reads them.
        """
        vectors = batch.vectors if self.lstm is None else self.lstm(batch).vectors
        vectors = self.input_dropout(vectors)
        tokens, mask = self.tokens(vectors), batch.mask
        return TokenMemory(
            mask,
            self.spans.pooling(vectors),
            self.classifier.features(vectors),
            [cast(DenoiserLayer, one).keys_values(tokens) for one in self.layers],
            self.start.keys(tokens, mask),
            self.last.keys(tokens, mask),
            self._tables(torch.arange(tokens.shape[1], device=tokens.device)),
        )

    def _tables(self, position: Tensor) -> Tables:
        """position (Tensor): 0, 1, ... Shape: (token,). RETURNS (Tables)"""
        distances = distance_table(position)
        care = [cast(DenoiserLayer, one).care(distances) for one in self.layers]
        return Tables(distances, self.spans.widths(position), care)

    def moments(self, memory: TokenMemory, time: Tensor) -> Moments:
        """Compute what depends on timesteps alone.

        memory (TokenMemory): see `encode`.
        time (Tensor): any timesteps. Shape: (batch,)
        RETURNS (Moments): a row for each.
        """
        vector = self.time(sinusoids(time, SINUSOIDS))
        care = (
            pointer.care(vector, memory.tables.distances)
            for pointer in (self.start, self.last)
        )
        return Moments(vector, *care)

    def forward(
        self, memory: TokenMemory, spans: TokenSpans, moments: Moments
    ) -> Denoised:
        """Look at noisy spans.

        memory (TokenMemory): see `encode`.
        spans (TokenSpans): the noisy spans. Shape: (batch, span)
        moments (Moments): the timestep of each window, or of all.
        RETURNS (Denoised): where their boundaries should be.
        """
        x = self.spans(memory, spans, moments.vector)
        tables, mask = memory.tables, memory.mask
        for layer, keys_values, care in zip(self.layers, memory.layers, tables.care):
            x = layer(x, keys_values, care, spans, mask)
        x = self.norm(x)
        around_start = at_tokens(moments.start, spans.start)
        around_last = at_tokens(moments.last, spans.last)
        start = self.start(x, memory.start_keys, around_start)
        last = self.last(x, memory.last_keys, around_last)
        return Denoised(x, start, last)

    def classify(
        self, memory: TokenMemory, state: Optional[Tensor], spans: TokenSpans
    ) -> Tensor:
        """Name the spans.

        state (Optional[Tensor]): the denoiser's vectors of the noisy spans; not needed
            where `reads_denoised`. Shape: (batch, span, width)
        spans (TokenSpans): the denoised spans. Shape: (batch, span)
        RETURNS (Tensor): (batch, span, class), class 0 is "no entity".
        """
        classes: Tensor = self.classifier(memory.classes, state, spans)
        return classes


class SpanEmbedding(nn.Module):
    """Noisy spans: their tokens, how wide they are, and how noisy."""

    def __init__(self, n_in: int, width: int, pooling: str) -> None:
        super().__init__()
        self.pooling = SpanPooling(n_in, width, pooling)
        self.width = nn.Linear(SINUSOIDS, width, bias=False)

    def widths(self, width: Tensor) -> Tensor:
        """Embed widths: there are fewer of them than spans.

        width (Tensor): tokens from the first to the last. Shape: (width,)
        RETURNS (Tensor): (width, vector)
        """
        embedded: Tensor = self.width(sinusoids(width, SINUSOIDS))
        return embedded

    def forward(self, memory: TokenMemory, spans: TokenSpans, time: Tensor) -> Tensor:
        """Embed noisy spans.

        memory (TokenMemory): what they are pooled from.
        spans (TokenSpans): (batch, span)
        time (Tensor): embedding of the timestep. Shape: (batch, width)
        RETURNS (Tensor): (batch, span, width)
        """
        width = F.embedding(spans.last - spans.start, memory.tables.widths)
        return memory.spans.of(spans) + width + time[:, None]
