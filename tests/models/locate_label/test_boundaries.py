"""Overlap, weights, adjusted boundaries and the loss of the regressor, by hand."""

from math import inf, nan
from typing import List, Tuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.locate_label.boundaries import adjust, distinct, overlap
from spacy_spanner.models.locate_label.losses import regression_loss, soft_weights
from spacy_spanner.models.locate_label.module import Spans
from spacy_spanner.spans.geometry import iou

Interval = Tuple[float, float]


def spans_of(rows: List[Tuple[int, int, int]]) -> Spans:
    """Make spans of window, start and last."""
    return Spans(*torch.tensor(rows, dtype=torch.int64).view(-1, 3).T)


def rows_of(spans: Spans) -> List[Tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in spans)))


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ------------------------------------------------------------------- overlap


@pytest.mark.parametrize(
    "one, two, expected",
    [
        ((0, 4), (0, 4), 1.0),
        ((0, 4), (2, 6), 2 / 6),
        ((0, 6), (2, 4), 2 / 6),
        ((0, 2), (2, 4), 0.0),
        ((0, 2), (3, 5), -1 / 5),
        ((0, 1), (9, 10), -8 / 10),
        ((0.5, 2), (1, 3), 1 / 2.5),
    ],
)
def test_overlap_by_hand(one: Interval, two: Interval, expected: float) -> None:
    for first, second in ((one, two), (two, one)):
        shared = overlap(*map(torch.tensor, (*first, *second)))
        assert shared.item() == pytest.approx(expected)


spans = st.tuples(st.integers(0, 20), st.integers(1, 20))


@given(spans, spans)
def test_overlap_that_is_not_negative_is_iou(
    one: Tuple[int, int], two: Tuple[int, int]
) -> None:
    (start, width), (starts, widths) = one, two
    columns = (start, start + width, starts, starts + widths)
    expected = iou(*columns)  # type: ignore[arg-type]
    found = overlap(*map(torch.tensor, columns)).clamp(min=0)
    assert found.item() == pytest.approx(float(expected))


# ------------------------------------------------------------------- weights


def test_soft_weights_by_hand() -> None:
    iou = numbers(1.0, 0.8, 0.6, 0.25, 0.0)
    positive = torch.tensor([True, True, False, False, False])
    expected = numbers(1.0, 0.8, 0.4, 0.75, 1.0)
    torch.testing.assert_close(soft_weights(iou, positive, 1.0), expected)
    torch.testing.assert_close(soft_weights(iou, positive, 2.0), expected**2)


def test_soft_weights_with_eta_zero_are_one() -> None:
    iou = numbers(1.0, 0.7, 1.0, 0.3, 0.0)
    positive = torch.tensor([True, True, False, False, False])
    assert soft_weights(iou, positive, 0.0).tolist() == [1.0] * 5


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 3.0])
def test_soft_weights_of_clear_examples_are_one(eta: float) -> None:
    weights = soft_weights(numbers(1.0, 0.0), torch.tensor([True, False]), eta)
    assert weights.tolist() == [1, 1]


# ---------------------------------------------------------------- adjustment


@pytest.mark.parametrize(
    "offset, expected",
    [
        ((0.0, 0.0), (2, 3)),
        ((0.4, -0.4), (2, 3)),
        ((0.5, 0.5), (3, 4)),
        ((-0.5, -0.5), (2, 3)),
        ((-0.6, 1.6), (1, 5)),
        ((-9.0, 9.0), (0, 5)),
        ((-9.0, -9.0), (2, 3)),
        ((9.0, 9.0), (2, 3)),
        ((2.0, 0.0), (2, 3)),
        ((1.0, 0.0), (3, 3)),
        ((-1e20, 1e20), (0, 5)),
        ((nan, nan), (2, 3)),
        ((nan, 0.0), (2, 3)),
        ((0.0, nan), (2, 3)),
        ((inf, -inf), (2, 3)),
    ],
)
def test_adjust_by_hand(offset: Interval, expected: Tuple[int, int]) -> None:
    given = spans_of([(0, 2, 3)])
    moved = adjust(given, torch.tensor([offset]), torch.tensor([6]))
    assert rows_of(moved) == [(0, *expected)]


