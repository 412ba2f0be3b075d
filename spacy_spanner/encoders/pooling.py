"""Combine the vectors of the word pieces of each token."""

import torch
from torch import Tensor

POOLINGS = ("mean", "max", "first")


def pool_pieces(pieces: Tensor, token: Tensor, n_tokens: int, pooling: str) -> Tensor:
    """Reduce the pieces of each token to one vector; tokens without pieces get zeros.

    pieces (Tensor): (piece, width)
    token (Tensor): the token of each piece. Shape: (piece,)
    n_tokens (int): number of tokens.
    pooling (str): "mean", "max" or "first".
    RETURNS (Tensor): (token, width)
    """
    empty = pieces.new_zeros(n_tokens, pieces.shape[1])
    if pooling == "max":
        index = token[:, None].expand_as(pieces)
        return empty.scatter_reduce(0, index, pieces, "amax", include_self=False)
    if pooling == "first":
        position = torch.arange(len(token), device=token.device)
        missing = torch.full((n_tokens,), len(token), device=token.device)
        first = missing.scatter_reduce(0, token, position, "amin")
        padded = torch.cat([pieces, pieces.new_zeros(1, pieces.shape[1])])
        return padded.index_select(0, first)
    # Not `bincount`, which waits for the device.
    ones = pieces.new_ones(len(token))
    count = pieces.new_zeros(n_tokens).index_add(0, token, ones).clamp(min=1)
    return empty.index_add(0, token, pieces) / count[:, None]
