"""The bidirectional LSTM over windows."""

from typing import Any, Sequence, Set, Tuple

import numpy as np
import pytest
import torch

from spacy_spanner.models.blocks.lstm import (
    BiLSTM,
    _read_by_length,
    _read_packed,
    _read_padded,
    read_rows,
    round_up,
)
from spacy_spanner.models.codec import WindowBatch

N_IN, N_OUT = 3, 4


def build(dropout: float = 0.0) -> BiLSTM:
    torch.manual_seed(0)
    return BiLSTM(N_IN, N_OUT, dropout=dropout).double()


def windows(lengths: Sequence[int]) -> WindowBatch:
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths), N_IN)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    return WindowBatch(vectors, np.asarray(lengths))


def test_bilstm_keeps_tokens_and_gives_the_width_asked_for() -> None:
    batch = build()(windows([2, 5, 1]))
    assert batch.vectors.shape == (3, 5, N_OUT)
    assert batch.lengths.tolist() == [2, 5, 1]


def test_bilstm_reads_a_window_alone_as_in_a_padded_batch() -> None:
    lstm, batch = build(), windows([2, 5, 1, 4])
    together = lstm(batch).vectors
    for row, length in enumerate([2, 5, 1, 4]):
        alone = WindowBatch(batch.vectors[[row], :length], np.asarray([length]))
        torch.testing.assert_close(together[[row], :length], lstm(alone).vectors)


def test_bilstm_does_not_read_padding() -> None:
    lstm, batch = build(), windows([2, 5])
    garbage = batch.vectors.masked_fill(~batch.mask[:, :, None], 1e3)
    torch.testing.assert_close(
        lstm(batch).vectors, lstm(batch._replace(vectors=garbage)).vectors
    )


def test_bilstm_writes_zeros_into_padding() -> None:
    batch = windows([2, 5])
    assert not build()(batch).vectors[~batch.mask].any()


def test_bilstm_keeps_padding_that_no_window_fills() -> None:
    batch = windows([2, 5])._replace(lengths=np.asarray([2, 3]))
    vectors = build()(batch).vectors
    assert vectors.shape == (2, 5, N_OUT)
    assert not vectors[:, 3:].any()


def test_bilstm_does_not_depend_on_the_order_of_windows() -> None:
    lstm, batch = build(), windows([2, 5, 4])
    order = [2, 0, 1]
    moved = WindowBatch(batch.vectors[order], batch.lengths[order])
    torch.testing.assert_close(lstm(batch).vectors[order], lstm(moved).vectors)


@pytest.mark.parametrize("changed, seen_at", [(0, 3), (3, 0)])
def test_bilstm_carries_context_in_both_directions(changed: int, seen_at: int) -> None:
    lstm, batch = build(), windows([4])
    vectors = batch.vectors.clone()
    vectors[0, changed] += 1
    before = lstm(batch).vectors[0, seen_at]
    after = lstm(batch._replace(vectors=vectors)).vectors[0, seen_at]
    assert not torch.allclose(before, after)


def test_bilstm_starts_with_open_forget_gates() -> None:
    parameters = dict(build().lstm.named_parameters())
    # Gates of two units each: input, forget, cell, output.
    for direction in ("", "_reverse"):
        bias = (
            parameters[f"bias_ih_l0{direction}"] + parameters[f"bias_hh_l0{direction}"]
        )
        assert bias.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


def test_bilstm_has_exact_gradients() -> None:
    lstm, batch = build(), windows([3, 2])

    def run(vectors: torch.Tensor) -> torch.Tensor:
        return lstm(batch._replace(vectors=vectors)).vectors

    assert torch.autograd.gradcheck(run, batch.vectors.requires_grad_())


def test_bilstm_gives_every_parameter_a_gradient() -> None:
    lstm = build()
    lstm(windows([3, 2])).vectors.square().sum().backward()
    for parameter in lstm.parameters():
        assert parameter.grad is not None
        assert parameter.grad.any()


def test_bilstm_drops_inputs_in_training_only() -> None:
    lstm, batch = build(dropout=0.5), windows([4])
    assert not torch.allclose(lstm(batch).vectors, lstm(batch).vectors)
    lstm.eval()
    torch.testing.assert_close(lstm(batch).vectors, lstm(batch).vectors)


@pytest.mark.parametrize(
    "lengths", [[1], [3, 1], [2, 7, 1, 7], [40, 39, 38], [2, 30, 1]]
)
@pytest.mark.parametrize("padding", [0.0, -torch.inf])
def test_rows_that_are_turned_around_are_read_as_packed_ones(
    lengths: Sequence[int], padding: float
) -> None:
    lstm, batch = build().float().lstm, windows(lengths)
    found = []
    for read in (_read_packed, _read_padded, _read_by_length):
        vectors = batch.vectors.float().requires_grad_()
        lstm.zero_grad()
        result = read(lstm, vectors, batch.lengths, padding)
        result[batch.mask].square().sum().backward()
        gradients = [weight.grad for weight in lstm.parameters()]
        found.append((result, vectors.grad, *gradients))
    for packed, *others in zip(*found):
        for other in others:
            torch.testing.assert_close(packed, other, rtol=1e-5, atol=1e-5)


def test_rows_are_read_the_same_where_most_of_a_batch_is_padding() -> None:
    lstm, batch = build().float(), windows([50, 1, 2, 1])
    batch = batch._replace(vectors=batch.vectors.float())
    together = lstm(batch).vectors
    alone = WindowBatch(batch.vectors[:1], batch.lengths[:1])
    torch.testing.assert_close(together[:1], lstm(alone).vectors)


@pytest.mark.parametrize("lengths", [[33], [70, 70], [45, 60, 50], [36] * 40])
@pytest.mark.parametrize("padding", [0.0, -torch.inf])
def test_rows_of_rounded_sizes_are_read_as_they_are(
    lengths: Sequence[int], padding: float
) -> None:
    lstm, batch = build().float().lstm, windows(lengths)
    vectors = batch.vectors.float()
    expected = _read_packed(lstm, vectors, batch.lengths, padding)
    with torch.no_grad():
        found = read_rows(lstm, vectors, batch.lengths, padding=padding)
    torch.testing.assert_close(found, expected.detach())


def test_prediction_of_all_lengths_has_few_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """oneDNN keeps compiled code for each size: it must not grow with the texts."""
    sizes: Set[Tuple[int, ...]] = set()
    original = torch.lstm

    def read(vectors: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        sizes.add(tuple(vectors.shape))
        return original(vectors, *args, **kwargs)

    monkeypatch.setattr(torch, "lstm", read)
    monkeypatch.setattr(torch._VF, "lstm", read)
    lstm = build().float()
    with torch.no_grad():
        for length in range(1, 513):
            batch = WindowBatch(torch.zeros(1, length, N_IN), np.asarray([length]))
            assert lstm(batch).vectors.shape[1] == length
    assert len(sizes) <= 32 + 4 * 16
    assert max(sizes) == (1, 512, N_IN)


def test_sizes_are_rounded_up_by_little() -> None:
    rounded = {size: round_up(size) for size in range(1, 5000)}
    assert all(size <= up <= size * 17 / 16 for size, up in rounded.items())
    assert all(rounded[size] == size for size in range(1, 33))
    assert all(round_up(up) == up for up in rounded.values() if up < 5000)