def test_adjust_counts_tokens_exactly_in_half_precision() -> None:
    given = spans_of([(0, 300, 301), (0, 511, 511)])
    offsets = torch.tensor([[0.0, 1.0], [-2.0, 0.0]], dtype=torch.bfloat16)
    moved = adjust(given, offsets, torch.tensor([512]))
    assert rows_of(moved) == [(0, 300, 302), (0, 509, 511)]


def test_adjust_ends_at_each_window_not_at_the_padding() -> None:
    given = spans_of([(0, 0, 1), (1, 0, 1)])
    moved = adjust(given, torch.tensor([[0.0, 7.0]] * 2), torch.tensor([6, 3]))
    assert rows_of(moved) == [(0, 0, 5), (1, 0, 2)]


def test_distinct_lists_each_span_once_in_order() -> None:
    given = spans_of([(1, 0, 4), (0, 2, 3), (1, 0, 4), (0, 0, 4), (0, 2, 2)])
    expected = [(0, 0, 4), (0, 2, 2), (0, 2, 3), (1, 0, 4)]
    assert rows_of(distinct(given, n_tokens=5)) == expected


def test_distinct_of_none() -> None:
    assert rows_of(distinct(spans_of([]), n_tokens=5)) == []


# ---------------------------------------------------------------------- loss


def loss_of(offset: Interval, gold: Tuple[int, int], weight: float = 1.0) -> float:
    """Move the seed (2, 4) and compare it with a gold span."""
    start, end = (torch.tensor([boundary]) for boundary in gold)
    given = spans_of([(0, 2, 3)])
    offsets = numbers(*offset)[None]
    return regression_loss(given, offsets, start, end, numbers(weight)).item()


def test_regression_loss_of_the_right_offsets_is_zero() -> None:
    assert loss_of((-1.0, 2.0), (1, 6)) == 0


def test_regression_loss_by_hand() -> None:
    # Both boundaries wrong by 1 and 2 tokens: 0.5 and 1.5; 2 of 5 tokens are shared.
    assert loss_of((0.0, 0.0), (1, 6)) == pytest.approx(0.5 + 1.5 + 1 - 2 / 5)


def test_regression_loss_of_fractions_by_hand() -> None:
    # Wrong by a half: 0.125; (2.5, 4) and (2, 4) share 1.5 of 2 tokens.
    assert loss_of((0.5, 0.0), (2, 4)) == pytest.approx(0.125 + 1 - 1.5 / 2)


def test_regression_loss_is_weighted() -> None:
    assert loss_of((0.0, 0.0), (1, 6), 0.25) == pytest.approx(
        loss_of((0.0, 0.0), (1, 6)) / 4
    )


def test_regression_loss_of_no_spans_is_zero() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    empty = regression_loss(spans_of([]), torch.zeros(0, 2), none, none, torch.zeros(0))
    assert empty.item() == 0


def test_regression_loss_has_exact_gradients() -> None:
    given = spans_of([(0, 2, 3), (0, 0, 4), (1, 1, 1)])
    start, end = torch.tensor([1, 0, 7]), torch.tensor([6, 4, 9])
    offsets = numbers(0.3, -0.2, 0.7, 1.4, -1.6, 0.1).view(3, 2).requires_grad_()

    def run(values: Tensor) -> Tensor:
        return regression_loss(given, values, start, end, numbers(1.0, 0.5, 2.0))

    assert torch.autograd.gradcheck(run, offsets)


@given(st.integers(0, 5), st.integers(1, 5), spans)
def test_adjust_by_the_exact_offsets_gives_the_gold(
    start: int, width: int, seed: Tuple[int, int]
) -> None:
    first, size = seed
    given_seed = spans_of([(0, first, first + size - 1)])
    offsets = torch.tensor([[start - first, width + start - first - size]]).float()
    moved = adjust(given_seed, offsets, torch.tensor([40]))
    assert rows_of(moved) == [(0, start, start + width - 1)]
