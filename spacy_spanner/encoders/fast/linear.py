"""Linear layers in bfloat16 and int8, made from those of a float32 encoder.

int8: x W^T is computed from whole numbers, s_x s_w (q_x q_w^T), where the scales s_w of
the weights belong to the outputs (their rows) and the scales s_x of the inputs to the
tokens. Both are the largest absolute values / 127. Scales that all tokens share, as in
torch's dynamic quantization, lose much more: a few dimensions of some tokens are far
larger than all others.
"""

from typing import List, Sequence, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...internals import internal
from .processor import BFLOAT16

LARGEST = 127.0
# Adding it to a small float moves the number, rounded, to the lowest bits.
ROUNDS = 1.5 * 2**23
SMALLEST_SCALE = 1e-12


class BFloat16Linear(nn.Module):
    """A linear layer in bfloat16."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Convert the weights.

        weight (Tensor): (output, input)
        bias (Tensor): (output,)
        """
        super().__init__()
        self.register_buffer("weight", weight.to(torch.bfloat16))
        self.register_buffer("bias", bias.to(torch.bfloat16))

    def forward(self, inputs: Tensor) -> Tensor:
        """RETURNS (Tensor): in bfloat16. (..., output)"""
        return F.linear(inputs.to(torch.bfloat16), self.weight, self.bias)


class Int8Linear(nn.Module):
    """A linear layer in int8, with a scale for each token and each output."""

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Convert the weights.

        weight (Tensor): (output, input)
        bias (Tensor): (output,)
        """
        super().__init__()
        codes, scale = quantize(weight)
        self.register_buffer("weight", codes.contiguous())
        self.register_buffer("scale", scale[:, 0].contiguous())
        self.register_buffer("bias", bias.clone())

    def forward(self, inputs: Tensor) -> Tensor:
        """RETURNS (Tensor): in float32. (..., output)"""
        codes, scale = quantize(inputs.reshape(-1, inputs.shape[-1]).float())
        multiply = internal("torch", "_int_mm")  # lacking where int8 is not used
        products = multiply(codes, self.weight.t()).float().mul_(self.scale)
        outputs = torch.addcmul(self.bias, products, scale, out=products)
        return outputs.reshape(*inputs.shape[:-1], -1)


def quantize(rows: Tensor) -> Tuple[Tensor, Tensor]:
    """Round rows to whole numbers from -127 to 127.

    rows (Tensor): float32. (row, input)
    RETURNS (Tuple[Tensor, Tensor]): int8 (row, input), and scales (row, 1).
    """
    highest = rows.amax(dim=1, keepdim=True)
    lowest = rows.amin(dim=1, keepdim=True)  # two passes without a copy of the rows
    scale = torch.maximum(highest, -lowest).div_(LARGEST).clamp_(min=SMALLEST_SCALE)
    shifted = (rows * scale.reciprocal()).add_(ROUNDS)
    # The lowest byte of each number. Conversions of int32 are faster than of floats.
    return shifted.view(torch.int32).to(torch.int8), scale


def convert_linear(layers: Sequence[nn.Linear], precision: str) -> nn.Module:
    """RETURNS (nn.Module): one layer that returns the concatenated outputs of layers.

    layers (Sequence[nn.Linear]): with the same inputs.
    precision (str): "bfloat16" or "int8".
    """
    weight = torch.cat([layer.weight.detach() for layer in layers])
    biases: List[Tensor] = [
        weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
        for layer in layers
    ]
    kind = BFloat16Linear if precision == BFLOAT16 else Int8Linear
    return kind(weight, torch.cat(biases).detach())
