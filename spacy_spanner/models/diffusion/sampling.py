"""Denoise pure noise to spans in a few steps (DDIM).

All noise comes from one seed and is the same for every window, so that the spans of a
window do not depend on other windows.
"""

from functools import lru_cache
from typing import Callable, Iterator, List

import numpy as np
import torch
from torch import Tensor

from ...spans.table import Floats, Ints
from ..blocks.constants import constant
from .noise import (
    Signal,
    TokenSpans,
    denoise_step,
    moves_of,
    sampling_times,
    signal_shares,
)
from .proposals import Proposals

# Noisy spans and the number of the step to proposals.
Denoiser = Callable[[TokenSpans, int], Proposals]


def sample(
    denoise: Denoiser,
    lengths: Tensor,
    *,
    n_spans: int,
    n_samples: int,
    n_steps: int,
    schedule: str,
    signal: Signal,
    eta: float,
    seed: int,
) -> Iterator[Proposals]:
    """Denoise pure noise.

    denoise (Denoiser): turns noisy spans into proposals.
    lengths (Tensor): tokens of the windows. Shape: (batch,)
    n_spans, n_samples, n_steps (int): K, γ and T.
    schedule (str), eta (float): the noise schedule, and η.
    signal (Signal): how spans become numbers.
    seed (int): seed of all noise.
    YIELDS (Proposals): those of each step.
    """
    shares, moves = _shares(schedule, n_steps), moves_of(lengths)
    x = fixed_noise(n_spans, seed, 0, lengths.device).expand(len(lengths), -1, -1)
    for step, (now, then) in enumerate(sampling_times(n_steps, n_samples)):
        proposals = denoise(signal.to_tokens(x, moves), step)
        yield proposals
        if then < 0:  # that was the last step
            return
        clean = signal.of_tokens(*proposals.spans, moves)
        fresh = fixed_noise(n_spans, seed, step + 1, lengths.device)
        share, target = shares[now], shares[then]
        x = denoise_step(x, clean, fresh, share=share, target=target, eta=eta)


def fixed_noise(n_spans: int, seed: int, step: int, device: torch.device) -> Tensor:
    """Draw the noise of a step; more spans begin with the same noise.

    RETURNS (Tensor): (span, 2)
    """
    return constant(_draw, n_spans, seed, step, device=device)


def _draw(n_spans: int, seed: int, step: int) -> Floats:
    """RETURNS (Floats): (span, 2)"""
    return np.random.default_rng([seed, step]).standard_normal((n_spans, 2), "f")


@lru_cache(maxsize=16)
def _shares(schedule: str, n_steps: int) -> List[float]:
    """RETURNS (List[float]): see `signal_shares`."""
    return signal_shares(schedule, n_steps).tolist()  # type: ignore[no-any-return]  # torch types it as any


def signal_table(schedule: str, n_steps: int) -> Floats:
    """RETURNS (Floats): see `signal_shares`."""
    shares: Floats = signal_shares(schedule, n_steps).numpy()
    return shares


def timesteps(n_steps: int, n_samples: int) -> Ints:
    """RETURNS (Ints): the timesteps of prediction. (step,)"""
    return np.asarray(sampling_times(n_steps, n_samples))[:, 0]
