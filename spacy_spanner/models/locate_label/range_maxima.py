"""Maxima of token vectors over any spans, each in constant time: a sparse table.

Level k of the table holds the maximum of the 2^k tokens that start at each token. A
span is the union of two such runs, one at its start and one at its end, so its maximum
is that of two rows, whatever its width. Memory grows with tokens × log(tokens), and
time with the number of spans: no (span, token, width) tensor exists.
"""

from typing import Any, Tuple

import numpy as np
import torch
from torch import Tensor

from ...spans.table import Ints
from ..blocks.constants import constant


class RangeMaxima:
    """Computes the maximum of each feature between two tokens of a window."""

    def __init__(self, vectors: Tensor) -> None:
        """Build the table; gradients flow back to the vectors.

        vectors (Tensor): padding may hold anything. Shape: (batch, token, width)
        """
        batch, self.n_tokens, width = vectors.shape
        levels: Tensor = LevelMaxima.apply(vectors)
        self.rows = levels.view(-1, width)  # (level·batch·token, width)
        level, further = constant(_runs, self.n_tokens, device=vectors.device)
        # How far the rows of both runs are from that of the first token.
        self.steps = torch.add(further, level, alpha=batch * self.n_tokens)

    def __call__(self, window: Tensor, start: Tensor, last: Tensor) -> Tensor:
        """Look up spans.

        window, start, last (Tensor): the spans, inside their windows. Shape: (span,)
        RETURNS (Tensor): the maxima. Shape: (span, width)
        """
        return self.at(window * self.n_tokens + start, last - start)

    def at(self, first: Tensor, further: Tensor) -> Tensor:
        """Look up spans by rows.

        first (Tensor): their first tokens, counted over all padded windows. (span,)
        further (Tensor): how far the last token is from the first. Shape: (span,)
        RETURNS (Tensor): the maxima. Shape: (span, width)
        """
        rows = self.steps.index_select(1, further) + first
        maxima: Tensor = RowMaxima.apply(self.rows, rows)
        return maxima


def _runs(n_tokens: int) -> Ints:
    """Find the longest run that fits into each span, by its last token.

    RETURNS (Ints): the level of both runs, and how far they start from the first token.
        Shape: (2, run, token)
    """
    sizes = np.arange(1, n_tokens + 1)
    level = np.frexp(sizes)[1].astype(np.int64) - 1  # exact, unlike a logarithm
    further = np.stack([np.zeros_like(sizes), sizes - 2**level])
    return np.stack([np.broadcast_to(level, further.shape), further])


class LevelMaxima(torch.autograd.Function):
    """The table, with one pass over the data for each level, in both directions."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        """vectors (Tensor): (batch, token, width)

        RETURNS (Tensor): (level, batch, token, width)
        """
        n_tokens = vectors.shape[1]
        n_levels = max(1, n_tokens.bit_length())
        levels = vectors.new_zeros(n_levels, *vectors.shape)
        levels[0].copy_(vectors)
        for level in range(1, n_levels):
            run = 2 ** (level - 1)
            below = levels[level - 1]
            # After the last full run there are zeros, which no span reads.
            there = levels[level][:, : n_tokens - run]
            torch.maximum(below[:, :-run], below[:, run:], out=there)
        ctx.save_for_backward(levels)
        return levels

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]  # torch types it as open
        """RETURNS (Tensor): (batch, token, width). Of equals, the first gets all."""
        (levels,) = ctx.saved_tensors
        gradient = gradient.clone()
        for level in range(len(levels) - 1, 0, -1):
            run = 2 ** (level - 1)
            below, d_below = levels[level - 1], gradient[level - 1]
            d_maxima = gradient[level][:, :-run]
            part = d_maxima * (below[:, :-run] >= below[:, run:])
            d_below[:, :-run].add_(part)
            d_below[:, run:].add_(d_maxima.sub_(part))
        return gradient[0]


class RowMaxima(torch.autograd.Function):
    """The maximum of two rows of a table each.

    Mostly, both runs of a span contain the token with the maximum. Torch's `maximum`
    halves the gradient of such ties, which takes several passes over the data; here the
    first row gets the whole gradient, which reaches the same token.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        """Look up.

        table (Tensor): (row, width)
        rows (Tensor): two rows for each result. Shape: (2, span)
        RETURNS (Tensor): (span, width)
        """
        both = table.index_select(0, rows.flatten())
        one, two = both.view(2, rows.shape[1], both.shape[1])
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(one >= two, rows)
            ctx.n_rows = len(table)
        return torch.maximum(one, two)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Tensor, None]:  # type: ignore[override]  # torch types it as open
        """RETURNS (Tuple[Tensor, None]): for the table: (row, width)"""
        from_first, rows = ctx.saved_tensors
        part = gradient * from_first
        d_table = gradient.new_zeros(ctx.n_rows, gradient.shape[1])
        d_table.index_add_(0, rows[0], part)
        d_table.index_add_(0, rows[1], gradient - part)
        return d_table, None
