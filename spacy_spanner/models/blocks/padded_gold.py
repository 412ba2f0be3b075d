"""Padded gold on the device."""

from typing import NamedTuple

from torch import Tensor


class GoldTensors(NamedTuple):
    """The columns of `spans.layouts.PaddedGold` as tensors. Shapes: (batch, gold)"""

    start: Tensor
    end: Tensor
    label: Tensor
    mask: Tensor

    @property
    def last(self) -> Tensor:
        """The last token of each span, 0 where padded. Shape: (batch, gold)"""
        return (self.end - 1).clamp(min=0)
