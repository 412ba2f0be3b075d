"""The denoiser of spans (Shen et al. 2023, Section 4.2).

The vector of a noisy span is pooled from its tokens; embeddings of its width and of the
timestep are added. Attention layers refine it. From it, two pointers find the first and
the last token of the entity, and a classifier its class.

Everything that only depends on the tokens is computed once for all denoising steps
(`encode`): keys and values of the attention, keys of the pointers, and the projections
from which spans are pooled.
"""

from dataclasses import dataclass
from typing import NamedTuple, Optional, Union, cast

import torch
from torch import Tensor, nn

from ...settings import (
    Settings,
    at_least,
    even,
    fraction,
    multiple_of,
    one_of,
    require,
    setting,
    yes_or_no,
)
from ..blocks.lstm import optional_lstm
from ..blocks.padded_rows import at_tokens
from ..codec import WindowBatch
from .attention import DenoiserLayer
from .noise import TokenSpans
from .outputs import POINTERS, DenoisedClassifier, NoisyClassifier, Pointer
from .span_embedding import SpanEmbedding
from .tokens import (
    POOLINGS,
    SINUSOIDS,
    Moments,
    SpanFeatures,
    Tables,
    TokenMemory,
    distance_table,
    sinusoids,
)

CLASSIFIERS = ("denoised", "noisy")
TIMESTEPS = ("input", "output")


class Denoised(NamedTuple):
    """The output of the denoiser for noisy spans.

    state (Tensor): their vectors. Shape: (batch, span, width)
    start, last (Tensor): scores of the tokens as their boundaries. Shapes:
        (batch, span, token)
    """

    state: Tensor
    start: Tensor
    last: Tensor


@dataclass(frozen=True)
class DiffusionSettings(Settings):
    """Sizes, rates and variants of the denoiser.

    lstm_width (int): size of a BiLSTM between encoder and denoiser, both directions
        together; 0 for none.
    lstm_layers (int): layers of this BiLSTM.
    hidden_width (int): size of the vectors of spans.
    ffn_width (int): hidden size of the feed-forward map of a layer.
    n_layers (int): layers of the denoiser.
    n_heads (int): heads of its attentions.
    self_attention (bool): whether the spans of a window attend to each other.
    cross_attention (bool): whether spans attend to the tokens.
    pooling (str): how tokens make a noisy span: "mean", "boundaries" (the sum of maps
        of the first and the last one) or "both".
    pointer (str): how pointers compare span and token: "product" of their projections,
        one map of their "sum", as in the authors' code, or as in the paper an "mlp".
    timestep (str): where the embedding of the timestep is added: to the "input" of the
        layers, or as in the paper to their "output".
    distance_bias (bool): whether pointers and cross attention count the distance of a
        token from the noisy boundaries; not in the paper.
    width_embedding (bool): whether the width of noisy spans is embedded; not in the
        paper.
    position_embedding (bool): whether sinusoidal embeddings of both boundaries are
        added to noisy spans, as in the paper.
    classifier (str): what is classified: the "denoised" span, or as in the paper the
        "noisy" one.
    n_widths (int): denoised spans of this many tokens or more share one embedding.
    dropout (float): rate inside the denoiser and the classifier. `[training] dropout`
        reaches the encoder only.
    input_dropout (float): rate before and after the BiLSTM.
    """

    lstm_width: int = setting(200, even)
    lstm_layers: int = setting(1, at_least(1))
    hidden_width: int = 192
    ffn_width: int = setting(192, at_least(1))
    n_layers: int = setting(1, at_least(0))
    n_heads: int = setting(8, at_least(1))
    self_attention: bool = setting(False, yes_or_no)
    cross_attention: bool = setting(True, yes_or_no)
    pooling: str = setting("both", one_of(POOLINGS))
    pointer: str = setting("product", one_of(POINTERS))
    timestep: str = setting("input", one_of(TIMESTEPS))
    distance_bias: bool = setting(True, yes_or_no)
    width_embedding: bool = setting(True, yes_or_no)
    position_embedding: bool = setting(False, yes_or_no)
    classifier: str = setting("denoised", one_of(CLASSIFIERS))
    n_widths: int = setting(32, at_least(1))
    dropout: float = setting(0.1, fraction)
    input_dropout: float = setting(0.1, fraction)

    def __post_init__(self) -> None:
        super().__post_init__()
        heads = multiple_of(self.n_heads, "attention heads")
        require(heads, hidden_width=self.hidden_width)


