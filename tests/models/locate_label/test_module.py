"""The networks: equations, edges of windows, padding, gradients."""

from typing import Any, Dict, List, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.locate_label import module as module_file
from spacy_spanner.models.locate_label.module import (
    OFFSETS,
    LocateLabelModule,
    LocateLabelSettings,
    SpanMLP,
    SpanReader,
    Spans,
)
from spacy_spanner.spans.geometry import enumerate_spans

WIDTH, N_LABELS = 3, 2
LSTM_WIDTHS = [0, 4]
STAGES = ["filter", "regress", "classify"]


def build(seed: int = 0, **changes: Any) -> LocateLabelModule:
    torch.manual_seed(seed)
    settings = {
        "lstm_width": 4,
        "hidden_width": 5,
        "offsets": "linear",
        "dropout": 0.2,
        "input_dropout": 0.1,
    }
    return LocateLabelModule(
        WIDTH, N_LABELS, LocateLabelSettings(**{**settings, **changes})
    ).double()


def windows(lengths: Sequence[int]) -> WindowBatch:
    """Random vectors, zero where padded."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths), WIDTH)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    batch = WindowBatch(vectors, np.asarray(lengths))
    return batch._replace(vectors=vectors * batch.mask[:, :, None])


def every_span(lengths: Sequence[int]) -> Spans:
    return Spans(*map(torch.as_tensor, enumerate_spans(np.asarray(lengths))))


def answers(module: LocateLabelModule, batch: WindowBatch, stage: str) -> Tensor:
    reader: SpanReader = module(batch)
    return getattr(reader, stage)(every_span(batch.lengths))


def all_answers(module: LocateLabelModule, batch: WindowBatch) -> Tensor:
    """Join the answers of all stages: (span, number)."""
    columns = [answers(module, batch, stage) for stage in STAGES]
    return torch.cat([columns[0][:, None], *columns[1:]], dim=1)


def concatenated(mlp: SpanMLP, *vectors: Tensor) -> Tensor:
    """Apply an MLP with its first layer written as one matrix."""
    weight = torch.cat([mlp.pooled.weight, mlp.left.weight, mlp.right.weight], dim=1)
    hidden = F.linear(torch.cat(vectors), weight, mlp.pooled.bias)
    return mlp.output(F.gelu(hidden))


# ------------------------------------------------------------------ equations


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_equals_the_equations_span_by_span(lstm_width: int) -> None:
    module = build(lstm_width=lstm_width).eval()
    batch = windows([5, 2])
    vectors = module.lstm(batch).vectors
    rows: List[Tensor] = []
    for window, start, last in zip(*map(torch.Tensor.tolist, every_span([5, 2]))):
        h = vectors[window, : [5, 2][window]]
        pooled = h[start : last + 1].amax(dim=0)
        before = h[start - 1] if start else module.edges[0]
        behind = h[last + 1] if last + 1 < len(h) else module.edges[1]
        inside = (pooled, h[start], h[last])
        scores = [
            concatenated(module.filter_mlp, *inside),
            concatenated(module.offset_mlp, pooled, before, behind),
            concatenated(module.class_mlp, *inside),
        ]
        rows.append(torch.cat(scores))
    torch.testing.assert_close(all_answers(module, batch), torch.stack(rows))


def test_module_answers_have_one_row_a_span() -> None:
    module, batch = build(), windows([3, 2])
    assert answers(module, batch, "filter").shape == (6 + 3,)
    assert answers(module, batch, "regress").shape == (6 + 3, 2)
    assert answers(module, batch, "classify").shape == (6 + 3, N_LABELS + 1)


def test_module_answers_the_given_spans_in_the_given_order() -> None:
    module, batch = build().eval(), windows([3, 2])
    chosen = torch.tensor([8, 2, 2])
    spans = every_span([3, 2]).take(chosen)
    for stage in STAGES:
        found = getattr(module(batch), stage)(spans)
        torch.testing.assert_close(found, answers(module, batch, stage)[chosen])


@pytest.mark.parametrize("stage", STAGES)
def test_module_answers_nothing_about_no_spans(stage: str) -> None:
    none = torch.zeros(0, dtype=torch.int64)
    found = getattr(build()(windows([3])), stage)(Spans(none, none, none))
    assert len(found) == 0


def test_module_in_chunks_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    module, batch = build().eval(), windows([5, 2])
    expected = all_answers(module, batch)
    monkeypatch.setattr(module_file, "SPANS_AT_ONCE", 4)
    torch.testing.assert_close(all_answers(module, batch), expected)


def test_squashed_offsets_stay_within_a_window_and_move_both_ways() -> None:
    linear, squashed = (
        build(offsets=offsets, lstm_width=0).eval()
        for offsets in ("linear", "squashed")
    )
    squashed.load_state_dict(linear.state_dict())
    batch = windows([5, 2])
    raw = answers(linear, batch, "regress")
    length = torch.tensor([5.0] * 15 + [2.0] * 3)[:, None]
    expected = (2 * torch.sigmoid(raw) - 1) * length
    found = answers(squashed, batch, "regress")
    torch.testing.assert_close(found, expected)
    assert (found < 0).any() and (found > 0).any()


@pytest.mark.parametrize("offsets", OFFSETS)
def test_module_moves_hardly_any_boundary_at_first(offsets: str) -> None:
    found = answers(build(offsets=offsets), windows([128]), "regress")
    assert (found.abs() >= 0.5).double().mean() < 0.01
    assert found.any()


# -------------------------------------------------------------------- padding


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_answers_for_a_window_alone_as_in_a_padded_batch(
    lstm_width: int,
) -> None:
    module, lengths = build(lstm_width=lstm_width).eval(), [2, 5, 1, 4]
    batch = windows(lengths)
    alone = [
        WindowBatch(batch.vectors[[row], :length], np.asarray([length]))
        for row, length in enumerate(lengths)
    ]
    expected = torch.cat([all_answers(module, window) for window in alone])
    torch.testing.assert_close(all_answers(module, batch), expected)


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_does_not_read_behind_the_end_of_a_window(lstm_width: int) -> None:
    module, batch = build(lstm_width=lstm_width).eval(), windows([2, 5])
    garbage = batch.vectors.masked_fill(~batch.mask[:, :, None], 1e3)
    found = all_answers(module, batch._replace(vectors=garbage))
    torch.testing.assert_close(found, all_answers(module, batch))


# --------------------------------------------------------- gradients and seeds


def test_module_gives_every_parameter_a_gradient() -> None:
    module = build().train()
    all_answers(module, windows([5, 3])).square().sum().backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_has_exact_gradients(lstm_width: int) -> None:
    module, batch = build(lstm_width=lstm_width).eval(), windows([3, 2])

    def run(vectors: Tensor) -> Tensor:
        return all_answers(module, batch._replace(vectors=vectors))

    assert torch.autograd.gradcheck(run, batch.vectors.clone().requires_grad_())


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_sends_no_gradient_into_padding(lstm_width: int) -> None:
    module, batch = build(lstm_width=lstm_width), windows([2, 4])
    vectors = batch.vectors.clone().requires_grad_()
    all_answers(module, batch._replace(vectors=vectors)).square().sum().backward()
    assert vectors.grad is not None
    assert not vectors.grad[~batch.mask].any()
    assert vectors.grad[batch.mask].any(dim=1).all()


def test_module_of_one_seed_is_the_same_twice() -> None:
    batch = windows([4])
    first, second = (all_answers(build(seed=3).eval(), batch) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    other = all_answers(build(seed=4).eval(), batch)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize("rate", ["dropout", "input_dropout"])
@pytest.mark.parametrize("stage", STAGES)
def test_module_drops_in_training_only(rate: str, stage: str) -> None:
    rates: Dict[str, Any] = {"dropout": 0.0, "input_dropout": 0.0, rate: 0.5}
    module, batch = build(**rates), windows([4])
    module.eval()
    first, second = (answers(module, batch, stage) for _ in range(2))
    torch.testing.assert_close(first, second)
    module.train()
    first, second = (answers(module, batch, stage) for _ in range(2))
    assert not torch.allclose(first, second)
