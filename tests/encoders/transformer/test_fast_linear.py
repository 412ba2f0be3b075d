"""Linear layers in bfloat16 and int8."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from spacy_spanner.encoders.fast.linear import Int8Linear, convert_linear, quantize

ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.floats(-1e4, 1e4, width=32),
)


@given(ROWS)
def test_codes_times_scale_is_the_row(rows: np.ndarray) -> None:
    codes, scale = quantize(torch.from_numpy(rows))
    assert codes.dtype == torch.int8
    assert int(codes.int().abs().max()) <= 127
    error = (codes.float() * scale - torch.from_numpy(rows)).abs()
    assert (error <= 0.501 * scale).all()


def test_int8_by_hand() -> None:
    layer = Int8Linear(torch.tensor([[127.0, -1.0], [0.0, 254.0]]), torch.ones(2))
    assert layer.weight.tolist() == [[127, -1], [0, 127]]
    assert layer.scale.tolist() == [1.0, 2.0]
    outputs = layer(torch.tensor([[[127.0, 1.0]], [[0.0, 0.5]]]))
    assert outputs.tolist() == [[[16129.0, 255.0]], [[0.5, 128.0]]]


@pytest.mark.parametrize("precision,error", [("bfloat16", 0.02), ("int8", 0.03)])
def test_layers_are_joined(precision: str, error: float) -> None:
    torch.manual_seed(0)
    layers = [nn.Linear(64, 8), nn.Linear(64, 4, bias=False)]
    inputs = torch.randn(5, 3, 64) * torch.tensor([1.0, 100.0, 0.01])[None, :, None]
    expected = torch.cat([layer(inputs) for layer in layers], dim=-1)
    found = convert_linear(layers, precision)(inputs).float()
    assert found.shape == expected.shape
    size = expected.abs().amax(dim=-1, keepdim=True)
    assert ((found - expected).abs() / size).max() < error


def test_a_large_token_does_not_change_the_others() -> None:
    torch.manual_seed(0)
    layer = Int8Linear(torch.randn(4, 8), torch.zeros(4))
    inputs = torch.randn(3, 8)
    larger = torch.cat([inputs, 1000 * torch.randn(1, 8)])
    assert torch.equal(layer(inputs), layer(larger)[:3])


def test_torch_without_products_of_int8_is_no_reason_to_fail() -> None:
    program = (
        "import torch; del torch._int_mm\n"
        "import spacy_spanner.encoders.fast.linear\n"
        "from spacy_spanner.encoders.fast.processor import multiplies_int8\n"
        "print(multiplies_int8())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
