"""Score pairs of tokens: `s_c = [x; 1]^T U_c [y; 1]`."""

from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Biaffine(nn.Module):
    """Bilinear, linear and constant terms of a pair in one tensor.

    A one is appended to both vectors. So the last column and row of U are the linear
    maps and its corner is the bias, and vectors need not be concatenated.
    """

    def __init__(self, width: int, n_classes: int) -> None:
        """Build the layer.

        width (int): size of the vectors on both sides.
        n_classes (int): scores per pair.
        """
        super().__init__()
        self.n_classes = n_classes
        self.weight = nn.Parameter(torch.empty(n_classes, width + 1, width + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights from torch's global generator.

        The weights are small, so that all scores are nearly equal at first: most pairs
        are no entity, and large random scores would first have to be unlearned.
        """
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, y: Tensor, band: Optional[int] = None) -> Tensor:
        """Score each x with each y, or only with those of the next `band` tokens.

        x (Tensor): (batch, start, width)
        y (Tensor): (batch, last, width)
        band (Optional[int]): pairs with last - start in [0, band) only.
        RETURNS (Tensor): (batch, start, last, class); with a band, the third axis is
            last - start, and scores of pairs that leave the window are undefined.
        """
        x, y = F.pad(x, (0, 1), value=1.0), F.pad(y, (0, 1), value=1.0)
        batch, token, width = x.shape
        weight = self.weight.permute(1, 0, 2).reshape(width, -1)
        x = (x @ weight).view(batch, token, self.n_classes, width)
        if band is None:
            x = x.reshape(batch, token * self.n_classes, width)
            scores = torch.bmm(x, y.transpose(1, 2))  # (batch, start·class, last)
            scores = scores.view(batch, token, self.n_classes, -1)
        else:
            y = F.pad(y, (0, 0, 0, band - 1)).unfold(1, band, 1)
            scores = x @ y  # (batch, start, class, offset)
        return scores.transpose(2, 3)
