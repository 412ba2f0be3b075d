"""The losses of pointers and classes, and the costs of matching, by hand."""

import math
from typing import List

import pytest
import torch
from torch import Tensor

from spacy_spanner.models.blocks.padded_rows import GoldTensors
from spacy_spanner.models.diffusion.loss import (
    NOBODY,
    PADDED,
    class_loss,
    exact_classes,
    matched_classes,
    matching_costs,
    pointer_loss,
)
from spacy_spanner.models.diffusion.noise import TokenSpans
from spacy_spanner.models.diffusion.proposals import Proposals

GOLD = GoldTensors(
    start=torch.tensor([[0, 1]]),
    last=torch.tensor([[1, 1]]),
    label=torch.tensor([[1, 0]]),
    mask=torch.tensor([[True, True]]),
)
EMPTY = GOLD._replace(mask=torch.tensor([[False, False]]))


def spans(*pairs: tuple) -> TokenSpans:
    start, last = zip(*pairs)
    return TokenSpans(torch.tensor([start]), torch.tensor([last]))


def test_exact_classes_need_both_boundaries() -> None:
    classes = exact_classes(spans((0, 1), (1, 1), (0, 0), (1, 2)), GOLD)
    assert classes.tolist() == [[2, 1, 0, 0]]


def test_exact_classes_ignore_padded_gold() -> None:
    assert exact_classes(spans((0, 1)), EMPTY).tolist() == [[0]]


def test_matched_classes_are_those_of_the_gold() -> None:
    matched = torch.tensor([[1, NOBODY, 0]])
    assert matched_classes(matched, GOLD).tolist() == [[1, 0, 2]]


def test_class_loss_is_the_weighted_sum() -> None:
    classes = torch.tensor([[[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]]).log()
    target = torch.tensor([[0, 1, PADDED]])
    loss = class_loss(classes, target, 0.25)
    assert loss.item() == pytest.approx(-0.25 * math.log(0.5) - math.log(0.8))


PROBABILITIES = torch.tensor([[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]])


def test_pointer_loss_of_the_softmax() -> None:
    loss = pointer_loss(
        PROBABILITIES.log(),
        torch.tensor([[0, 2]]),
        torch.ones(1, 3, dtype=torch.bool),
        "softmax",
    )
    assert loss[0].tolist() == pytest.approx([-math.log(0.7), -math.log(0.4)])


def test_pointer_loss_of_the_sigmoid_counts_real_tokens_only() -> None:
    mask = torch.tensor([[True, True, False]])
    loss = pointer_loss(PROBABILITIES.logit(), torch.tensor([[0, 1]]), mask, "sigmoid")
    expected = [-math.log(0.7) - math.log(0.8), -math.log(0.7) - math.log(0.3)]
    assert loss[0].tolist() == pytest.approx(expected)


def proposals() -> Proposals:
    start, last = PROBABILITIES.log(), PROBABILITIES.flip(-1).log()
    return Proposals(spans((0, 0), (0, 0)), start, last, "softmax", start)


def costs(classes: Tensor | None) -> List[float]:
    return matching_costs(proposals(), classes, GOLD).flatten().tolist()


def test_matching_costs_add_the_probabilities_of_both_boundaries() -> None:
    # Gold (0, 1) and (1, 1); last is read from the right.
    assert costs(None) == pytest.approx([-0.9, -0.4, -0.6, -0.6])


def test_matching_costs_of_the_paper_add_that_of_the_class() -> None:
    classes = torch.tensor([[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]]).log()
    # Gold labels 1 and 0.
    assert costs(classes) == pytest.approx([-1.4, -0.7, -0.9, -0.7])
