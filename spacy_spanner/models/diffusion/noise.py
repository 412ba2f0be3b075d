"""The diffusion of span boundaries: schedules, noising, denoising steps, rounding.

Section 4 of "DiffusionNER: Boundary Diffusion for Named Entity Recognition" (ACL 2023),
with the sampler of "Denoising Diffusion Implicit Models" (ICLR 2021).

A span is represented by two numbers, its left boundary and its width, or both
boundaries, scaled from the window's tokens to [-λ, λ]. The first token and a width of
one token are -λ, the last token and the whole window are λ; in a window of one token
all numbers mean it.
"""

import math
from itertools import pairwise
from typing import List, NamedTuple, Sequence, Tuple, Union

import torch
from torch import Tensor

SCHEDULES = ("cosine", "linear")
NOISE_ON = ("width", "boundaries")

# Nichol and Dhariwal 2021: the offset of the cosine, and the largest β.
COSINE_OFFSET = 0.008
LARGEST_BETA = 0.999
# Ho et al. 2020: first and last β of 1000 steps.
LINEAR_BETAS = (1e-4, 0.02)
LINEAR_STEPS = 1000


class TokenSpans(NamedTuple):
    """Spans as tokens of their windows, both ends inclusive. Shapes: (batch, span)"""

    start: Tensor
    last: Tensor


def join_spans(*parts: TokenSpans) -> TokenSpans:
    """RETURNS (TokenSpans): the spans of all, side by side in each window."""
    start, last = (torch.cat(columns, dim=1) for columns in zip(*parts))
    return TokenSpans(start, last)


def signal_shares(schedule: str, n_steps: int) -> Tensor:
    """Compute ᾱ_t, the share of the signal's variance that remains after step t.

    schedule (str): "cosine" or "linear" (in β).
    n_steps (int): T.
    RETURNS (Tensor): falling from almost 1 to almost 0. Shape: (step,)
    """
    if schedule == "cosine":
        time = torch.arange(n_steps + 1, dtype=torch.float64) / n_steps
        angle = (time + COSINE_OFFSET) / (1 + COSINE_OFFSET) * math.pi / 2
        share = angle.cos() ** 2
        betas = (1 - share[1:] / share[:-1]).clamp(max=LARGEST_BETA)
    else:
        # Fewer steps are larger ones.
        first, last = (beta * LINEAR_STEPS / n_steps for beta in LINEAR_BETAS)
        betas = torch.linspace(first, last, n_steps, dtype=torch.float64)
        betas = betas.clamp(max=LARGEST_BETA)
    return (1 - betas).cumprod(dim=0).float()


