"""Columns, padded gold and padded vectors on the device."""

from itertools import accumulate
from typing import List, NamedTuple, Optional, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Tokens of windows that go through a network at once in prediction on a CPU.
TOKENS_IN_CACHE = 512


class GoldTensors(NamedTuple):
    """`spans.layouts.PaddedGold` as tensors, with the last token of each span, 0 where
    padded. Shapes: (batch, gold)
    """

    start: Tensor
    last: Tensor
    label: Tensor
    mask: Tensor


ALIGNED = 16  # bytes; every type may begin at a multiple of it


def to_device(columns: Sequence[NDArray], device: torch.device) -> List[Tensor]:
    """Copy columns to a device, all at once: a GPU waits for every copy.

    columns (Sequence[NDArray]): of any types and shapes.
    RETURNS (List[Tensor]): the columns there; on the CPU in the same memory.
    """
    if device.type == "cpu" or len(columns) == 1:
        return [torch.as_tensor(column, device=device) for column in columns]
    sizes = [-(-column.nbytes // ALIGNED) * ALIGNED for column in columns]
    ends = list(accumulate(sizes))
    # Not empty: an empty tensor of bytes cannot be viewed as another type.
    packed = np.zeros(max([ALIGNED, *ends]), dtype=np.uint8)
    for column, end, size in zip(columns, ends, sizes):
        row = np.ascontiguousarray(column).reshape(-1).view(np.uint8)
        packed[end - size : end - size + column.nbytes] = row
    there = torch.as_tensor(packed, device=device)
    tensors = []
    for column, end, size in zip(columns, ends, sizes):
        flat = there[end - size : end - size + column.nbytes]
        dtype = torch.from_numpy(np.empty(0, column.dtype)).dtype
        tensors.append(flat.view(dtype).view(column.shape))
    return tensors


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


def first_rows(vectors: Tensor) -> Tensor:
    """RETURNS (Tensor): the row of each window's first token, if the tokens of all
    padded windows are rows. Shape: (batch, 1)

    vectors (Tensor): (batch, token, width)
    """
    batch, step = len(vectors), max(1, vectors.shape[1])
    return torch.arange(0, batch * step, step, device=vectors.device)[:, None]


def at_tokens(vectors: Tensor, index: Tensor, first: Optional[Tensor] = None) -> Tensor:
    """RETURNS (Tensor): rows of (batch, token, width) by index (batch, span), as
    (batch, span, width). A batch of one serves all windows of the index.

    first (Optional[Tensor]): see `first_rows`, if they are there already.
    """
    if len(vectors) > 1:
        first = first_rows(vectors) if first is None else first
        index = first + index
    # `index_select` copies whole rows, `gather` single numbers.
    rows = vectors.reshape(-1, vectors.shape[2]).index_select(0, index.flatten())
    return rows.view(*index.shape, vectors.shape[2])
