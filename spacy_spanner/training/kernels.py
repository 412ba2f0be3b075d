"""The arithmetic of AdamW on many tensors at once: the norm of all gradients, and a
step of torch's fused kernel. A GPU waits for the host once a step, not once a tensor.
"""

import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from ..internals import internal
from .frozen import Learned
from .owners import Key


class State(NamedTuple):
    """Moments of one tensor, and the number of its updates."""

    mean: Tensor
    square: Tensor
    step: Tensor


def gradient_norm(grads: Sequence[Tensor]) -> float:
    """RETURNS (float): the norm of all gradients together."""
    by_device: Dict[torch.device, List[Tensor]] = {}
    for grad in grads:
        by_device.setdefault(grad.device, []).append(grad)
    norms = [
        torch.linalg.vector_norm(torch.stack(_norms(some)))
        for some in by_device.values()
    ]
    return math.hypot(*map(float, norms))


def _norms(grads: Sequence[Tensor]) -> List[Tensor]:
    """RETURNS (List[Tensor]): the norm of each gradient of one device."""
    if grads[0].is_cpu:
        return [grad.norm() for grad in grads]
    return list(internal("torch", "_foreach_norm")(list(grads)))  # one kernel


def take_step(
    members: Sequence[Learned],
    states: Dict[Key, State],
    scale: Optional[Tensor],
    **rates: Any,
) -> None:
    """Update tensors of one device and type in place.

    members (Sequence[Learned]): the tensors, with their gradients.
    states (Dict[Key, State]): of all tensors; new ones are added.
    scale (Optional[Tensor]): what the gradients are divided by, which saves a pass over
        them.
    rates (Any): the numbers that torch's `adamw` takes.
    """
    for key, weights, _ in members:
        if key not in states:
            step = torch.zeros((), device=weights.device)
            mean, square = torch.zeros_like(weights), torch.zeros_like(weights)
            states[key] = State(mean, square, step)
    known = [states[one.key] for one in members]
    adamw(
        [one.weights for one in members],
        [one.gradient for one in members],
        [state.mean for state in known],
        [state.square for state in known],
        [],
        [state.step for state in known],
        fused=True,
        grad_scale=scale,
        amsgrad=False,
        maximize=False,
        **rates,
    )