class DiffusionModule(nn.Module):
    """Token vectors and noisy spans to boundaries and classes."""

    def __init__(self, n_in: int, n_labels: int, settings: DiffusionSettings) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        n_labels (int): number of labels; "no entity" is added as class 0.
        settings (DiffusionSettings): sizes, rates and variants.
        """
        super().__init__()
        width, dropout = settings.hidden_width, settings.dropout
        # Numbers that a pair of tokens costs, for `max_cells`. A pointer of sums has a
        # vector for each span and token, and there are fewer spans than tokens.
        self.scores_per_pair = n_labels + 1
        if settings.pointer != "product":
            self.scores_per_pair = max(self.scores_per_pair, width // 4)
        rate = settings.input_dropout
        self.lstm = optional_lstm(
            n_in, settings.lstm_width, dropout=rate, n_layers=settings.lstm_layers
        )
        n_in = settings.lstm_width or n_in
        self.input_dropout = nn.Dropout(rate)
        self.tokens = nn.Sequential(nn.Linear(n_in, width), nn.LayerNorm(width))
        self.spans = SpanEmbedding(
            n_in,
            width,
            settings.pooling,
            by_width=settings.width_embedding,
            by_position=settings.position_embedding,
        )
        self.timestep = settings.timestep
        self.time = nn.Sequential(
            nn.Linear(SINUSOIDS, width), nn.GELU(), nn.Linear(width, width)
        )
        self.layers = nn.ModuleList(
            _denoiser_layer(settings) for _ in range(settings.n_layers)
        )
        self.norm = nn.LayerNorm(width)
        distances = settings.distance_bias
        self.start = Pointer(width, settings.pointer, distances=distances)
        self.last = Pointer(width, settings.pointer, distances=distances)
        self.classifier: Union[DenoisedClassifier, NoisyClassifier]
        if settings.classifier == "noisy":
            self.classifier = NoisyClassifier(width, n_labels, dropout=dropout)
        else:
            self.classifier = DenoisedClassifier(
                n_in, width, n_labels, n_widths=settings.n_widths, dropout=dropout
            )

    @property
    def reads_denoised(self) -> bool:
        """Whether the classifier reads denoised spans, not noisy ones."""
        return isinstance(self.classifier, DenoisedClassifier)

    def encode(self, batch: WindowBatch) -> TokenMemory:
        """Compute everything that all denoising steps share.

        batch (WindowBatch): vectors of shape (batch, token, n_in)
        RETURNS (TokenMemory): the encoded windows.
        """
        vectors = self.input_dropout(self.lstm(batch).vectors)
        tokens, mask = self.tokens(vectors), batch.mask
        return TokenMemory(
            mask,
            self.spans.pooling(vectors),
            self._class_features(vectors),
            [cast(DenoiserLayer, one).keys_values(tokens) for one in self.layers],
            self.start.keys(tokens, mask),
            self.last.keys(tokens, mask),
            self._tables(torch.arange(tokens.shape[1], device=tokens.device)),
        )

    def _class_features(self, vectors: Tensor) -> Optional[SpanFeatures]:
        """RETURNS (Optional[SpanFeatures]): what the classifier reads of the tokens."""
        if isinstance(self.classifier, DenoisedClassifier):
            return self.classifier.pooling(vectors)
        return None

    def _tables(self, position: Tensor) -> Tables:
        """position (Tensor): 0, 1, ... Shape: (token,). RETURNS (Tables)"""
        distances = distance_table(position)
        care = [cast(DenoiserLayer, one).care(distances) for one in self.layers]
        return Tables(distances, *self.spans.tables(position), care)

    def moments(self, memory: TokenMemory, time: Tensor) -> Moments:
        """Compute everything that depends on timesteps only.

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
        """Denoise spans.

        memory (TokenMemory): see `encode`.
        spans (TokenSpans): the noisy spans. Shape: (batch, span)
        moments (Moments): the timestep of each window, or of all.
        RETURNS (Denoised): scores of their boundaries.
        """
        x = self.spans(memory, spans)
        if self.timestep == "input":
            x = x + moments.vector[:, None]
        tables, mask = memory.tables, memory.mask
        for layer, keys_values, care in zip(self.layers, memory.layers, tables.care):
            x = layer(x, keys_values, care, spans, mask)
        x = self.norm(x)
        if self.timestep == "output":
            x = x + moments.vector[:, None]
        around_start = at_tokens(moments.start, spans.start)
        around_last = at_tokens(moments.last, spans.last)
        start = self.start(x, memory.start_keys, around_start)
        last = self.last(x, memory.last_keys, around_last)
        return Denoised(x, start, last)

    def classify(
        self, memory: TokenMemory, state: Optional[Tensor], spans: TokenSpans
    ) -> Tensor:
        """Classify spans.

        state (Optional[Tensor]): the denoiser's vectors of the noisy spans; not needed
            if `reads_denoised`. Shape: (batch, span, width)
        spans (TokenSpans): the denoised spans. Shape: (batch, span)
        RETURNS (Tensor): (batch, span, class), class 0 is "no entity".
        """
        classes: Tensor
        if self.reads_denoised:
            classes = self.classifier(memory.classes, spans)
        else:
            classes = self.classifier(state)
        return classes


def _denoiser_layer(settings: DiffusionSettings) -> DenoiserLayer:
    return DenoiserLayer(
        settings.hidden_width,
        n_heads=settings.n_heads,
        ffn_width=settings.ffn_width,
        dropout=settings.dropout,
        self_attention=settings.self_attention,
        cross_attention=settings.cross_attention,
        distances=settings.distance_bias,
    )
