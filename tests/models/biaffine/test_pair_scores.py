"""Scores of pairs of tokens."""

from typing import Optional

import pytest
import torch
from torch import Tensor

from spacy_spanner.models.biaffine.module import Biaffine


def by_hand() -> Biaffine:
    """Classes xy + 10 x + 100 y + 1000, and y alone, for vectors of one number."""
    biaffine = Biaffine(1, 2)
    weight = torch.tensor([[[1.0, 10.0], [100.0, 1000.0]], [[0.0, 0.0], [1.0, 0.0]]])
    biaffine.weight = torch.nn.Parameter(weight)
    return biaffine


def random_pair(batch: int = 2, token: int = 4, width: int = 3) -> tuple:
    generator = torch.Generator().manual_seed(0)
    shape = (2, batch, token, width)
    return tuple(torch.randn(shape, generator=generator, dtype=torch.float64))


def test_biaffine_scores_pairs_by_hand() -> None:
    x, y = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    assert by_hand()(x, y).tolist() == [
        [[[1530.0, 5.0], [1734.0, 7.0]], [[1545.0, 5.0], [1751.0, 7.0]]]
    ]


def test_biaffine_with_band_scores_next_tokens_by_hand() -> None:
    x, y = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    scores = by_hand()(x, y, band=2)
    assert scores.shape == (1, 2, 2, 2)
    assert scores[0, 0].tolist() == [[1530.0, 5.0], [1734.0, 7.0]]
    assert scores[0, 1, 0].tolist() == [1751.0, 7.0]


def test_biaffine_equals_the_sum_over_all_weights() -> None:
    biaffine, (x, y) = Biaffine(3, 2).double(), random_pair()
    one = torch.ones(2, 4, 1, dtype=torch.float64)
    expected = torch.einsum(
        "bsi,cij,blj->bslc",
        torch.cat([x, one], dim=2),
        biaffine.weight,
        torch.cat([y, one], dim=2),
    )
    torch.testing.assert_close(biaffine(x, y), expected)


@pytest.mark.parametrize("band", [1, 2, 3, 4])
def test_biaffine_with_band_equals_the_full_grid_there(band: int) -> None:
    biaffine, (x, y) = Biaffine(3, 2).double(), random_pair()
    full, banded = biaffine(x, y), biaffine(x, y, band)
    for start in range(4):
        inside = min(band, 4 - start)
        torch.testing.assert_close(
            banded[:, start, :inside], full[:, start, start : start + inside]
        )


def test_biaffine_of_one_token_is_one_pair() -> None:
    x, y = random_pair(token=1)
    assert Biaffine(3, 2).double()(x, y).shape == (2, 1, 1, 2)


def test_biaffine_scores_each_window_by_itself() -> None:
    biaffine, (x, y) = Biaffine(3, 2).double(), random_pair()
    torch.testing.assert_close(biaffine(x, y)[1:], biaffine(x[1:], y[1:]))


def test_biaffine_tells_start_from_last() -> None:
    biaffine, (x, _) = Biaffine(3, 2).double(), random_pair()
    scores = biaffine(x, x)
    assert not torch.allclose(scores, scores.transpose(1, 2))


@pytest.mark.parametrize("band", [None, 2])
def test_biaffine_has_exact_gradients(band: Optional[int]) -> None:
    biaffine, (x, y) = Biaffine(3, 2).double(), random_pair(batch=1, token=3)

    def run(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        replaced = {"weight": weight}
        return torch.func.functional_call(biaffine, replaced, (x, y, band))

    inputs = [tensor.requires_grad_() for tensor in (x, y, biaffine.weight.detach())]
    assert torch.autograd.gradcheck(run, inputs)


def test_biaffine_starts_with_small_scores() -> None:
    torch.manual_seed(0)
    x, y = random_pair()
    assert Biaffine(3, 2).double()(x, y).abs().max() < 1


def test_biaffine_reset_draws_new_weights() -> None:
    biaffine = Biaffine(3, 2)
    before = biaffine.weight.detach().clone()
    biaffine.reset_parameters()
    assert not torch.equal(before, biaffine.weight)
