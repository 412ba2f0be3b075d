"""The paper's equations, written out with loops, against the recipe that has them."""

from itertools import product
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset.codec import OffsetCodec
from spacy_spanner.models.offset.convolution import FullGridConvolution
from spacy_spanner.models.offset.module import OffsetModule, OffsetSettings
from spacy_spanner.models.offset.offsets import OffsetClasses
from spacy_spanner.models.offset.span_vectors import BiaffineFusion, SpanVectors
from spacy_spanner.spans.table import SpanTable

WIDTH, TOKEN, LABEL = 4, 4, 3
PAPER: Dict[str, Any] = {
    "type_inputs": True,
    "type_embeddings": False,
    "type_lstm": True,
    "span_network": True,
    "lstm_width": 6,
    "hidden_width": 5,
    "region_embedding": 2,
    "distance_embedding": 0,
    "conv_kind": "full",
    "conv_residual": False,
    "conv_layers": 2,
    "conv_types": True,
    "dropout": 0.0,
    "input_dropout": 0.0,
}


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def randomized(module: Any) -> Any:
    """Weights that are large enough for every term to matter."""
    torch.manual_seed(0)
    for parameter in module.double().parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def assert_equal_with_gradients(
    fast: Tensor, plain: Tensor, wanted: Sequence[Tensor]
) -> None:
    torch.testing.assert_close(fast, plain)
    weights = draw(*fast.shape, seed=9)
    for one, two in zip(
        torch.autograd.grad((fast * weights).sum(), wanted),
        torch.autograd.grad((plain * weights).sum(), wanted),
    ):
        torch.testing.assert_close(one, two)


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))


def span_vector(layer: SpanVectors, x_i: Tensor, x_j: Tensor, gap: int) -> Tensor:
    """Equation 1, the embedding of the region, Equation 2."""
    deviation = ((x_i - x_i.mean()).square().mean() + 1e-5).sqrt()
    gamma = layer.scale.weight @ x_j + layer.scale.bias
    shift = layer.shift.weight @ x_j + layer.shift.bias
    parts = [gamma * (x_i - x_i.mean()) / deviation + shift]
    if layer.region is not None:
        parts.append(layer.region.weight[1 if gap >= 0 else 0])
    if layer.distance is not None:
        parts.append(layer.distance.weight[min(abs(gap), 2)])
    linear = layer.network.linear
    return gelu(linear.weight @ torch.cat(parts) + linear.bias)


@pytest.mark.parametrize("region,distance", [(2, 0), (0, 0), (2, 3)])
def test_equations_1_and_2_span_vectors(region: int, distance: int) -> None:
    layer = randomized(
        SpanVectors(
            WIDTH, 5, region=region, distance=distance, n_distances=3, dropout=0.2
        )
    ).eval()
    tokens = draw(2, TOKEN, WIDTH).requires_grad_()
    plain = [
        span_vector(layer, window[i], window[j], j - i)
        for window in tokens
        for i in range(TOKEN)
        for j in range(TOKEN)
    ]
    assert_equal_with_gradients(
        layer(tokens),
        torch.stack(plain).view(2, TOKEN, TOKEN, 5),
        [tokens, *layer.parameters()],
    )


def test_equation_3_biaffine_of_span_and_type() -> None:
    n_classes = 6
    fusion = randomized(BiaffineFusion(WIDTH, n_classes))
    spans = draw(2, TOKEN, TOKEN, WIDTH).requires_grad_()
    types = draw(2, LABEL, WIDTH, seed=1).requires_grad_()
    weight = fusion.weight
    bilinear, bias = weight[:, :-1, :-1], weight[:, -1, -1]
    linear = torch.cat([weight[:, :-1, -1], weight[:, -1, :-1]], dim=1)
    plain = torch.stack(
        [
            torch.stack(
                [
                    spans[b, i, j] @ bilinear[c] @ types[b, m]
                    + linear[c] @ torch.cat([spans[b, i, j], types[b, m]])
                    + bias[c]
                    for c in range(n_classes)
                ]
            )
            for b in range(2)
            for i in range(TOKEN)
            for j in range(TOKEN)
            for m in range(LABEL)
        ]
    ).view(2, TOKEN, TOKEN, LABEL, n_classes)
    assert_equal_with_gradients(fusion(spans, types), plain, [spans, types, weight])


def convolve(layer: Any, grid: Tensor, dilation: int) -> Tensor:
    """A 3 x 3 x 3 kernel over (type, start, last), cell by cell."""
    sizes = tuple(grid.shape[1:])
    cells: List[Tensor] = []
    for weight, bias in zip(layer.weight, layer.bias):
        for cell in product(*map(range, sizes)):
            total = bias
            for move in product((-1, 0, 1), repeat=3):
                m, i, j = (at + dilation * step for at, step in zip(cell, move))
                if 0 <= m < sizes[0] and 0 <= i < sizes[1] and 0 <= j < sizes[2]:
                    dm, di, dj = (step + 1 for step in move)
                    total = total + weight[:, dm, di, dj] @ grid[:, m, i, j]
            cells.append(total)
    return torch.stack(cells).view(-1, *sizes)


@pytest.mark.parametrize("residual", [False, True])
def test_equations_4_and_5_convolutions_over_types_and_boundaries(
    residual: bool,
) -> None:
    n_classes, n_tokens = 2, 3
    layer = randomized(
        FullGridConvolution(
            n_classes, n_layers=2, types=True, residual=residual, dropout=0.2
        )
    ).eval()
    scores = draw(1, n_tokens, n_tokens, LABEL, n_classes).requires_grad_()
    mask = torch.ones(1, n_tokens, n_tokens, dtype=torch.bool)
    grid = scores[0].permute(3, 2, 0, 1)  # class, type, start, last
    first = gelu(convolve(layer.layers[0], grid, 1))
    second = gelu(convolve(layer.layers[1], first, 2))
    joined = torch.cat([first, second]).permute(2, 3, 1, 0)
    plain = joined @ layer.outer.weight.T + layer.outer.bias
    if residual:
        plain = plain + scores[0]
    assert_equal_with_gradients(
        layer(scores, mask), plain[None], [scores, *layer.parameters()]
    )


