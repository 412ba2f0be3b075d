"""Arrays that depend on settings only, copied to a device once."""

from functools import lru_cache
from typing import Any, Callable

import torch
from numpy.typing import NDArray
from torch import Tensor


@lru_cache(maxsize=512)
def constant(
    make: Callable[..., NDArray], *arguments: Any, device: torch.device
) -> Tensor:
    """Compute an array, and keep it on a device.

    make (Callable): a function without side effects.
    arguments (Any): its arguments, which can be hashed.
    RETURNS (Tensor): must not be changed.
    """
    # Tensors made in inference mode cannot be used in training.
    with torch.inference_mode(False):
        return torch.as_tensor(make(*arguments), device=device)
