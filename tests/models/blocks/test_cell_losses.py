"""Sparse losses against torch's dense ones."""

from typing import Callable, List, Tuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.blocks.cell_losses import (
    focal_binary_cross_entropy,
    focal_cross_entropy,
    sparse_binary_cross_entropy,
    sparse_soft_cross_entropy,
)

N_CELLS, N_LABELS = 5, 3

Entries = List[Tuple[int, int, float]]  # cell, label, mass

ENTRIES = [
    pytest.param([], id="no entity"),
    pytest.param([(2, 1, 1.0)], id="hard"),
    pytest.param([(0, 2, 0.9), (1, 2, 0.05), (4, 0, 0.05)], id="soft"),
    pytest.param([(3, 0, 0.5), (3, 1, 0.25), (3, 2, 0.25)], id="full cell"),
]
SMOOTHING = [0.0, 0.1, 0.5]


def columns(entries: Entries) -> Tuple[Tensor, Tensor, Tensor]:
    cell, label, mass = zip(*entries) if entries else ((), (), ())
    return (
        torch.tensor(cell, dtype=torch.int64),
        torch.tensor(label, dtype=torch.int64),
        torch.tensor(mass, dtype=torch.float64),
    )


def dense(entries: Entries) -> Tensor:
    masses = torch.zeros(N_CELLS, N_LABELS, dtype=torch.float64)
    for cell, label, mass in entries:
        masses[cell, label] = mass
    return masses