def test_full_convolution_does_not_read_padding() -> None:
    layer = randomized(
        FullGridConvolution(2, n_layers=2, types=True, residual=False, dropout=0.0)
    )
    scores = draw(1, 4, 4, LABEL, 2)
    real = torch.arange(4) < 3
    mask = (real[:, None] & real[None, :])[None]
    garbage = scores.masked_fill(~mask[..., None, None], 1e3)
    alone = layer(scores[:, :3, :3], mask[:, :3, :3])
    torch.testing.assert_close(layer(garbage, mask)[:, :3, :3], alone)


def paper_batch(lengths: Sequence[int]) -> WindowBatch:
    vectors = draw(len(lengths), max(lengths), WIDTH)
    types = draw(len(lengths), LABEL, WIDTH, seed=1)
    batch = WindowBatch(vectors, np.asarray(lengths), types)
    return batch._replace(vectors=vectors * batch.mask[:, :, None])


def paper_module() -> OffsetModule:
    module = OffsetModule(WIDTH, LABEL, OffsetSettings(**PAPER))
    return randomized(module).eval()


def test_types_are_what_the_lstm_makes_of_the_encoders_vectors() -> None:
    module, batch = paper_module(), paper_batch([TOKEN])
    assert batch.types is not None and module.type_projection is not None
    sequence = torch.cat([batch.types[0], batch.vectors[0]])[None]
    read, _ = module.lstm.lstm(sequence)
    types, tokens = read[:, :LABEL], read[:, LABEL:]
    linear = module.type_projection.linear
    types = gelu(types @ linear.weight.T + linear.bias)
    scores = module.fusion(module.spans(tokens), types)
    mask = torch.ones(1, TOKEN, TOKEN, dtype=torch.bool)
    assert module.convolution is not None
    torch.testing.assert_close(module(batch), module.convolution(scores, mask))


def class_of(
    cell: Tuple[int, int], gold: Sequence[Tuple[int, int]], names: List[str], size: int
) -> int:
    """0 out of range, 1 center, else the smallest offset to a gold span."""
    if cell in gold:
        return 1
    found = [
        2 + names[1:].index(name)
        for start, last in gold
        for name in names[1:]
        for moved in [int(name[:-1])]
        if abs(moved) <= size
        and cell
        == ((start + moved, last) if name.endswith("S") else (start, last + moved))
    ]
    return min(found, default=0)


class Given(torch.nn.Module):
    """A module with given scores."""

    def __init__(self, scores: Tensor, classes: OffsetClasses) -> None:
        super().__init__()
        self.scores, self.classes = scores, classes

    def forward(self, batch: WindowBatch) -> Tensor:
        return self.scores


@pytest.mark.parametrize("cells", ["grid", "mirrored_grid"])
def test_equation_7_is_the_mean_over_types_and_the_whole_grid(cells: str) -> None:
    classes, lengths = OffsetClasses(2, "both"), [4, 3]
    gold = [[(0, 2, 0), (1, 2, 0), (3, 4, 1)], [(1, 3, 2)]]
    scores = draw(2, 4, 4, LABEL, classes.n_classes).requires_grad_()
    codec = OffsetCodec(loss_cells=cells, boundary_smoothing=0.0)
    batch = WindowBatch(torch.zeros(2, 4, 1), np.asarray(lengths))
    targets = codec.targets(
        [SpanTable.of(rows) for rows in gold],
        batch.lengths,
        rng=np.random.default_rng(),
    )
    total = torch.zeros((), dtype=torch.float64)
    for window, length in enumerate(lengths):
        terms = []
        for m in range(LABEL):
            spans = [
                (start, end - 1) for start, end, label in gold[window] if label == m
            ]
            for i in range(length):
                for j in range(length):
                    cell = (i, j)
                    if i > j:
                        cell = (j, i) if cells == "mirrored_grid" else (-9, -9)
                    right = class_of(cell, spans, classes.names, 2)
                    p = F.softmax(scores[window, i, j, m], dim=0)[right]
                    terms.append(-p.log())
        total = total + torch.stack(terms).sum() / (LABEL * length**2)
    loss = codec.loss(Given(scores, classes), batch, targets)
    assert_equal_with_gradients(loss, total, [scores])


def test_argmax_decides_by_the_most_probable_class() -> None:
    classes = OffsetClasses(1, "both")
    shares = torch.full((1, 1, 1, LABEL, classes.n_classes), 0.01)
    shares[0, 0, 0, 0, :2] = torch.tensor([0.55, 0.41])  # out of range wins
    shares[0, 0, 0, 1, :2] = torch.tensor([0.30, 0.31])  # the center, barely
    shares[0, 0, 0, 2, :3] = torch.tensor([0.20, 0.35, 0.40])  # an offset
    module = Given(shares.log(), classes)
    batch = WindowBatch(torch.zeros(1, 1, 1), np.asarray([1]))

    def labels(decision: str, threshold: float) -> List[int]:
        codec = OffsetCodec(decision=decision)
        found = codec.candidates(module, batch, torch.full((LABEL,), threshold))
        return found.label.tolist()

    assert labels("argmax", 0.0) == [1]
    assert labels("argmax", 0.5) == []
    assert labels("threshold", 0.3) == [0, 1, 2]
