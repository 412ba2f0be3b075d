"""Arrays of Thinc as tensors of torch, where both lie already.

Thinc's `xp2torch` puts a tensor on the device of the running thread. That is the CPU in
every thread but the one that called `require_gpu()`, and not where Thinc's own weights
are on Apple's GPUs.
"""

from typing import Any, List, Optional, Union

import numpy as np
import torch
from thinc.util import xp2torch
from torch import Tensor, nn

from ..internals import internal
from ..settings import AUTO, CELLS_ON_CPU

# What most heads keep of each cell for the backward pass, in numbers of 4 bytes; see
# docs/gpu.md.
NUMBERS_PER_CELL = 256
# Kinds of devices whose free memory torch knows.
KNOWN_MEMORY = {"cuda"}


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


def set_to_zero(tensors: List[Tensor]) -> None:
    """Fill tensors with zeros, in place: one kernel for many of a GPU."""
    if tensors:
        internal("torch", "_foreach_zero_")(tensors)


def free_memory(device: torch.device) -> Optional[int]:
    """RETURNS (Optional[int]): bytes of a GPU that are free now, counting what torch
    holds in reserve; None for devices of which torch does not know it.
    """
    if device.type not in KNOWN_MEMORY:
        return None
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + held)


def as_many_as_fit(
    wanted: Union[int, str],
    device: torch.device,
    *,
    numbers_each: int,
    on_cpu: int,
    least: int = 1,
) -> int:
    """Read a setting of how much is computed at once.

    wanted (Union[int, str]): a number, or "auto" for what fits into half of the memory
        of a GPU that is free now.
    numbers_each (int): numbers of 4 bytes that are kept of each for the backward pass.
    on_cpu (int): what "auto" means where free memory is not known.
    least (int): what "auto" means at least.
    RETURNS (int): how many at once.
    """
    if wanted != AUTO:
        return int(wanted)
    free = free_memory(device)
    if free is None:
        return on_cpu
    return max(least, free // (2 * 4 * numbers_each))


def cells_that_fit(
    wanted: Union[int, str],
    device: torch.device,
    numbers_each: int = NUMBERS_PER_CELL,
) -> int:
    """RETURNS (int): the setting `max_cells` as a number."""
    return as_many_as_fit(
        wanted,
        device,
        numbers_each=numbers_each,
        on_cpu=CELLS_ON_CPU,
        least=CELLS_ON_CPU,
    )
