"""Score pairs of tokens: `s_c = [x; 1]^T U_c [y; 1]`."""

from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Biaffine(nn.Module):
    """Bilinear, linear and constant terms of a pair in one tensor.

    The ones behind both vectors turn the last column, row and corner of U into the two
    linear maps and the bias, so no concatenation of two vectors is ever built.
    """

    def __init__(self, width: int, n_classes: int) -> None:
        """Start from small random bilinear terms, and none for the rest.

        width (int): size of the vectors on both sides.
        n_classes (int): scores per pair.
        """
        super().__init__()
        self.n_classes = n_classes
        self.weight = nn.Parameter(torch.empty(n_classes, width + 1, width + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights from torch's global generator.

        Small, so that the scores start close to equal: most pairs are no entity, and
        large random scores would first have to be unlearned.
        """
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, y: Tensor, band: Optional[int] = None) -> Tensor:
        """Score each x against each y, or against the `band` next ones only.

        x (Tensor): (batch, start, width)
        y (Tensor): (batch, last, width)
        band (Optional[int]): pairs with last - start in [0, band) only.
        RETURNS (Tensor): (batch, start, last, class); with a band, the third axis is
            last - start, and pairs that leave the window hold no meaning.
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
