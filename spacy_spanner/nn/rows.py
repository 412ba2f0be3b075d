"""Rows of padded batches."""

import torch
from torch import Tensor


def at_tokens(vectors: Tensor, index: Tensor) -> Tensor:
    """RETURNS (Tensor): rows of (batch, token, width) by index (batch, span), as
    (batch, span, width)
    """
    batch, n_tokens, width = vectors.shape
    window = torch.arange(batch, device=index.device)[:, None]
    # Whole rows are copied; `gather` would copy number by number.
    rows = (window * n_tokens + index).flatten()
    return vectors.reshape(-1, width).index_select(0, rows).view(*index.shape, width)
