"""Schedules, noising, denoising steps and rounding, by hand and by properties."""

import math
from typing import List, Tuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.diffusion.noise import (
    NOISE_ON,
    SCHEDULES,
    Signal,
    add_noise,
    denoise_step,
    sampling_times,
    signal_shares,
)

# ------------------------------------------------------------------- schedules


def cosine_share(step: int, n_steps: int) -> float:
    """Nichol and Dhariwal's Equation 17, without the bound of β."""
    first, now = (
        math.cos((time / n_steps + 0.008) / 1.008 * math.pi / 2) ** 2
        for time in (0, step + 1)
    )
    return now / first


def test_cosine_schedule_follows_the_closed_form() -> None:
    shares = signal_shares("cosine", 1000).tolist()
    for step in (0, 1, 250, 500, 900, 997):
        assert shares[step] == pytest.approx(cosine_share(step, 1000), rel=1e-5)


def test_cosine_schedule_bounds_the_last_loss_of_signal() -> None:
    shares = signal_shares("cosine", 1000).double()
    # Without the bound the last share would be 0.
    assert float(shares[-1] / shares[-2]) == pytest.approx(0.001, rel=1e-4)


def test_cosine_schedule_of_two_steps_by_hand() -> None:
    half = math.cos(0.508 / 1.008 * math.pi / 2) ** 2
    first = math.cos(0.008 / 1.008 * math.pi / 2) ** 2
    expected = [half / first, half / first * 0.001]
    assert signal_shares("cosine", 2).tolist() == pytest.approx(expected)


def test_linear_schedule_multiplies_what_the_betas_leave() -> None:
    shares = signal_shares("linear", 1000).tolist()
    assert shares[0] == pytest.approx(1 - 1e-4)
    assert shares[1] == pytest.approx((1 - 1e-4) * (1 - 1e-4 - 0.0199 / 999))
    betas = [1e-4 + (0.02 - 1e-4) * step / 999 for step in range(1000)]
    assert shares[-1] == pytest.approx(math.prod(1 - b for b in betas), rel=1e-3)


def test_linear_schedule_of_fewer_steps_loses_as_much() -> None:
    assert signal_shares("linear", 100)[-1] < 1e-4


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n_steps", [1, 2, 10, 1000])
def test_schedule_falls_inside_the_unit_interval(schedule: str, n_steps: int) -> None:
    shares = signal_shares(schedule, n_steps)
    assert shares.shape == (n_steps,)
    assert bool((shares > 0).all()) and bool((shares < 1).all())
    assert bool((shares.diff() < 0).all())


@pytest.mark.parametrize(
    "n_steps, n_samples, expected",
    [
        (1000, 1, [(999, -1)]),
        (1000, 5, [(999, 799), (799, 599), (599, 399), (399, 199), (199, -1)]),
        (10, 3, [(9, 5), (5, 2), (2, -1)]),
        (3, 3, [(2, 1), (1, 0), (0, -1)]),
        (2, 5, [(1, 0), (0, -1)]),
        (1, 1, [(0, -1)]),
    ],
)
def test_sampling_times_are_an_arithmetic_subsequence(
    n_steps: int, n_samples: int, expected: List[Tuple[int, int]]
) -> None:
    assert sampling_times(n_steps, n_samples) == expected


# -------------------------------------------------------------------- noising


def test_add_noise_at_the_first_step_changes_next_to_nothing() -> None:
    signal = torch.tensor([[[-1.0, 0.5]]])
    noisy = add_noise(signal, torch.ones(1, 1, 2), signal_shares("cosine", 1000)[:1])
    assert noisy.flatten().tolist() == pytest.approx([-1.0, 0.5], abs=0.01)


def test_add_noise_at_the_last_step_leaves_next_to_nothing() -> None:
    noise = torch.tensor([[[0.3, -2.0]]])
    shares = signal_shares("cosine", 1000)[-1:]
    noisy = add_noise(torch.ones(1, 1, 2), noise, shares)
    assert noisy.flatten().tolist() == pytest.approx([0.3, -2.0], abs=1e-3)


def test_add_noise_by_hand_with_a_share_of_its_own_for_each_window() -> None:
    signal = torch.tensor([[[1.0, -1.0]], [[1.0, -1.0]]])
    noise = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]])
    noisy = add_noise(signal, noise, torch.tensor([0.64, 0.36]))
    assert noisy.flatten().tolist() == pytest.approx(
        [0.8 + 0.3, -0.8 + 0.3, 0.6 + 0.4, -0.6 + 0.4]
    )


def step(
    noisy: float, signal: float, share: float, target: float, eta: float = 0.0
) -> float:
    x, clean, fresh = (torch.tensor([value]) for value in (noisy, signal, 2.0))
    return denoise_step(x, clean, fresh, share=share, target=target, eta=eta).item()


def test_denoise_step_by_hand() -> None:
    # x_t = 0.8 · 1 + 0.6 · 0.5 = 1.1; to ᾱ = 0.36: 0.6 · 1 + 0.8 · 0.5.
    assert step(1.1, 1.0, 0.64, 0.36) == pytest.approx(1.0)


def test_denoise_step_takes_another_estimate_for_other_noise() -> None:
    # x_t = 1.1 and x_0 = 0 mean ε = 1.1 / 0.6.
    assert step(1.1, 0.0, 0.64, 0.84) == pytest.approx(0.4 * 1.1 / 0.6)


