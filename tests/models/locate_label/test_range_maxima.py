"""The table of maxima against the maximum of each span, values and gradients."""

from typing import List, Tuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.locate_label.range_maxima import RangeMaxima

Spans = List[Tuple[int, int, int]]  # window, start, last


def naive(vectors: Tensor, spans: Spans) -> Tensor:
    rows = [
        vectors[window, start : last + 1].amax(dim=0) for window, start, last in spans
    ]
    return torch.stack(rows)


def looked_up(vectors: Tensor, spans: Spans) -> Tensor:
    return RangeMaxima(vectors)(*map(torch.tensor, zip(*spans)))


def every_span(batch: int, n_tokens: int) -> Spans:
    return [
        (window, start, last)
        for window in range(batch)
        for start in range(n_tokens)
        for last in range(start, n_tokens)
    ]


@st.composite
def grids(draw: st.DrawFn) -> Tuple[Tensor, Spans]:
    """Draw vectors without ties, and spans among them in any order, some twice."""
    batch, n_tokens = draw(st.integers(1, 3)), draw(st.integers(1, 17))
    seed = draw(st.integers(0, 1000))
    size = batch * n_tokens * 2
    values = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    spans = draw(
        st.lists(st.sampled_from(every_span(batch, n_tokens)), min_size=1, max_size=30)
    )
    return values.view(batch, n_tokens, 2).double() - size / 2, spans


@given(grids())
def test_range_maxima_equal_naive_values_and_gradients(
    grid: Tuple[Tensor, Spans],
) -> None:
    vectors, spans = grid
    weights = torch.arange(1.0, 2 * len(spans) + 1).view(-1, 2).double()
    gradients = []
    for function in (naive, looked_up):
        leaf = vectors.clone().requires_grad_()
        maxima = function(leaf, spans)
        (maxima * weights).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(looked_up(vectors, spans), naive(vectors, spans))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("n_tokens", [1, 2, 3, 4, 7, 8, 9, 33])
def test_range_maxima_of_every_span(n_tokens: int) -> None:
    generator = torch.Generator().manual_seed(n_tokens)
    vectors = torch.randn(2, n_tokens, 3, generator=generator)
    spans = every_span(2, n_tokens)
    torch.testing.assert_close(looked_up(vectors, spans), naive(vectors, spans))


def test_range_maxima_by_hand() -> None:
    vectors = torch.tensor([[[1.0, -9.0], [3.0, -5.0], [2.0, -7.0]]])
    spans = [(0, 0, 2), (0, 0, 0), (0, 1, 2)]
    assert looked_up(vectors, spans).tolist() == [[3, -5], [1, -9], [3, -5]]


def test_range_maxima_do_not_read_padding() -> None:
    vectors = torch.full((2, 5, 1), float("nan"))
    vectors[0, :5] = vectors[1, :2] = -1.0
    spans = [(0, 0, 4), (1, 0, 1), (1, 1, 1)]
    assert looked_up(vectors, spans).tolist() == [[-1], [-1], [-1]]


def test_range_maxima_of_no_spans_are_empty() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    assert RangeMaxima(torch.zeros(2, 3, 4))(none, none, none).shape == (0, 4)


def test_range_maxima_give_the_gradient_of_a_tie_once() -> None:
    leaf = torch.tensor([[[5.0], [5.0], [1.0]]], requires_grad=True)
    maxima = RangeMaxima(leaf)(*map(torch.tensor, zip((0, 0, 1), (0, 0, 2))))
    (maxima * torch.tensor([[2.0], [3.0]])).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.sum() == 5
    assert leaf.grad[0, 2] == 0


def test_range_maxima_have_the_gradient_of_finite_differences() -> None:
    vectors = torch.randn(2, 6, 3, dtype=torch.double, requires_grad=True)
    spans = list(map(torch.tensor, zip(*every_span(2, 6))))
    assert torch.autograd.gradcheck(lambda leaf: RangeMaxima(leaf)(*spans), vectors)
