"""The fusion of spans and types against the equations, written out cell by cell."""

from typing import Any, Tuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.offset.fusion import SpanTypeFusion

BATCH, TOKEN, LABEL, WIDTH, CLASS = 2, 5, 3, 4, 6
SIZES = [(2, 3), (0, 3), (2, 0), (0, 0)]  # of the embeddings of region and distance


def build(region: int = 2, distance: int = 3, n_distances: int = 3) -> SpanTypeFusion:
    torch.manual_seed(0)
    fusion = SpanTypeFusion(
        WIDTH, CLASS, region=region, distance=distance, n_distances=n_distances
    ).double()
    for parameter in fusion.parameters():  # large enough for every term to matter
        torch.nn.init.normal_(parameter)
    return fusion


def inputs(n_types: int = BATCH) -> Tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.requires_grad_()

    tokens = (BATCH, TOKEN, WIDTH)
    return draw(*tokens), draw(*tokens), draw(n_types, LABEL, WIDTH)


def span_vector(fusion: SpanTypeFusion, x_i: Tensor, x_j: Tensor, gap: int) -> Tensor:
    """Conditional layer norm of x_i by x_j, with the embeddings behind it."""
    mean, variance = x_i.mean(), x_i.var(unbiased=False)
    normed = (x_i - mean) / (variance + 1e-5).sqrt()
    gamma = fusion.scale.weight @ x_j + fusion.scale.bias
    shift = fusion.shift.weight @ x_j + fusion.shift.bias
    parts = [gamma * normed + shift]
    if fusion.region is not None:
        parts.append(fusion.region.weight[int(gap >= 0)])
    if fusion.distance is not None:
        parts.append(
            fusion.distance.weight[min(abs(gap), fusion.distance.num_embeddings - 1)]
        )
    return torch.cat(parts)


def naive_scores(
    fusion: SpanTypeFusion, start: Tensor, last: Tensor, types: Tensor
) -> Tensor:
    """Biaffine scores of each span vector with each type vector."""
    types = types.expand(len(start), -1, -1)
    one = torch.ones(1, dtype=start.dtype)
    scores = []
    for b in range(BATCH):
        for i in range(TOKEN):
            for j in range(TOKEN):
                vector = span_vector(fusion, start[b, i], last[b, j], j - i)
                for m in range(LABEL):
                    for u in fusion.weight:
                        span, kind = (
                            torch.cat([vector, one]),
                            torch.cat([types[b, m], one]),
                        )
                        scores.append(span @ u @ kind)
    return torch.stack(scores).view(BATCH, TOKEN, TOKEN, LABEL, CLASS)


@pytest.mark.parametrize("n_types", [1, BATCH])
@pytest.mark.parametrize("region,distance", SIZES)
def test_fusion_equals_the_equations_in_values_and_gradients(
    region: int, distance: int, n_types: int
) -> None:
    fusion, leaves = build(region, distance), inputs(n_types)
    weights = torch.randn(BATCH, TOKEN, TOKEN, LABEL, CLASS).double()
    wanted = [*leaves, *fusion.parameters()]
    results: Any = []
    for score in (fusion.forward, lambda *args: naive_scores(fusion, *args)):
        scores = score(*leaves)
        gradients = torch.autograd.grad((scores * weights).sum(), wanted)
        results.append((scores, *gradients))
    for fast, plain in zip(*results):
        torch.testing.assert_close(fast, plain)


def test_fusion_makes_no_tensor_with_a_vector_for_each_pair() -> None:
    sizes = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    width, token = 64, 24
    fusion = SpanTypeFusion(width, CLASS, region=0, distance=0, n_distances=1)
    x, types = torch.randn(1, token, width), torch.randn(1, LABEL, width)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        fusion(x.requires_grad_(), x, types.requires_grad_())
    assert max(sizes) <= token * LABEL * CLASS * width
    assert max(sizes) < LABEL * token * token * width


def test_fusion_scores_start_near_equal() -> None:
    torch.manual_seed(0)
    fusion = SpanTypeFusion(150, CLASS, region=20, distance=20, n_distances=9)
    x, types = torch.randn(1, 8, 150), torch.randn(1, LABEL, 150)
    scores = F.softmax(fusion(x, x, types), dim=-1)
    assert scores.max() < 0.9


def test_fusion_learned_types_are_the_same_in_every_window() -> None:
    fusion = build()
    start, last, types = inputs(n_types=1)
    repeated = types.expand(BATCH, -1, -1)
    torch.testing.assert_close(
        fusion(start, last, types), fusion(start, last, repeated)
    )
