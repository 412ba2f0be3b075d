"""Maxima of token vectors over any spans, each in constant time: a sparse table.

Level k of the table holds the maximum of the 2^k tokens that start at each token. A
span is the union of two such runs, one at its start and one at its end, so its maximum
is that of two rows, whatever its width. Memory grows with tokens × log(tokens), and
time with the number of spans: no (span, token, width) tensor exists.
"""

from typing import Any, List, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F


class RangeMaxima:
    """Computes the maximum of each feature between two tokens of a window."""

    def __init__(self, vectors: Tensor) -> None:
        """Build the table; gradients flow back to the vectors.

        vectors (Tensor): padding may hold anything. Shape: (batch, token, width)
        """
        batch, self.n_tokens, width = vectors.shape
        levels: List[Tensor] = [vectors]
        run = 1
        while 2 * run <= self.n_tokens:
            # After the last full run, zeros make maxima wrong; no span reads them.
            shifted = F.pad(levels[-1][:, run:], (0, 0, 0, run))
            levels.append(torch.maximum(levels[-1], shifted))
            run *= 2
        self.level_rows = batch * self.n_tokens
        self.rows = torch.stack(levels).view(-1, width)  # (level·batch·token, width)
        self.runs = 2 ** torch.arange(len(levels), device=vectors.device)

    def __call__(self, window: Tensor, start: Tensor, last: Tensor) -> Tensor:
        """Look up spans.

        window, start, last (Tensor): the spans, inside their windows. Shape: (span,)
        RETURNS (Tensor): the maxima. Shape: (span, width)
        """
        # The longest run that fits, found without logarithms, which round.
        level = torch.bucketize(last - start + 1, self.runs, right=True) - 1
        base = level * self.level_rows + window * self.n_tokens
        second = base + last + 1 - self.runs[level]
        maxima: Tensor = RowMaxima.apply(self.rows, base + start, second)
        return maxima


class RowMaxima(torch.autograd.Function):
    """The maximum of two rows of a table each.

    Mostly, both runs of a span contain the token with the maximum. Torch's `maximum`
    halves the gradient of such ties, which takes several passes over the data; here the
    first row gets the whole gradient, which reaches the same token.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """Look up.

        table (Tensor): (row, width)
        first, second (Tensor): two rows for each result. Shapes: (span,)
        RETURNS (Tensor): (span, width)
        """
        one, two = table.index_select(0, first), table.index_select(0, second)
        ctx.save_for_backward(one >= two, first, second)
        ctx.n_rows = len(table)
        return torch.maximum(one, two)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Tensor, None, None]:  # type: ignore[override]  # torch types it as open
        """RETURNS (Tuple[Tensor, None, None]): for the table: (row, width)"""
        from_first, first, second = ctx.saved_tensors
        part = gradient * from_first
        d_table = gradient.new_zeros(ctx.n_rows, gradient.shape[1])
        d_table.index_add_(0, first, part)
        d_table.index_add_(0, second, gradient - part)
        return d_table, None, None
