"""The losses of cells where annotation is incomplete."""

from typing import Any, Callable

import pytest
import torch
from torch import Tensor

from spacy_spanner.models.blocks.cell_losses import (
    focal_binary_cross_entropy,
    focal_cross_entropy,
    log_unsaid,
    log_unsaid_binary,
    sparse_binary_cross_entropy,
    sparse_soft_cross_entropy,
)
from spacy_spanner.models.diffusion.loss import class_loss

LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.3, 1.2, -0.4]])
ENTRY = torch.tensor([1]), torch.tensor([0]), torch.tensor([0.75])
TARGET = torch.tensor([0, 2])
ONES = torch.ones(2)

LOSSES = {
    "soft": lambda x, m: sparse_soft_cross_entropy(x, *ENTRY, 0.1, missing=m),
    "binary": lambda x, m: sparse_binary_cross_entropy(
        x[:, 1:], *ENTRY, 0.1, missing=m
    ),
    "focal": lambda x, m: focal_cross_entropy(x, TARGET, ONES, 2.0, m),
    "focal_binary": lambda x, m: focal_binary_cross_entropy(
        x[:, 0], TARGET > 0, ONES, 2.0, None if m is None else m[:, 0]
    ),
    "diffusion": lambda x, m: class_loss(
        x[None], TARGET[None], 0.7, None if m is None else m[None]
    ),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_nothing_missing_is_complete_annotation(loss: Callable[..., Tensor]) -> None:
    results: Any = []
    for missing in (None, torch.zeros(2, 2)):
        logits = LOGITS.clone().requires_grad_(True)
        value = loss(logits, missing)
        value.backward()
        results.append((value.detach(), logits.grad))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_everything_missing_teaches_nothing_where_nothing_is_said(
    loss: Callable[..., Tensor],
) -> None:
    if loss is LOSSES["soft"] or loss is LOSSES["binary"]:
        pytest.skip("label smoothing pulls all scores together")
    logits = LOGITS.clone().requires_grad_(True)
    loss(logits, torch.ones(2, 2)).backward()
    assert logits.grad is not None
    assert logits.grad[0].abs().max() < 1e-6  # nothing is annotated there
    assert logits.grad[1].abs().max() > 1e-2


def test_probability_that_nothing_is_annotated() -> None:
    log_p = LOGITS.log_softmax(dim=-1)
    p = log_p.exp()
    missing = torch.tensor([[0.5, 0.0], [1.0, 0.25]])
    expected = p[:, 0] + (missing * p[:, 1:]).sum(dim=1)
    torch.testing.assert_close(log_unsaid(log_p, missing).exp(), expected)
    q = LOGITS[:, 1:].sigmoid()
    unsaid = log_unsaid_binary(LOGITS[:, 1:], missing).exp()
    torch.testing.assert_close(unsaid, 1 - q + missing * q)


def test_the_right_share_finds_the_true_probability() -> None:
    """A quarter of equal cells is annotated; if half is missing, half are entities."""
    logit = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([logit], max_iter=100)
    cell, label, mass = torch.tensor([0]), torch.tensor([0]), torch.ones(1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        logits = torch.stack([torch.zeros(4), logit.expand(4)], dim=1)
        missing = torch.full((4, 1), 0.5)
        loss = sparse_soft_cross_entropy(logits, cell, label, mass, missing=missing)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert float(logit.detach().sigmoid()) == pytest.approx(0.5, abs=1e-3)
