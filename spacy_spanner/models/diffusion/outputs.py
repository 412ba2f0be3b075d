"""The predictions of the denoiser: pointers to boundaries, and classes."""

import math
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .noise import TokenSpans
from .tokens import IMPOSSIBLE, N_DISTANCES, PointerKeys, SpanFeatures, SpanPooling

POINTERS = ("product", "sum", "mlp")


class Pointer(nn.Module):
    """Score every token by its vector and by its distance from the noisy boundary.

    How much the distance counts depends on the timestep: noisy boundaries are almost
    right after little noise, and almost random after much.
    """

    def __init__(self, width: int, kind: str, *, distances: bool = True) -> None:
        """Build the layer.

        width (int): size of the vectors of spans and tokens.
        kind (str): how both are compared: "product" of their projections, one map of
            their "sum", or as in the paper an "mlp" of their sum.
        distances (bool): whether the distance counts.
        """
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.hidden = None if kind == "product" else nn.Linear(width, 1)
        self.inner = nn.Linear(width, width) if kind == "mlp" else None
        self.distance: Optional[nn.Linear] = None
        if distances:
            self.distance = nn.Linear(width, N_DISTANCES)
            nn.init.zeros_(self.distance.weight)
            nn.init.zeros_(self.distance.bias)

    def keys(self, tokens: Tensor, mask: Tensor) -> PointerKeys:
        """Project the tokens for the comparison with spans.

        For a product, (W s + b)·k = s·(Wᵀ k) + b·k: the map of the query is applied to
        the tokens once, instead of to the spans in every denoising step.

        tokens (Tensor): (batch, token, width)
        mask (Tensor): True for real tokens. Shape: (batch, token)
        RETURNS (PointerKeys): the same for all steps.
        """
        outside = ~mask
        keys = self.key(tokens).masked_fill(outside[:, :, None], 0.0)
        if self.hidden is None:
            keys = keys / math.sqrt(keys.shape[-1])
            keys, constant = keys @ self.query.weight, keys @ self.query.bias
        else:
            constant = keys.new_zeros(mask.shape)
        constant = constant.masked_fill(outside, IMPOSSIBLE)
        return PointerKeys(keys.transpose(1, 2), constant[:, None])

    def care(self, time: Tensor, distances: Tensor) -> Tensor:
        """Score tokens by their distance from a noisy boundary at a timestep.

        time (Tensor): embedding of the timestep. Shape: (batch, width)
        distances (Tensor): see `tokens.Tables`. Shape: (boundary, token)
        RETURNS (Tensor): (batch, boundary, token)
        """
        if self.distance is None:
            return time.new_zeros(len(time), *distances.shape)
        by_distance: Tensor = self.distance(F.gelu(time))  # (batch, distance)
        care = by_distance.index_select(1, distances.flatten())
        return care.view(-1, *distances.shape)

    def forward(self, state: Tensor, keys: PointerKeys, care: Tensor) -> Tensor:
        """Score the tokens for each span.

        state (Tensor): vectors of the spans. Shape: (batch, span, width)
        keys (PointerKeys): see `keys`.
        care (Tensor): the rows of `care` for the noisy boundary of each span. Shape:
            (batch, span, token)
        RETURNS (Tensor): (batch, span, token)
        """
        if self.hidden is None:
            return torch.baddbmm(keys.constant, state, keys.vectors) + care
        # (batch, span, token, width)
        pairs = self.query(state)[:, :, None] + keys.vectors.transpose(1, 2)[:, None]
        if self.inner is not None:
            pairs = self.inner(pairs)
        return self.hidden(F.relu(pairs)).squeeze(dim=-1) + keys.constant + care


class DenoisedClassifier(nn.Module):
    """Reads the denoised span only, so that the probabilities of a span do not depend
    on the noise that it came from.
    """

    def __init__(
        self, n_in: int, width: int, n_labels: int, *, n_widths: int, dropout: float
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        width (int): hidden size.
        n_labels (int): number of labels; "no entity" is added as class 0.
        n_widths (int): spans of this many tokens or more share one embedding.
        dropout (float): rate on the hidden layer.
        """
        super().__init__()
        self.pooling = SpanPooling(n_in, width, "both")
        self.width_embedding = nn.Embedding(n_widths, width)
        self.output = nn.Sequential(
            nn.GELU(), nn.Dropout(dropout), nn.Linear(width, n_labels + 1)
        )

    def forward(self, features: SpanFeatures, spans: TokenSpans) -> Tensor:
        """Classify spans.

        features (SpanFeatures): what `pooling` makes of the token vectors.
        spans (TokenSpans): (batch, span)
        RETURNS (Tensor): (batch, span, class)
        """
        further = spans.last - spans.start
        width = further.clamp(max=self.width_embedding.num_embeddings - 1)
        return self.output(features.of(spans, further) + self.width_embedding(width))


class NoisyClassifier(nn.Module):
    """Reads the denoiser's vector of the noisy span, as in the paper."""

    def __init__(self, width: int, n_labels: int, *, dropout: float) -> None:
        """width (int): size of the denoiser's vectors.

        n_labels (int), dropout (float): see `DenoisedClassifier`.
        """
        super().__init__()
        self.output = nn.Sequential(
            nn.Linear(width, width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(width, n_labels + 1),
        )

    def forward(self, state: Tensor) -> Tensor:
        """Classify spans.

        state (Tensor): the denoiser's vectors. Shape: (batch, span, width)
        RETURNS (Tensor): (batch, span, class)
        """
        classes: Tensor = self.output(state)
        return classes
