"""Convolutions over the grid of spans, of each type or over neighbouring types.

A depthwise convolution over (type, start, last) is a sum of three depthwise ones over
(start, last), whose results are moved along the types. These are grouped
two-dimensional convolutions, which are much faster on a CPU than a three-dimensional
one.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

KERNEL = 3


class GridConvolution(nn.Module):
    """Correct the scores of spans by those of the spans around them.

    A pointwise layer is followed by depthwise layers with dilations 1, 2, ...; all
    their outputs are concatenated, mapped back to scores, and added to the input.
    """

    def __init__(
        self, n_classes: int, *, n_layers: int, width: int, types: bool, dropout: float
    ) -> None:
        """Build the layers; at first, the last map is nearly zero.

        n_classes (int): scores per span and type.
        n_layers (int): depthwise layers.
        width (int): channels.
        types (bool): whether kernels also reach over the neighbouring types, as in the
            paper, so that the order of the labels matters.
        dropout (float): rate at which whole channels are dropped before the first
            depthwise layer.
        """
        super().__init__()
        self.inner = nn.Linear(n_classes, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            DepthwiseConvolution(width, dilation=layer + 1, types=types)
            for layer in range(n_layers)
        )
        self.outer = nn.Linear(n_layers * width, n_classes)
        nn.init.normal_(self.outer.weight, std=0.001)
        nn.init.zeros_(self.outer.bias)

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Correct scores.

        scores (Tensor): (batch, start, last, label, class)
        mask (Tensor): True for pairs of real tokens; all others are set to zero before
            every layer. Shape: (batch, start, last)
        RETURNS (Tensor): (batch, start, last, label, class)
        """
        inside = mask[..., None, None].to(scores.dtype)
        hidden = F.gelu(self.inner(scores)) * self._channel_mask(scores)
        outputs = []
        for layer in self.layers:
            hidden = F.gelu(layer(hidden * inside))
            outputs.append(hidden)
        return scores + self.outer(torch.cat(outputs, dim=-1))

    def _channel_mask(self, scores: Tensor) -> Tensor:
        """Draw dropout of whole channels, one for each window and type.

        RETURNS (Tensor): (batch, 1, 1, label, width)
        """
        batch, _, _, n_labels, _ = scores.shape
        ones = scores.new_ones(batch, 1, 1, n_labels, self.inner.out_features)
        mask: Tensor = self.dropout(ones)
        return mask


class FullGridConvolution(nn.Module):
    """Score spans by those around them (Tang et al. 2023, Equations 4 and 5).

    Three-dimensional convolutions over (type, start, last), whose channels are the
    classes, with dilations 1, 2, ...; each reads the output of the one before, as in
    the authors' code. All outputs are concatenated and mapped to scores. These replace
    the input, as in the paper, or are added to it, as in the authors' code.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        n_layers: int,
        types: bool,
        residual: bool,
        dropout: float,
    ) -> None:
        """Build the layers.

        n_classes (int): scores per span and type.
        n_layers (int): convolutions.
        types (bool): whether kernels also reach over the neighbouring types.
        residual (bool): whether the result is added to the input.
        dropout (float): rate at which whole channels are dropped from the input.
        """
        super().__init__()
        self.residual = residual
        self.dropout = nn.Dropout3d(dropout)
        depth = KERNEL if types else 1
        self.layers = nn.ModuleList(
            nn.Conv3d(
                n_classes,
                n_classes,
                (depth, KERNEL, KERNEL),
                padding=(step * (depth // 2), step, step),
                dilation=step,
            )
            for step in range(1, n_layers + 1)
        )
        self.outer = nn.Linear(n_layers * n_classes, n_classes)

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Score spans again.

        scores (Tensor): (batch, start, last, label, class)
        mask (Tensor): True for pairs of real tokens; all others are set to zero before
            every layer. Shape: (batch, start, last)
        RETURNS (Tensor): (batch, start, last, label, class)
        """
        inside = mask[:, None, None].to(scores.dtype)
        hidden = self.dropout(scores.permute(0, 4, 3, 1, 2))
        outputs = []
        for layer in self.layers:
            hidden = F.gelu(layer(hidden * inside))
            outputs.append(hidden)
        joined = torch.cat(outputs, dim=1).permute(0, 3, 4, 2, 1)
        corrected: Tensor = self.outer(joined)
        return scores + corrected if self.residual else corrected


class DepthwiseConvolution(nn.Module):
    """One kernel for each channel, over (type, start, last) or only (start, last)."""

    def __init__(self, width: int, *, dilation: int, types: bool) -> None:
        """Draw weights from torch's global generator.

        width (int): channels.
        dilation (int): distance of the kernel's cells.
        types (bool): whether the kernel reaches over the types.
        """
        super().__init__()
        self.dilation = dilation
        depth = KERNEL if types else 1
        self.weight = nn.Parameter(torch.empty(width, depth, KERNEL, KERNEL))
        self.bias = nn.Parameter(torch.zeros(width))
        bound = (depth * KERNEL**2) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden (Tensor): (batch, start, last, label, width), zero where padded.

        RETURNS (Tensor): (batch, start, last, label, width)
        """
        depth = self.weight.shape[1]
        output = self._over_grid(hidden, depth // 2) + self.bias
        n_labels, step = hidden.shape[3], self.dilation
        if depth == 1 or step >= n_labels:
            return output
        # Kernel cell 0 reads the type before, cell 2 the type after.
        before = self._over_grid(hidden[..., :-step, :], 0)
        after = self._over_grid(hidden[..., step:, :], 2)
        return output + F.pad(before, (0, 0, step, 0)) + F.pad(after, (0, 0, 0, step))

    def _over_grid(self, hidden: Tensor, depth: int) -> Tensor:
        """Convolve each type on its own with one slice of the kernel.

        RETURNS (Tensor): (batch, start, last, label, width)
        """
        n_channels = hidden.shape[3] * hidden.shape[4]
        weight = self.weight[:, depth].repeat(hidden.shape[3], 1, 1)[:, None]
        # `permute` keeps channels last in memory, which convolutions are fast with.
        channels = hidden.flatten(3).permute(0, 3, 1, 2)
        output = F.conv2d(
            channels,
            weight,
            padding=self.dilation,
            dilation=self.dilation,
            groups=n_channels,
        )
        return output.permute(0, 2, 3, 1).unflatten(3, hidden.shape[3:])
