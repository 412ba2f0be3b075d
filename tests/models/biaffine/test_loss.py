"""The loss of the biaffine codec."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.biaffine.codec import BiaffineCodec

from .helpers import (
    EPSILONS,
    GOLD,
    GivenLogits,
    batch_of,
    dense,
    ideal_logits,
    targets_of,
)


def random_logits(n_cells: int, n_classes: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n_cells, n_classes, generator=generator)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_of_the_softmax_equals_dense_cross_entropy(
    epsilon: float, label_smoothing: float
) -> None:
    codec = BiaffineCodec(epsilon, 2, label_smoothing)
    targets = targets_of(codec, [GOLD["nested"], GOLD["crossing"]], [4, 5])
    logits = random_logits(10 + 15, 3)
    masses = dense(targets)
    wanted = torch.cat([1 - masses.sum(dim=1, keepdim=True), masses], dim=1)
    wanted = (1 - label_smoothing) * wanted + label_smoothing / 3
    expected = -(wanted * logits.log_softmax(dim=1)).sum()
    loss = codec.loss(GivenLogits(logits), batch_of([4, 5]), targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_with_multilabel_equals_dense_binary_cross_entropy(
    epsilon: float, label_smoothing: float
) -> None:
    codec = BiaffineCodec(epsilon, 2, label_smoothing, multilabel=True)
    targets = targets_of(codec, [GOLD["nested"], GOLD["crossing"]], [4, 5])
    logits = random_logits(10 + 15, 3)
    wanted = (1 - label_smoothing) * dense(targets) + label_smoothing / 2
    margins = logits[:, 1:] - logits[:, :1]
    expected = F.binary_cross_entropy_with_logits(margins, wanted, reduction="sum")
    loss = codec.loss(GivenLogits(logits), batch_of([4, 5]), targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_has_no_slope_at_ideal_logits(epsilon: float, multilabel: bool) -> None:
    codec = BiaffineCodec(epsilon, multilabel=multilabel)
    targets = targets_of(codec, [GOLD["nested"]], [5])
    logits = ideal_logits(codec, targets).requires_grad_()
    codec.loss(GivenLogits(logits), batch_of([5]), targets).backward()
    assert logits.grad is not None
    assert logits.grad.abs().max().item() < 1e-5


@pytest.mark.parametrize("multilabel", [False, True])
def test_loss_of_windows_is_the_sum_over_windows(multilabel: bool) -> None:
    codec = BiaffineCodec(multilabel=multilabel)
    gold, lengths = [GOLD["nested"], [], GOLD["crossing"]], [4, 2, 5]
    logits = random_logits(10 + 3 + 15, 3)
    together = codec.loss(
        GivenLogits(logits), batch_of(lengths), targets_of(codec, gold, lengths)
    )
    alone = [
        codec.loss(
            GivenLogits(part), batch_of([length]), targets_of(codec, [rows], [length])
        )
        for part, rows, length in zip(logits.split([10, 3, 15]), gold, lengths)
    ]
    assert together.item() == pytest.approx(
        sum(part.item() for part in alone), rel=1e-5
    )


def test_loss_without_gold_teaches_no_entity() -> None:
    codec = BiaffineCodec()
    targets = targets_of(codec, [[]], [2])
    # Three cells of three equal classes.
    loss = codec.loss(GivenLogits(torch.zeros(3, 3)), batch_of([2]), targets)
    assert loss.item() == pytest.approx(3 * np.log(3))
