"""Span vectors that are built in full (Tang et al. 2023, Equations 1 to 3).

Equation 1 is a conditional layer norm of the start by the last token, Equation 2 a
feed-forward network on this vector and the embeddings of region and distance, Equation
3 the biaffine map of the result with the vector of each type. The network cannot be
applied to the two tokens separately, so a vector for each pair of tokens exists: this
needs much more memory and time than `fusion.py`.
"""

from typing import List

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..blocks.projection import Projection
from .fusion import optional_embedding


class SpanVectors(nn.Module):
    """Token vectors to a vector of every pair of tokens."""

    def __init__(
        self,
        n_in: int,
        width: int,
        *,
        region: int,
        distance: int,
        n_distances: int,
        dropout: float,
    ) -> None:
        """Build the layers; at first, the conditional norm is a plain one.

        n_in (int): size of the token vectors.
        width (int): size of the span vectors.
        region (int): size of the embedding that tells spans (start <= last) from the
            other half of the grid; 0 for none.
        distance (int): size of the embedding of the distance of the two tokens; 0 for
            none.
        n_distances (int): distances with an own embedding; further ones share the last.
        dropout (float): rate before and after the feed-forward network.
        """
        super().__init__()
        self.scale = nn.Linear(n_in, n_in)
        self.shift = nn.Linear(n_in, n_in)
        self.region = optional_embedding(2, region)
        self.distance = optional_embedding(n_distances, distance)
        self.network = Projection(
            n_in + region + distance, width, dropout=dropout, input_dropout=dropout
        )
        for layer, bias in ((self.scale, 1.0), (self.shift, 0.0)):
            nn.init.zeros_(layer.weight)
            nn.init.constant_(layer.bias, bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """Build the vector of each pair of tokens.

        tokens (Tensor): (batch, token, n_in)
        RETURNS (Tensor): (batch, start, last, width)
        """
        start = F.layer_norm(tokens, tokens.shape[-1:])[:, :, None]
        scale, shift = self.scale(tokens)[:, None], self.shift(tokens)[:, None]
        parts = [start * scale + shift, *self._places(tokens)]
        vectors: Tensor = self.network(torch.cat(parts, dim=-1))
        return vectors

    def _places(self, tokens: Tensor) -> List[Tensor]:
        """RETURNS (List[Tensor]): embeddings of the pairs, each of the shape (batch,
        start, last, width).
        """
        batch, n_tokens, _ = tokens.shape
        position = torch.arange(n_tokens, device=tokens.device)
        difference = position[None, :] - position[:, None]  # (start, last)
        places = []
        if self.region is not None:
            places.append(self.region((difference >= 0).long()))
        if self.distance is not None:
            index = difference.abs().clamp(max=self.distance.num_embeddings - 1)
            places.append(self.distance(index))
        return [place.expand(batch, -1, -1, -1) for place in places]


class BiaffineFusion(nn.Module):
    """Scores of span vectors against type vectors: `[s ; 1]^T U_l [t ; 1]`, which is
    the bilinear term, the linear map of `[s ; t]` and the bias in one tensor.
    """

    def __init__(self, width: int, n_classes: int) -> None:
        """Build the layer; all classes have nearly equal scores at first.

        width (int): size of the vectors of spans and types.
        n_classes (int): scores per span and type.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_classes, width + 1, width + 1))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, spans: Tensor, types: Tensor) -> Tensor:
        """Score each span for each type.

        spans (Tensor): (batch, start, last, width)
        types (Tensor): (batch or 1, label, width)
        RETURNS (Tensor): (batch, start, last, label, class)
        """
        by_type = torch.einsum(
            "lfg,bmg->bfml", self.weight, F.pad(types, (0, 1), value=1.0)
        )
        rows = F.pad(spans, (0, 1), value=1.0).flatten(1, 2)  # (batch, pair, feature)
        scores = rows @ by_type.flatten(2)
        n_labels, n_classes = by_type.shape[2:]
        return scores.view(*spans.shape[:3], n_labels, n_classes)
