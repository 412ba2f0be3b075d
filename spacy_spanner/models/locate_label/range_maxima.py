"""Maxima of token vectors over any spans, each in constant time: a sparse table.

Level k of the table holds the maximum of the 2^k tokens from each token on. A span is
the union of two such runs, one from its start and one to its end, so that its maximum
is that of two rows, whatever its width. Memory grows with tokens × log(tokens), and the
work with the number of spans: no (span, token, width) tensor exists.
"""

from typing import Any, List, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F


class RangeMaxima:
    """Answers what the maximum of each feature is between two tokens of a window."""

    def __init__(self, vectors: Tensor) -> None:
        """Build the table; gradients flow back to the vectors.

        vectors (Tensor): padding may hold anything. Shape: (batch, token, width)
        """
        batch, self.n_tokens, width = vectors.shape
        levels: List[Tensor] = [vectors]
        run = 1
        while 2 * run <= self.n_tokens:
            # Behind the last full run the zeros are wrong, and never asked for.
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
        # The longest run that fits; powers of two are counted, for logarithms round.
        level = torch.bucketize(last - start + 1, self.runs, right=True) - 1
        base = level * self.level_rows + window * self.n_tokens
        second = base + last + 1 - self.runs[level]
        maxima: Tensor = RowMaxima.apply(self.rows, base + start, second)
        return maxima


class RowMaxima(torch.autograd.Function):
    """The maximum of two rows of a table each.

    The runs of a span mostly share the token with the maximum. Torch's own `maximum`
    halves the gradient of such ties, for which it reads everything many times over;
    here the first row gets it all, and leads to the same token.
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