def random_logits(n_classes: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(N_CELLS, n_classes, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("entries", ENTRIES)
def test_sparse_soft_cross_entropy_equals_dense(
    entries: Entries, smoothing: float
) -> None:
    logits, masses = random_logits(N_LABELS + 1), dense(entries)
    wanted = torch.cat([1 - masses.sum(dim=1, keepdim=True), masses], dim=1)
    expected = F.cross_entropy(
        logits, wanted, reduction="sum", label_smoothing=smoothing
    )
    loss = sparse_soft_cross_entropy(logits, *columns(entries), smoothing)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("entries", ENTRIES)
def test_sparse_soft_cross_entropy_has_exact_gradients(
    entries: Entries, smoothing: float
) -> None:
    def loss(logits: Tensor) -> Tensor:
        return sparse_soft_cross_entropy(logits, *columns(entries), smoothing)

    assert torch.autograd.gradcheck(loss, random_logits(N_LABELS + 1).requires_grad_())


@pytest.mark.parametrize("entries", ENTRIES)
def test_weights_of_cells_scale_their_losses_and_gradients(entries: Entries) -> None:
    weight = torch.arange(N_CELLS, dtype=torch.float64)

    def loss(logits: Tensor) -> Tensor:
        return sparse_soft_cross_entropy(
            logits, *columns(entries), smoothing=0.1, weight=weight
        )

    logits, masses = random_logits(N_LABELS + 1), dense(entries)
    wanted = torch.cat([1 - masses.sum(dim=1, keepdim=True), masses], dim=1)
    each = F.cross_entropy(logits, wanted, reduction="none", label_smoothing=0.1)
    torch.testing.assert_close(loss(logits), (weight * each).sum())
    assert torch.autograd.gradcheck(loss, logits.requires_grad_())


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("entries", ENTRIES)
def test_sparse_binary_cross_entropy_equals_dense(
    entries: Entries, smoothing: float
) -> None:
    logits = random_logits(N_LABELS)
    wanted = (1 - smoothing) * dense(entries) + smoothing / 2
    expected = F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum")
    loss = sparse_binary_cross_entropy(logits, *columns(entries), smoothing)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("entries", ENTRIES)
def test_sparse_binary_cross_entropy_has_exact_gradients(
    entries: Entries, smoothing: float
) -> None:
    def loss(logits: Tensor) -> Tensor:
        return sparse_binary_cross_entropy(logits, *columns(entries), smoothing)

    assert torch.autograd.gradcheck(loss, random_logits(N_LABELS).requires_grad_())


def test_sparse_soft_cross_entropy_of_equal_logits_by_hand() -> None:
    # Two cells of four equal classes cost log 4 each, whatever the target.
    loss = sparse_soft_cross_entropy(torch.zeros(2, 4), *columns([(0, 1, 0.7)]))
    assert loss.item() == pytest.approx(2 * 1.3862944)


def test_sparse_binary_cross_entropy_of_equal_logits_by_hand() -> None:
    # Two cells of three labels cost log 2 each.
    loss = sparse_binary_cross_entropy(torch.zeros(2, 3), *columns([(0, 1, 0.7)]))
    assert loss.item() == pytest.approx(6 * 0.6931472)


def test_sparse_soft_cross_entropy_of_certain_and_right_logits_is_zero() -> None:
    logits = torch.tensor([[1e3, -1e3], [-1e3, 1e3]])
    loss = sparse_soft_cross_entropy(logits, *columns([(1, 0, 1.0)]))
    assert loss.item() == pytest.approx(0.0, abs=1e-4)


def test_sparse_soft_cross_entropy_of_certain_and_wrong_logits_is_finite() -> None:
    loss = sparse_soft_cross_entropy(torch.tensor([[1e3, -1e3]]), *columns([(0, 0, 1)]))
    assert loss.item() == pytest.approx(2e3)


def test_sparse_binary_cross_entropy_of_extreme_logits_by_hand() -> None:
    # Right and wrong "no", then right and wrong "yes".
    logits = torch.tensor([[-1e3], [1e3], [1e3], [-1e3]])
    loss = sparse_binary_cross_entropy(logits, *columns([(2, 0, 1.0), (3, 0, 1.0)]))
    assert loss.item() == pytest.approx(2e3)


@pytest.mark.parametrize(
    "loss", [sparse_soft_cross_entropy, sparse_binary_cross_entropy]
)
def test_sparse_losses_of_no_cells_are_zero(loss: Callable[..., Tensor]) -> None:
    empty = loss(torch.zeros(0, 4), *columns([]))
    assert empty.item() == 0.0


# ---------------------------------------------------------------------- focal

TARGET = torch.tensor([0, 3, 1, 0, 2])
WEIGHT = torch.tensor([1.0, 0.5, 0.0, 2.0, 1.0], dtype=torch.float64)


def test_focal_cross_entropy_without_focus_equals_torch() -> None:
    logits = random_logits(4)
    expected = F.cross_entropy(logits, TARGET, reduction="none") @ WEIGHT
    found = focal_cross_entropy(logits, TARGET, WEIGHT)
    torch.testing.assert_close(found, expected)


def test_focal_binary_cross_entropy_without_focus_equals_torch() -> None:
    logits, positive = random_logits(1)[:, 0], TARGET > 0
    expected = F.binary_cross_entropy_with_logits(
        logits, positive.double(), WEIGHT, reduction="sum"
    )
    found = focal_binary_cross_entropy(logits, positive, WEIGHT)
    torch.testing.assert_close(found, expected)


def test_focal_cross_entropy_by_hand() -> None:
    # Probabilities 1/4 and 3/4 of the target; -log 1/4 is 1.386, -log 3/4 is 0.288.
    logits = torch.tensor([[0.0, 1.0986123], [1.0986123, 0.0]])
    weight = torch.tensor([1.0, 2.0])
    found = focal_cross_entropy(logits, torch.tensor([0, 0]), weight, 2.0)
    expected = (3 / 4) ** 2 * 1.3862944 + 2 * (1 / 4) ** 2 * 0.2876821
    assert found.item() == pytest.approx(expected)


def test_focal_binary_cross_entropy_is_that_of_two_classes() -> None:
    logits, positive = random_logits(1)[:, 0], TARGET > 0
    pairs = torch.stack([torch.zeros_like(logits), logits], dim=1)
    found = focal_binary_cross_entropy(logits, positive, WEIGHT, 1.5)
    expected = focal_cross_entropy(pairs, positive.long(), WEIGHT, 1.5)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_focal_losses_have_exact_gradients(gamma: float) -> None:
    def run(logits: Tensor) -> Tensor:
        binary = focal_binary_cross_entropy(logits[:, 0], TARGET > 0, WEIGHT, gamma)
        return binary + focal_cross_entropy(logits, TARGET, WEIGHT, gamma)

    assert torch.autograd.gradcheck(run, random_logits(4).requires_grad_())


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_losses_of_certain_logits_have_finite_gradients(gamma: float) -> None:
    logits = torch.tensor([[1e3, -1e3], [1e3, -1e3]], requires_grad=True)
    target, weight = torch.tensor([0, 1]), torch.ones(2)
    loss = focal_cross_entropy(logits, target, weight, gamma)
    assert loss.item() == pytest.approx(2e3)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()
    assert gradient[1].tolist() == pytest.approx([1.0, -1.0])
