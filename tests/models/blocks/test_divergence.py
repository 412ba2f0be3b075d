"""How far two passes disagree."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.blocks.divergence import (
    Scored,
    disagreement,
    yes_or_no_scores,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def divergence(one: Tensor, two: Tensor) -> Tensor:
    """KL(p, q) of each row."""
    p, q = one.log_softmax(dim=-1), two.log_softmax(dim=-1)
    return F.kl_div(q, p, log_target=True, reduction="none").sum(dim=-1)


def test_disagreement_is_the_mean_divergence_of_both_directions() -> None:
    one, two = draw(4, 5, 3), draw(4, 5, 3, seed=1)
    expected = (divergence(one, two) + divergence(two, one)).sum() / 2
    torch.testing.assert_close(disagreement([Scored(one)], [Scored(two)]), expected)


def test_disagreement_adds_up_all_scores_by_the_weights_of_the_first() -> None:
    one, two, weight = draw(4, 3), draw(4, 3, seed=1), draw(4, seed=2)
    rows = (divergence(one, two) + divergence(two, one)) / 2
    first = [Scored(one, weight), Scored(one, 2.0)]
    found = disagreement(first, [Scored(two, 7.0), Scored(two, 7.0)])
    torch.testing.assert_close(found, (rows * weight).sum() + 2 * rows.sum())


def test_logits_of_a_sigmoid_are_two_classes() -> None:
    one, two = draw(6), draw(6, seed=1)
    p, q = one.sigmoid(), two.sigmoid()
    both = [(p, q), (1 - p, 1 - q)]
    expected = sum(((a - b) * (a.log() - b.log())).sum() / 2 for a, b in both)
    found = disagreement([yes_or_no_scores(one)], [yes_or_no_scores(two)])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_passes_that_agree_have_no_disagreement(scale: float) -> None:
    scores = scale * draw(4, 3)
    assert disagreement([Scored(scores)], [Scored(scores + 5)]).abs() < 1e-9


def test_disagreement_has_exact_gradients() -> None:
    def run(one: Tensor, two: Tensor) -> Tensor:
        return disagreement([Scored(one)], [Scored(two)])

    inputs = [draw(3, 4, seed=seed).requires_grad_() for seed in (0, 1)]
    assert torch.autograd.gradcheck(run, inputs)


def test_passes_with_other_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        disagreement([Scored(draw(2, 3))], [])
