"""Rows of padded batches, and of columns."""

import torch
from torch import Tensor


def rows_of(mask: Tensor) -> Tensor:
    """Find the rows that a mask chooses, for all columns that are to be cut to them.

    A device is waited for here, once; indexing with the mask would wait in each column.

    mask (Tensor): (row,)
    RETURNS (Tensor): their numbers.
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
    # Whole rows are copied; `gather` would copy number by number.
    rows = vectors.reshape(-1, width).index_select(0, index.flatten())
    return rows.view(*index.shape, width)
