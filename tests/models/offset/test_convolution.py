"""The grid convolution against torch's three-dimensional one."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.offset.convolution import (
    DepthwiseConvolution,
    GridConvolution,
)

WIDTH = 3
SHAPE = (2, 5, 5, 4, WIDTH)  # batch, start, last, label, width


def draw(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def build(dilation: int = 1, types: bool = True) -> DepthwiseConvolution:
    torch.manual_seed(0)
    layer = DepthwiseConvolution(WIDTH, dilation=dilation, types=types).double()
    torch.nn.init.normal_(layer.bias)
    return layer


def plain(layer: DepthwiseConvolution, hidden: Tensor) -> Tensor:
    """The depthwise convolution over (type, start, last) as torch offers it."""
    step, depth = layer.dilation, layer.weight.shape[1]
    output = F.conv3d(
        hidden.permute(0, 4, 3, 1, 2),
        layer.weight[:, None],
        layer.bias,
        padding=(step if depth > 1 else 0, step, step),
        dilation=step,
        groups=WIDTH,
    )
    return output.permute(0, 3, 4, 2, 1)


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("n_labels", [1, 2, 4])
def test_depthwise_equals_conv3d_in_values_and_gradients(
    n_labels: int, types: bool, dilation: int
) -> None:
    layer, hidden = build(dilation, types), draw(2, 5, 5, n_labels, WIDTH)
    hidden.requires_grad_()
    weights = draw(*hidden.shape, seed=2)
    wanted = [hidden, *layer.parameters()]
    fast, slow = layer(hidden), plain(layer, hidden)
    torch.testing.assert_close(fast, slow)
    for one, two in zip(
        torch.autograd.grad((fast * weights).sum(), wanted),
        torch.autograd.grad((slow * weights).sum(), wanted),
    ):
        torch.testing.assert_close(one, two)


def grid(types: bool = True, n_layers: int = 2) -> GridConvolution:
    torch.manual_seed(0)
    module = GridConvolution(
        WIDTH, n_layers=n_layers, width=4, types=types, dropout=0.0
    )
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()


def inside(*lengths: int) -> Tensor:
    real = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return real[:, :, None] & real[:, None, :]


def test_grid_starts_close_to_the_identity() -> None:
    module = GridConvolution(
        WIDTH, n_layers=2, width=4, types=True, dropout=0.0
    ).double()
    scores = draw(*SHAPE)
    torch.testing.assert_close(module(scores, inside(5, 5)), scores, atol=0.05, rtol=0)


@pytest.mark.parametrize("types", [True, False])
def test_grid_does_not_read_padding(types: bool) -> None:
    module, scores, mask = grid(types), draw(*SHAPE), inside(5, 3)
    padded = torch.where(mask[..., None, None], scores, 1e3)
    torch.testing.assert_close(module(padded, mask)[mask], module(scores, mask)[mask])


@pytest.mark.parametrize("types", [True, False])
def test_grid_corrects_a_window_alone_as_in_a_padded_batch(types: bool) -> None:
    module, scores = grid(types), draw(*SHAPE)
    together = module(scores, inside(5, 3))
    alone = module(scores[1:, :3, :3], inside(3))
    torch.testing.assert_close(together[1:, :3, :3], alone)


def test_grid_without_types_does_not_depend_on_the_order_of_labels() -> None:
    module, scores, mask = grid(types=False), draw(*SHAPE), inside(5, 5)
    order = [2, 0, 3, 1]
    torch.testing.assert_close(
        module(scores[:, :, :, order], mask), module(scores, mask)[:, :, :, order]
    )


def test_grid_with_types_lets_neighbouring_labels_speak() -> None:
    module, scores, mask = grid(types=True, n_layers=1), draw(*SHAPE), inside(5, 5)
    changed = scores.clone()
    changed[:, :, :, 0] += 1
    differs = (module(changed, mask) != module(scores, mask)).any(dim=-1)
    assert differs.flatten(0, 2).any(dim=0).tolist() == [True, True, False, False]


@pytest.mark.parametrize("n_layers,reach", [(1, 1), (2, 3), (3, 6)])
def test_grid_reaches_as_far_as_its_dilations(n_layers: int, reach: int) -> None:
    module = grid(types=False, n_layers=n_layers)
    scores, mask = draw(1, 15, 15, 1, WIDTH), inside(15)
    changed = scores.clone()
    changed[0, 7, 7] += 1
    differs = (module(changed, mask) != module(scores, mask)).any(-1)[0, :, :, 0]
    start, last = differs.nonzero(as_tuple=True)
    assert int((start - 7).abs().max()) == int((last - 7).abs().max()) == reach