def test_denoise_step_with_new_noise_by_hand() -> None:
    # σ² = 0.36 / 0.64 · (1 - 0.36 / 0.64) = 0.24609375; ε = (1.0 - 0.6) / 0.8 = 0.5.
    kept = math.sqrt(0.36 - 0.24609375)
    expected = 0.8 * 1.0 + kept * 0.5 + math.sqrt(0.24609375) * 2.0
    assert step(1.0, 1.0, 0.36, 0.64, eta=1.0) == pytest.approx(expected)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_denoise_step_without_noise_left_is_the_estimate(eta: float) -> None:
    assert step(5.0, -0.2, 0.1, 1.0, eta) == pytest.approx(-0.2)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_denoise_step_leaves_as_much_noise_as_the_forward_process(eta: float) -> None:
    generator = torch.Generator().manual_seed(0)
    noise, fresh = torch.randn(2, 100_000, generator=generator).double()
    later = math.sqrt(0.3) * 1.5 + math.sqrt(0.7) * noise
    earlier = denoise_step(
        later, torch.tensor(1.5), fresh, share=0.3, target=0.6, eta=eta
    )
    assert earlier.mean().item() == pytest.approx(math.sqrt(0.6) * 1.5, abs=0.01)
    assert earlier.var().item() == pytest.approx(0.4, abs=0.01)


@given(
    signal=st.floats(-2, 2),
    noise=st.floats(-3, 3),
    share=st.floats(0.01, 0.98),
    target=st.floats(0.01, 1.0),
)
@settings(deadline=None)
def test_denoise_step_with_the_truth_goes_back_along_the_noise(
    signal: float, noise: float, share: float, target: float
) -> None:
    shares = torch.tensor([share, target], dtype=torch.float64)
    x, e = (torch.full((2, 1, 2), v, dtype=torch.float64) for v in (signal, noise))
    later, earlier = add_noise(x, e, shares)
    found = denoise_step(later, x[0], x[0], share=share, target=target, eta=0.0)
    torch.testing.assert_close(found, earlier)


# ------------------------------------------------------------------- rounding


def signal_of(start: int, last: int, length: int, scale: float = 1.0) -> List[float]:
    signal = Signal(scale).of_tokens(
        torch.tensor([[start]]), torch.tensor([[last]]), torch.tensor([length])
    )
    return signal.flatten().tolist()


def tokens_of(signal: List[float], length: int, scale: float = 1.0) -> Tuple[int, int]:
    numbers = torch.tensor([[signal]])
    spans = Signal(scale).to_tokens(numbers, torch.tensor([length]))
    return int(spans.start), int(spans.last)


@pytest.mark.parametrize(
    "start, last, length, scale, expected",
    [
        (0, 0, 1, 1.0, [-1.0, -1.0]),
        (0, 0, 2, 1.0, [-1.0, -1.0]),
        (1, 1, 2, 1.0, [1.0, -1.0]),
        (0, 1, 2, 1.0, [-1.0, 1.0]),
        (0, 9, 10, 1.0, [-1.0, 1.0]),
        (9, 9, 10, 1.0, [1.0, -1.0]),
        (3, 6, 10, 2.0, [-2 / 3, -2 / 3]),
    ],
)
def test_of_tokens_by_hand(
    start: int, last: int, length: int, scale: float, expected: List[float]
) -> None:
    assert signal_of(start, last, length, scale) == pytest.approx(expected)


@pytest.mark.parametrize(
    "signal, length, expected",
    [
        ([0.9, 0.9], 1, (0, 0)),
        ([-5.0, 5.0], 1, (0, 0)),
        ([-0.1, -0.1], 2, (0, 0)),
        ([0.1, -0.1], 2, (1, 1)),
        ([-0.1, 0.1], 2, (0, 1)),
        ([0.1, 0.1], 2, (1, 1)),  # as wide as the window allows
        ([-3.0, 3.0], 10, (0, 9)),
        ([3.0, 3.0], 10, (9, 9)),
        ([0.0, -1.0], 9, (4, 4)),
        ([-1.0, 0.0], 9, (0, 4)),
    ],
)
def test_to_tokens_by_hand(
    signal: List[float], length: int, expected: Tuple[int, int]
) -> None:
    assert tokens_of(signal, length) == expected


def test_to_tokens_with_a_larger_scale_reads_the_same_number_nearer_to_the_middle() -> (
    None
):
    assert tokens_of([1.0, -1.0], 9, scale=2.0) == (6, 8)


@pytest.mark.parametrize("noise_on", NOISE_ON)
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("length", [1, 2, 3, 10, 256])
def test_to_tokens_undoes_of_tokens(length: int, scale: float, noise_on: str) -> None:
    pairs = [(s, e) for s in range(length) for e in range(s, length)][
        :: 1 + length // 9
    ]
    start, last = (torch.tensor([column]) for column in zip(*pairs))
    lengths = torch.tensor([length])
    signal = Signal(scale, noise_on)
    spans = signal.to_tokens(signal.of_tokens(start, last, lengths), lengths)
    assert torch.equal(spans.start, start) and torch.equal(spans.last, last)


def windows_and_noise() -> st.SearchStrategy:
    numbers = st.floats(-10, 10, width=32)
    return st.tuples(st.integers(1, 300), st.lists(numbers, min_size=2, max_size=2))


@pytest.mark.parametrize("noise_on", NOISE_ON)
@given(rows=st.lists(windows_and_noise(), min_size=1, max_size=4))
@settings(deadline=None)
def test_to_tokens_of_anything_lies_inside_its_window(
    rows: List, noise_on: str
) -> None:
    lengths = torch.tensor([length for length, _ in rows])
    signal: Tensor = torch.tensor([[numbers] for _, numbers in rows])
    spans = Signal(1.0, noise_on).to_tokens(signal, lengths)
    assert bool((spans.start >= 0).all())
    assert bool((spans.start <= spans.last).all())
    assert bool((spans.last < lengths[:, None]).all())
