"""A pointer: where, among the tokens, should a boundary of a noisy span be?"""

import math

from torch import Tensor, nn
from torch.nn import functional as F

from .tokens import IMPOSSIBLE, N_DISTANCES

POINTERS = ("product", "sum")


class Pointer(nn.Module):
    """Score every token by its vector and by its distance from the noisy boundary.

    How much the distance says depends on the timestep: at its end a noisy boundary is
    almost the right one, at its beginning it is almost any.
    """

    def __init__(self, width: int, kind: str) -> None:
        """Build the layer.

        width (int): size of the vectors of spans and tokens.
        kind (str): how both are compared: "product" of their projections, or as in the
            paper an MLP of their "sum".
        """
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.hidden = nn.Linear(width, 1) if kind == "sum" else None
        self.distance = nn.Linear(width, N_DISTANCES)
        nn.init.zeros_(self.distance.weight)
        nn.init.zeros_(self.distance.bias)

    def keys(self, tokens: Tensor) -> Tensor:
        """RETURNS (Tensor): projections of the tokens. (batch, token, width)"""
        return self.key(tokens)

    def forward(
        self, state: Tensor, keys: Tensor, distance: Tensor, mask: Tensor, time: Tensor
    ) -> Tensor:
        """Score the tokens for each span.

        state (Tensor): vectors of the spans. Shape: (batch, span, width)
        keys (Tensor): see `keys`. Shape: (batch, token, width)
        distance (Tensor): of the tokens from the noisy boundary; see
            `tokens.Distances`. Shape: (batch, span, token)
        mask (Tensor): True for real tokens. Shape: (batch, token)
        time (Tensor): embedding of the timestep. Shape: (batch, width)
        RETURNS (Tensor): (batch, span, token)
        """
        query = self.query(state)
        if self.hidden is None:
            scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[-1])
        else:
            pairs = query[:, :, None] + keys[:, None]  # (batch, span, token, width)
            scores = self.hidden(F.relu(pairs)).squeeze(dim=-1)
        table = self.distance(F.gelu(time))[:, None]  # (batch, 1, distance)
        table = table.expand(-1, query.shape[1], -1)
        scores = scores + table.gather(2, distance)
        return scores.masked_fill(~mask[:, None], IMPOSSIBLE)
