"""Columns, padded gold and padded vectors on the device."""

from typing import List, NamedTuple, Sequence

import torch
from numpy.typing import NDArray
from torch import Tensor

# Tokens of windows that go through a network at once in prediction on a CPU.
TOKENS_IN_CACHE = 512


class GoldTensors(NamedTuple):
    """The columns of `spans.layouts.PaddedGold` as tensors. Shapes: (batch, gold)"""

    start: Tensor
    end: Tensor
    label: Tensor
    mask: Tensor

    @property
    def last(self) -> Tensor:
        """The last token of each span, 0 where padded. Shape: (batch, gold)"""
        return (self.end - 1).clamp(min=0)


def to_device(columns: Sequence[NDArray], device: torch.device) -> List[Tensor]:
    """RETURNS (List[Tensor]): the columns as tensors on a device."""
    return [torch.as_tensor(column, device=device) for column in columns]


def in_cache(vectors: Tensor) -> Sequence[Tensor]:
    """Divide windows, in prediction on a CPU, so that what a network makes of a part
    stays in the processor's cache; matrices are then multiplied twice as fast.

    vectors (Tensor): (batch, token, width)
    RETURNS (Sequence[Tensor]): parts of some windows, or all in one.
    """
    if torch.is_grad_enabled() or not vectors.is_cpu:
        return [vectors]
    return vectors.split(max(1, TOKENS_IN_CACHE // vectors.shape[1]))


def rows_of(mask: Tensor) -> Tensor:
    """Find the rows that a mask selects, to select them in several columns.

    This waits for the device once; indexing with the mask would wait in each column.

    mask (Tensor): (row,)
    RETURNS (Tensor): indices of the rows.
    """
    (rows,) = mask.nonzero(as_tuple=True)
    return rows


def at_tokens(vectors: Tensor, index: Tensor) -> Tensor:
    """RETURNS (Tensor): rows of (batch, token, width) by index (batch, span), as
    (batch, span, width). A batch of one serves all windows of the index.
    """
    batch, n_tokens, width = vectors.shape
    if batch > 1:
        window = torch.arange(batch, device=index.device)[:, None]
        index = window * n_tokens + index
    # `index_select` copies whole rows, `gather` single numbers.
    rows = vectors.reshape(-1, width).index_select(0, index.flatten())
    return rows.view(*index.shape, width)