def sampling_times(n_steps: int, n_samples: int) -> List[Tuple[int, int]]:
    """Choose the timesteps of prediction: an arithmetic subsequence.

    n_steps (int): T.
    n_samples (int): γ; more than T count as T.
    RETURNS (List[Tuple[int, int]]): each timestep with the next one; the last is
        followed by -1, without noise.
    """
    n_samples = min(n_samples, n_steps)
    times = [(n_steps * step) // n_samples - 1 for step in range(n_samples, -1, -1)]
    return list(pairwise(times))


class Moves(NamedTuple):
    """How far boundaries can be from the first token of their windows.

    largest (Tensor): in tokens. Shape: (batch, 1)
    half (Tensor): half of that. Shape: (batch, 1, 1)
    divisor (Tensor): the same, but above 0. Shape: (batch, 1, 1)
    """

    largest: Tensor
    half: Tensor
    divisor: Tensor


def moves_of(lengths: Union[Tensor, Moves]) -> Moves:
    """RETURNS (Moves): those of windows of these many tokens. (batch,)"""
    if isinstance(lengths, Moves):
        return lengths
    largest = (lengths - 1)[:, None]
    half = largest[:, :, None] / 2  # exact
    return Moves(largest, half, half.clamp(min=0.5))


class Signal(NamedTuple):
    """How spans become numbers, to which noise can be added.

    scale (float): λ.
    noise_on (str): "width" (left boundary and width), or "boundaries" (both).
    """

    scale: float
    noise_on: str = "width"

    def of_tokens(
        self, start: Tensor, last: Tensor, lengths: Union[Tensor, Moves]
    ) -> Tensor:
        """Scale boundaries to numbers.

        start, last (Tensor): tokens, both inclusive. Shape: (batch, span)
        lengths (Union[Tensor, Moves]): tokens of the windows (batch,), or what was
            made of them.
        RETURNS (Tensor): in [-λ, λ]. Shape: (batch, span, 2)
        """
        second = last if self.noise_on == "boundaries" else last - start
        position = torch.stack([start, second], dim=-1)
        return self._scale(position / moves_of(lengths).divisor - 1)

    def to_tokens(self, signal: Tensor, lengths: Union[Tensor, Moves]) -> TokenSpans:
        """Round numbers to the nearest spans that lie inside their windows. Boundaries
        in the wrong order are swapped.

        signal (Tensor): Shape: (batch, span, 2)
        lengths (Union[Tensor, Moves]): see `of_tokens`.
        RETURNS (TokenSpans): (batch, span)
        """
        moves = moves_of(lengths)
        if self.scale != 1:
            signal = signal / self.scale
        position = (signal.clamp(-1, 1) + 1) * moves.half
        first, second = position.round().long().unbind(dim=-1)
        if self.noise_on == "boundaries":
            return TokenSpans(
                torch.minimum(first, second), torch.maximum(first, second)
            )
        return TokenSpans(first, torch.minimum(first + second, moves.largest))

    def _scale(self, numbers: Tensor) -> Tensor:
        return numbers if self.scale == 1 else numbers * self.scale


def add_noise(signal: Tensor, noise: Tensor, share: Tensor) -> Tensor:
    """Apply t steps of the forward process at once: √ᾱ_t x_0 + √(1 - ᾱ_t) ε.

    signal, noise (Tensor): x_0 and ε. Shape: (batch, span, 2)
    share (Tensor): ᾱ_t of each window. Shape: (batch,)
    RETURNS (Tensor): x_t. Shape: (batch, span, 2)
    """
    share = share[:, None, None]
    return share.sqrt() * signal + (1 - share).sqrt() * noise


def noise_of_training(
    signal: Signal, columns: Sequence[Tensor], lengths: Tensor, replaces: bool
) -> TokenSpans:
    """Add noise to the spans of training.

    columns (Sequence[Tensor]): start, last, is_gold and noise of the targets, and the
        share of the signal in each window.
    lengths (Tensor): tokens of the windows. Shape: (batch,)
    replaces (bool): whether spans that are not gold are noise alone: the sum of a
        Gaussian number and Gaussian noise is such a number, too.
    RETURNS (TokenSpans): the spans of x_t, rounded to tokens. (batch, span)
    """
    start, last, is_gold, noise, share = columns
    moves = moves_of(lengths)
    noisy = add_noise(signal.of_tokens(start, last, moves), noise, share)
    if replaces:
        noisy = noisy.where(is_gold[:, :, None], noise)
    return signal.to_tokens(noisy, moves)


def denoise_step(
    noisy: Tensor,
    signal: Tensor,
    fresh: Tensor,
    *,
    share: float,
    target: float,
    eta: float,
) -> Tensor:
    """Go from x_t to an earlier step s, given an estimate of x_0.

    The noise in x_t is then ε = (x_t - √ᾱ_t x_0) / √(1 - ᾱ_t). The earlier step has
    less of it, and some new noise z:
    √ᾱ_s x_0 + √(1 - ᾱ_s - σ²) ε + σ z, σ² = η² (1 - ᾱ_s) / (1 - ᾱ_t) (1 - ᾱ_t / ᾱ_s).

    noisy, signal (Tensor): x_t and the estimate of x_0. Shape: (batch, span, 2)
    fresh (Tensor): z. Shape: (span, 2)
    share, target (float): ᾱ_t and ᾱ_s.
    eta (float): η, from 0 (the noise stays the same) to 1 (mostly new).
    RETURNS (Tensor): x_s. Shape: (batch, span, 2)
    """
    variance = eta**2 * (1 - target) / (1 - share) * (1 - share / target)
    kept = math.sqrt(max(1 - target - variance, 0.0))
    # An operation for each term.
    noise = torch.sub(noisy, signal, alpha=math.sqrt(share))
    earlier = noise * (kept / math.sqrt(1 - share))
    earlier = torch.add(earlier, signal, alpha=math.sqrt(target))
    return torch.add(earlier, fresh, alpha=math.sqrt(variance))
