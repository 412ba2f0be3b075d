"""Convolutions over the grid of spans."""

from typing import List

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from spacy_spanner.models.biaffine.span_convolution import (
    KEPT_PER_LAYER,
    SpanConvolution,
)
from spacy_spanner.models.codec import WindowBatch

from ...devices.kept import count, head_of
from .test_module import build, cells, scores, windows

WIDTH, N_CLASSES = 3, 2


def convolution(n_layers: int = 2) -> SpanConvolution:
    torch.manual_seed(0)
    module = SpanConvolution(WIDTH, N_CLASSES, n_layers)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.double()


def grid(*lengths: int) -> Tensor:
    longest = max(lengths)
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), longest, longest, WIDTH)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def spans_of(*lengths: int) -> Tensor:
    real = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return (real[:, :, None] & real[:, None, :]).triu()


def plain(module: SpanConvolution, vectors: Tensor, length: int) -> Tensor:
    """Span by span: the neighbours are looked up, those that are no spans are zero."""
    state = {(i, j): vectors[i, j] for i in range(length) for j in range(i, length)}
    for layer, norm in zip(module.layers, module.norms):
        after = {}
        for i, j in state:
            total = layer.bias
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    near = state.get((i + down, j + right))
                    if near is not None:
                        total = total + layer.weight[:, :, down + 1, right + 1] @ near
            after[i, j] = state[i, j] + F.gelu(norm(total))
        state = after
    rows = [module.outer.weight @ x + module.outer.bias for x in state.values()]
    return torch.stack(rows)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_convolution_equals_a_loop_over_spans(n_layers: int) -> None:
    module, vectors, spans = convolution(n_layers), grid(5), spans_of(5)
    found = module(vectors, spans)[spans]
    torch.testing.assert_close(found, plain(module, vectors[0], 5))


def test_convolution_reads_neither_padding_nor_what_is_no_span() -> None:
    module, vectors, spans = convolution(), grid(5, 2), spans_of(5, 2)
    changed = vectors.where(spans[..., None], 1e3)
    torch.testing.assert_close(
        module(changed, spans)[spans], module(vectors, spans)[spans]
    )


def test_convolution_lets_a_span_depend_on_those_around_it() -> None:
    module, vectors, spans = convolution(1), grid(4), spans_of(4)
    changed = vectors.clone()
    changed[0, 1, 2] += 1
    moved = (module(changed, spans) - module(vectors, spans)).abs().sum(-1)[0] > 1e-9
    near = [(i, j) for i in (0, 1, 2) for j in (1, 2, 3) if i <= j]
    assert {tuple(cell) for cell in (moved & spans[0]).nonzero().tolist()} == set(near)


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    n_layers=st.integers(1, 3),
)
def test_scores_of_a_window_are_the_same_in_every_batch(
    lengths: List[int], n_layers: int
) -> None:
    module, batch = build(conv_layers=n_layers).eval(), windows(lengths)
    with torch.no_grad():
        together = scores(module, batch)
        alone = [
            scores(module, WindowBatch(batch.vectors[[row], :n], np.asarray([n])))
            for row, n in enumerate(lengths)
        ]
    torch.testing.assert_close(together, torch.cat(alone))


def test_module_in_training_and_in_prediction_computes_the_same() -> None:
    """Prediction divides the windows, so that they stay in the cache."""
    module, batch = build(conv_layers=2).eval(), windows([300, 280, 5])
    spans = cells(batch.lengths)
    with torch.no_grad():
        predicted = module(batch, *spans)
    torch.testing.assert_close(predicted, module(batch, *spans).detach())


@pytest.mark.parametrize("n_layers", [1, 3])
def test_module_counts_what_it_keeps(n_layers: int) -> None:
    head = head_of("span_biaffine", conv_layers=n_layers, conv_width=16)
    assert head.module.scores_per_pair == 5 + 16 * (2 + KEPT_PER_LAYER * n_layers)
    # In shorter windows, what each token needs is more.
    assert 0.8 <= count(head, 256).kept / 4 / head.cells(256) <= 1.3
