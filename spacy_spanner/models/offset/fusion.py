"""Scores of spans against types, without a vector for each pair of tokens.

A span (i, j) has the vector s_ij = [γ_j ⊙ norm(x_i) + λ_j ; e_ij]: a conditional layer
norm of the start by the last token, and embeddings e of region and distance. Its score
of class l for the type t_m is [s_ij ; 1]^T U_l [t_m ; 1]. The type side is contracted
first, to a_ml = U_l [t_m ; 1], so that

    score_ijml = (norm(x_i) ⊙ a_ml)^T γ_j + λ_j^T a_ml + [e_ij ; 1]^T a_ml

is one product of matrices, a vector for each j, and a row of a small table. Tensors of
the size (start, last, width) never exist.

In short windows there are fewer spans than products norm(x_i) ⊙ a_ml, of which every
token has one for each type and class. Then

    score_ijml = (norm(x_i) ⊙ γ_j + λ_j)^T a_ml + [e_ij ; 1]^T a_ml

is cheaper, for the spans that are wanted only: `score_cells`.
"""

from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def optional_embedding(size: int, width: int) -> Optional[nn.Embedding]:
    """RETURNS (Optional[nn.Embedding]): an embedding, or None for a width of 0."""
    return nn.Embedding(size, width) if width else None


class Sides(NamedTuple):
    """Tokens as the two boundaries of spans. Shapes: (batch, token, width)

    start (Tensor): norm(x), of first tokens.
    scale, shift (Tensor): γ and λ, of last tokens.
    """

    start: Tensor
    scale: Tensor
    shift: Tensor


