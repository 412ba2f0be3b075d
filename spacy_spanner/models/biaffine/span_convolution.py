"""Convolutions over the grid of spans, as in CNN-NER (Yan et al., ACL 2023).

Neighbours of a span in the grid share one boundary with it, or contain it: convolutions
let its scores depend on theirs.
"""

from torch import Tensor, nn
from torch.nn import functional as F

KERNEL = 3
# Numbers that a layer keeps of each channel for the backward pass: what it reads, and
# what enters the norm and the nonlinearity.
KEPT_PER_LAYER = 3


class SpanConvolution(nn.Module):
    """Channels of spans to scores of their classes.

    In each layer, a convolution over (start, last) with layer norm and GELU is added to
    its input.
    """

    def __init__(self, width: int, n_classes: int, n_layers: int) -> None:
        """Build the layers.

        width (int): channels.
        n_classes (int): scores per span.
        n_layers (int): convolutions.
        """
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(width, width, KERNEL, padding=KERNEL // 2)
            for _ in range(n_layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(n_layers))
        self.outer = nn.Linear(width, n_classes)

    def forward(self, grid: Tensor, spans: Tensor) -> Tensor:
        """Score spans.

        grid (Tensor): (batch, start, last, width)
        spans (Tensor): True for spans of real tokens; all other cells are set to zero
            before every layer, so that no score depends on them. Shape: (batch, start,
            last)
        RETURNS (Tensor): (batch, start, last, class)
        """
        inside = spans[..., None].to(grid.dtype)
        for convolution, norm in zip(self.layers, self.norms):
            # `permute` keeps channels last in memory, which convolutions are fast with.
            channels = (grid * inside).permute(0, 3, 1, 2)
            grid = grid + F.gelu(norm(convolution(channels).permute(0, 2, 3, 1)))
        scores: Tensor = self.outer(grid)
        return scores
