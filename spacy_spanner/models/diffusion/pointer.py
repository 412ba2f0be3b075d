"""A pointer: where, among the tokens, should a boundary of a noisy span be?"""

import math

import torch
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
        """Project the tokens to what a span is compared with.

        For a product, (W s + b)·k = s·(Wᵀ k) + b·k: the query's map is applied to the
        tokens, once, instead of to all spans in all denoising steps.

        RETURNS (Tensor): (batch, token, width), with a column more for b·k.
        """
        keys = self.key(tokens)
        if self.hidden is not None:
            return keys
        keys = keys / math.sqrt(keys.shape[-1])
        query = torch.cat([self.query.weight, self.query.bias[:, None]], dim=1)
        return keys @ query

    def care(self, time: Tensor) -> Tensor:
        """Say how much each distance counts at a timestep.

        time (Tensor): embedding of the timestep. Shape: (batch, width)
        RETURNS (Tensor): (batch, distance)
        """
        care: Tensor = self.distance(F.gelu(time))
        return care

    def forward(
        self, state: Tensor, keys: Tensor, distance: Tensor, mask: Tensor, care: Tensor
    ) -> Tensor:
        """Score the tokens for each span.

        state (Tensor): vectors of the spans. Shape: (batch, span, width)
        keys (Tensor): see `keys`.
        distance (Tensor): of the tokens from the noisy boundary; see
            `tokens.Tables`. Shape: (batch, span, token)
        mask (Tensor): True for real tokens. Shape: (batch, token)
        care (Tensor): see `care`; one row for all windows will do. Shape:
            (batch, distance)
        RETURNS (Tensor): (batch, span, token)
        """
        if self.hidden is None:
            keys, constant = keys[..., :-1], keys[..., -1]
            scores = state @ keys.transpose(1, 2) + constant[:, None]
        else:
            # (batch, span, token, width)
            pairs = self.query(state)[:, :, None] + keys[:, None]
            scores = self.hidden(F.relu(pairs)).squeeze(dim=-1)
        table = care[:, None].expand(*state.shape[:2], -1)  # (batch, span, distance)
        scores = scores + table.gather(2, distance)
        return scores.masked_fill(~mask[:, None], IMPOSSIBLE)