class SpanTypeFusion(nn.Module):
    """Token vectors and type vectors to scores of every (start, last, type, class)."""

    def __init__(
        self,
        width: int,
        n_classes: int,
        *,
        region: int,
        distance: int,
        n_distances: int,
    ) -> None:
        """Build the layers; all classes have nearly equal scores at first.

        width (int): size of the vectors of tokens and types.
        n_classes (int): scores per span and type.
        region (int): size of the embedding that tells spans (start <= last) from the
            other half of the grid; 0 for none.
        distance (int): size of the embedding of the distance of the two tokens; 0 for
            none.
        n_distances (int): distances with an own embedding; further ones share the last.
        """
        super().__init__()
        self.scale = nn.Linear(width, width)
        self.shift = nn.Linear(width, width)
        self.region = optional_embedding(2, region)
        self.distance = optional_embedding(n_distances, distance)
        n_features = width + region + distance + 1
        self.weight = nn.Parameter(torch.empty(n_classes, n_features, width + 1))
        # At first, the conditional norm is nearly a plain one. The other weights are
        # small, so that scores are nearly equal although a norm makes vectors long.
        for layer, bias in ((self.scale, 1.0), (self.shift, 0.0)):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.constant_(layer.bias, bias)
        nn.init.normal_(self.weight, std=0.002)

    def forward(self, start: Tensor, last: Tensor, types: Tensor) -> Tensor:
        """Score each pair of tokens for each type.

        start, last (Tensor): vectors of the tokens in both roles. (batch, token, width)
        types (Tensor): one vector a type; the first axis may be 1 where the types are
            the same in all windows. Shape: (batch, label, width)
        RETURNS (Tensor): (batch, start, last, label, class)
        """
        batch, token, _ = start.shape
        by_type = self.contract(types, self.weight)
        scores = self.score_grid(self.sides(start, last), by_type)
        return scores.view(batch, token, token, types.shape[1], -1)

    def sides(self, start: Tensor, last: Tensor) -> Sides:
        """RETURNS (Sides): of tokens in both roles, see `forward`."""
        norm = F.layer_norm(start, start.shape[-1:])
        return Sides(norm, self.scale(last), self.shift(last))

    def score_grid(self, sides: Sides, by_type: Tensor) -> Tensor:
        """Score all pairs of tokens.

        There is a vector for each pair, or for each token and label: what is less.

        by_type (Tensor): see `contract`.
        RETURNS (Tensor): (batch, start, last, label·class)
        """
        token, width = sides.start.shape[1:]
        content, places = by_type[..., :width], by_type[..., width:]
        many_labels = by_type.shape[1] > token
        score = self._score_pairs if many_labels else self._score_rows
        return score(sides, content) + self._place_scores(places, token)

    def _score_pairs(self, sides: Sides, content: Tensor) -> Tensor:
        """RETURNS (Tensor): (norm(x_i) ⊙ γ_j + λ_j) a_ml, see `score_grid`."""
        start, scale, shift = sides.start[:, :, None], sides.scale, sides.shift
        pairs = torch.addcmul(shift[:, None], start, scale[:, None])
        by_class = content.transpose(1, 2)
        if len(content) == 1:
            return pairs @ by_class[0]
        return (pairs.flatten(1, 2) @ by_class).unflatten(1, pairs.shape[1:3])

    def _score_rows(self, sides: Sides, content: Tensor) -> Tensor:
        """RETURNS (Tensor): (norm(x_i) ⊙ a_ml) γ_j + λ_j a_ml, see `score_grid`."""
        batch, token, width = sides.start.shape
        rows = (sides.start[:, :, None] * content[:, None]).view(batch, -1, width)
        scores = rows @ sides.scale.transpose(1, 2)
        scores = scores.view(batch, token, -1, token).transpose(2, 3)
        shift = sides.shift @ content.transpose(1, 2)  # (batch, last, label·class)
        return scores + shift[:, None]

    def score_cells(
        self, sides: Sides, by_type: Tensor, window: Tensor, start: Tensor, last: Tensor
    ) -> Tensor:
        """Score some spans, if the types are the same in all windows.

        by_type (Tensor): see `contract`. Shape: (1, label·class, feature)
        window, start, last (Tensor): the spans. Shapes: (cell,)
        RETURNS (Tensor): (cell, label·class)
        """
        _, token, width = sides.start.shape
        content, places = by_type[0, :, :width], by_type[0, :, width:]
        spans = self.span_vectors(sides, window, start, last)
        by_width = self._place_features(torch.arange(token, device=start.device))
        table = by_width @ places.T  # (token, label·class)
        return torch.addmm(F.embedding(last - start, table), spans, content.T)

    def span_vectors(
        self, sides: Sides, window: Tensor, start: Tensor, last: Tensor
    ) -> Tensor:
        """RETURNS (Tensor): norm(x_i) ⊙ γ_j + λ_j of some spans. (cell, width)"""
        token = sides.start.shape[1]
        row, last_row = window * token + start, window * token + last
        norm, scale, shift = (side.flatten(0, 1) for side in sides)
        return torch.addcmul(
            shift.index_select(0, last_row),
            norm.index_select(0, row),
            scale.index_select(0, last_row),
        )

    def features(
        self, sides: Sides, window: Tensor, start: Tensor, last: Tensor
    ) -> Tensor:
        """RETURNS (Tensor): everything that is multiplied with a_ml. (cell, feature)"""
        spans = self.span_vectors(sides, window, start, last)
        return torch.cat([spans, self._place_features(last - start)], dim=1)

    def contract(self, types: Tensor, weight: Tensor) -> Tensor:
        """Multiply the weights of classes with the types.

        types (Tensor): see `forward`.
        weight (Tensor): `self.weight`, or sums of its rows. Shape: (class, feature,
            width + 1)
        RETURNS (Tensor): a_ml. (batch or 1, label·class, feature)
        """
        n_features, width = weight.shape[1:]
        by_type = F.pad(types, (0, 1), value=1.0) @ weight.reshape(-1, width).T
        return by_type.view(len(types), -1, n_features)

    def _place_scores(self, places: Tensor, token: int) -> Tensor:
        """Compute the part of the scores that depends on region and distance.

        It depends on last - start only, so a row for each difference is enough.

        places (Tensor): the part of a_ml for the embeddings and the constant.
        token (int): the number of tokens.
        RETURNS (Tensor): (batch or 1, start, last, label·class)
        """
        position = torch.arange(token, device=places.device)
        difference = torch.arange(1 - token, token, device=places.device)
        table = self._place_features(difference) @ places.transpose(1, 2)
        row = position[None, :] - position[:, None] + token - 1  # (start, last)
        flat = table.index_select(1, row.reshape(-1))
        return flat.view(len(places), token, token, -1)

    def _place_features(self, difference: Tensor) -> Tensor:
        """Embed region and distance.

        difference (Tensor): last - start of spans. (cell,)
        RETURNS (Tensor): [e_ij ; 1]. (cell, feature)
        """
        features = [self.weight.new_ones(len(difference), 1)]
        if self.distance is not None:
            index = difference.abs().clamp(max=self.distance.num_embeddings - 1)
            features.insert(0, self.distance(index))
        if self.region is not None:
            features.insert(0, self.region((difference >= 0).long()))
        return torch.cat(features, dim=1)
