"""Word pieces to tokens: by hand, and their gradients."""

from typing import List

import pytest
import torch
from torch import Tensor

from spacy_spanner.encoders.pooling import POOLINGS, pool_pieces

# Token 0 has two pieces, token 1 none, token 2 three, token 3 none.
PIECES = [[1.0, -4.0], [3.0, -2.0], [0.0, 5.0], [6.0, 2.0], [3.0, -1.0]]
TOKEN = [0, 0, 2, 2, 2]
N_TOKENS = 4


def pool(pooling: str, pieces: List = PIECES, token: List = TOKEN) -> Tensor:
    index = torch.tensor(token, dtype=torch.long)
    return pool_pieces(torch.tensor(pieces), index, N_TOKENS, pooling)


@pytest.mark.parametrize(
    "pooling, expected",
    [
        ("mean", [[2, -3], [0, 0], [3, 2], [0, 0]]),
        ("max", [[3, -2], [0, 0], [6, 5], [0, 0]]),
        ("first", [[1, -4], [0, 0], [0, 5], [0, 0]]),
    ],
)
def test_pool_pieces_by_hand(pooling: str, expected: List) -> None:
    assert pool(pooling).tolist() == expected


@pytest.mark.parametrize(
    "pooling, expected",
    [
        ("mean", [[4, 2], [3, -1], [0, 0], [0, 0]]),
        ("max", [[6, 5], [3, -1], [0, 0], [0, 0]]),
        ("first", [[6, 2], [3, -1], [0, 0], [0, 0]]),
    ],
)
def test_pool_pieces_that_are_not_in_token_order(pooling: str, expected: List) -> None:
    pieces = [[6.0, 2.0], [3.0, -1.0], [0.0, 5.0], [6.0, -1.0]]
    assert pool(pooling, pieces, [0, 1, 0, 0]).tolist() == expected


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pool_pieces_of_one_piece_each_keeps_them(pooling: str) -> None:
    assert pool(pooling, PIECES[:4], [0, 1, 2, 3]).tolist() == PIECES[:4]


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("n_tokens", [0, 2])
def test_pool_pieces_without_pieces_gives_zeros(pooling: str, n_tokens: int) -> None:
    none = torch.zeros(0, dtype=torch.long)
    pooled = pool_pieces(torch.zeros(0, 3), none, n_tokens, pooling)
    assert pooled.tolist() == [[0, 0, 0]] * n_tokens


@pytest.mark.parametrize(
    "pooling, expected",
    [
        ("mean", [[1 / 2, 1 / 2], [1 / 2, 1 / 2], *[[1, 1]] * 3]),
        ("max", [[0, 0], [1, 1], [0, 3], [3, 0], [0, 0]]),
        ("first", [[1, 1], [0, 0], [3, 3], [0, 0], [0, 0]]),
    ],
)
def test_pool_pieces_gradient_by_hand(pooling: str, expected: List) -> None:
    pieces = torch.tensor(PIECES, requires_grad=True)
    pooled = pool_pieces(pieces, torch.tensor(TOKEN), N_TOKENS, pooling)
    # Tokens without pieces weigh most, and must not be felt.
    (pooled * torch.tensor([[1.0], [100.0], [3.0], [100.0]])).sum().backward()
    assert pieces.grad is not None
    torch.testing.assert_close(pieces.grad, torch.tensor(expected, dtype=torch.float))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pool_pieces_has_exact_gradients(pooling: str) -> None:
    generator = torch.Generator().manual_seed(0)
    pieces = torch.randn(5, 3, generator=generator, dtype=torch.float64)

    def run(values: Tensor) -> Tensor:
        return pool_pieces(values, torch.tensor(TOKEN), N_TOKENS, pooling)

    assert torch.autograd.gradcheck(run, pieces.requires_grad_())
