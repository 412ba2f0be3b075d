"""Arrays of Thinc as tensors of torch, where both lie already.

Thinc's `xp2torch` puts a tensor on the device of the running thread. That is the CPU in
every thread but the one that called `require_gpu()`, and not where Thinc's own weights
are on Apple's GPUs.
"""

from typing import Any, Union

import numpy as np
import torch
from thinc.util import xp2torch
from torch import Tensor, nn

from ..settings import AUTO, CELLS_ON_CPU

# What a head keeps of each cell for the backward pass: up to 162 numbers of 4 bytes
# were counted, in short windows. As much memory again is left for everything else.
NUMBERS_PER_CELL = 256
BYTES_PER_CELL = 2 * 4 * NUMBERS_PER_CELL


def view_of(array: Any) -> Tensor:
    """RETURNS (Tensor): the values of an array of Thinc, in the same memory, so that
    changing the one changes the other.
    """
    if isinstance(array, np.ndarray):
        return torch.from_numpy(array)
    tensor: Tensor = torch.utils.dlpack.from_dlpack(array)
    return tensor


def device_of(module: nn.Module) -> torch.device:
    """RETURNS (torch.device): where the weights of a module are."""
    return next(module.parameters()).device


def to_module(array: Any, module: nn.Module) -> Tensor:
    """RETURNS (Tensor): an array of Thinc where a module computes, without a copy if it
    is there.
    """
    return xp2torch(array, device=device_of(module))


def cells_that_fit(wanted: Union[int, str], device: torch.device) -> int:
    """RETURNS (int): the setting `max_cells`; for "auto" what fits into the memory of a
    GPU that is free now, counting what torch holds in reserve.
    """
    if wanted != AUTO:
        return int(wanted)
    if device.type != "cuda":
        return CELLS_ON_CPU
    free, _ = torch.cuda.mem_get_info(device)
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return max(CELLS_ON_CPU, (free + reserved) // BYTES_PER_CELL)
