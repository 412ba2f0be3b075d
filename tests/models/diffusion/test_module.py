"""The denoiser: padding, gradients, and what it is told."""

from typing import Any, Sequence, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.diffusion.module import (
    Denoised,
    DiffusionModule,
    DiffusionSettings,
)
from spacy_spanner.models.diffusion.noise import TokenSpans

WIDTH, N_LABELS = 6, 2
VARIANTS = [
    {},
    {"lstm_width": 0},
    {"self_attention": False},
    {"cross_attention": False},
    {"self_attention": False, "cross_attention": False, "n_layers": 2},
    {"n_layers": 0},
    {"pooling": "mean", "pointer": "sum", "classifier": "noisy"},
    {"pooling": "boundaries"},
    {"lstm_layers": 2},
    {
        "pointer": "mlp",
        "classifier": "noisy",
        "timestep": "output",
        "distance_bias": False,
        "width_embedding": False,
        "position_embedding": True,
    },
]


def build(seed: int = 0, **changes: Any) -> DiffusionModule:
    torch.manual_seed(seed)
    options = {
        "lstm_width": 4,
        "hidden_width": 8,
        "ffn_width": 10,
        "n_layers": 1,
        "n_heads": 2,
        "self_attention": True,
        "cross_attention": True,
        "pooling": "both",
        "pointer": "product",
        "classifier": "denoised",
        "n_widths": 3,
        "dropout": 0.2,
        "input_dropout": 0.1,
    }
    module = DiffusionModule(
        WIDTH,
        N_LABELS,
        DiffusionSettings(**{**options, **changes}),  # type: ignore[arg-type]
    )
    for name, weight in module.named_parameters():
        if (
            "distance" in name or ".bias.start" in name or ".bias.last" in name
        ):  # begins at 0, which would hide mistakes
            torch.nn.init.normal_(weight)
    return module


def windows(lengths: Sequence[int]) -> WindowBatch:
    """Random vectors, zero where padded."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths), WIDTH)
    vectors = torch.randn(shape, generator=generator)
    batch = WindowBatch(vectors, np.asarray(lengths))
    return batch._replace(vectors=vectors * batch.mask[:, :, None])


def noisy_spans(lengths: Sequence[int], n_spans: int = 3) -> TokenSpans:
    rng = np.random.default_rng(0)
    limit = np.asarray(lengths)[:, None, None]
    ends = np.sort(rng.integers(limit, size=(len(lengths), n_spans, 2)))
    return TokenSpans(torch.tensor(ends[:, :, 0]), torch.tensor(ends[:, :, 1]))


def run(module: DiffusionModule, batch: WindowBatch) -> Tuple[Denoised, Tensor]:
    spans = noisy_spans(batch.lengths.tolist())
    time = torch.arange(len(batch.lengths)) * 7
    memory = module.encode(batch)
    denoised = module(memory, spans, module.moments(memory, time))
    return denoised, module.classify(memory, denoised.state, spans)


# --------------------------------------------------------------------- padding


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_module_gives_a_window_the_same_scores_alone_and_in_a_batch(
    variant: Any,
) -> None:
    module, lengths = build(**variant).eval(), [2, 5, 1, 4]
    batch, spans = windows(lengths), noisy_spans(lengths)
    together, classes = run(module, batch)
    for row, length in enumerate(lengths):
        window = WindowBatch(batch.vectors[[row], :length], np.asarray([length]))
        memory = module.encode(window)
        own = TokenSpans(spans.start[[row]], spans.last[[row]])
        alone = module(memory, own, module.moments(memory, torch.tensor([row * 7])))
        torch.testing.assert_close(alone.start, together.start[[row], :, :length])
        torch.testing.assert_close(alone.last, together.last[[row], :, :length])
        named = module.classify(memory, alone.state, own)
        torch.testing.assert_close(named, classes[[row]])


def test_module_knows_no_absolute_positions() -> None:
    module = build(lstm_width=0, cross_attention=False).eval()
    vectors = windows([9]).vectors
    spans = TokenSpans(torch.tensor([[4]]), torch.tensor([[6]]))
    memory = module.encode(WindowBatch(vectors, np.asarray([9])))
    cut = module.encode(WindowBatch(vectors[:, 3:], np.asarray([6])))
    moved = TokenSpans(spans.start - 3, spans.last - 3)
    time = torch.tensor([9])
    torch.testing.assert_close(
        module(memory, spans, module.moments(memory, time)).start[:, :, 3:],
        module(cut, moved, module.moments(cut, time)).start,
    )


def test_module_does_not_read_behind_the_end_of_a_window() -> None:
    module, batch = build().eval(), windows([2, 5])
    garbage = batch.vectors.masked_fill(~batch.mask[:, :, None], 1e3)
    (one, names), (other, others) = (
        run(module, batch),
        run(module, batch._replace(vectors=garbage)),
    )
    torch.testing.assert_close(one.start, other.start)
    torch.testing.assert_close(names, others)


def test_module_never_points_behind_the_end_of_a_window() -> None:
    denoised, _ = run(build().eval(), windows([2, 5]))
    for scores in (denoised.start, denoised.last):
        assert not scores.softmax(dim=-1)[0, :, 2:].any()


def test_memory_repeated_and_taken_is_that_of_the_windows() -> None:
    module, batch = build().eval(), windows([2, 5, 3])
    memory = module.encode(batch).repeat(2).take(slice(2, 4))
    own = module.encode(WindowBatch(batch.vectors[[1, 1]], np.asarray([5, 5])))
    spans = noisy_spans([5, 5])
    time = torch.tensor([3, 4])
    torch.testing.assert_close(
        module(memory, spans, module.moments(memory, time)).last,
        module(own, spans, module.moments(own, time)).last,
    )


# --------------------------------------------------------- gradients and seeds


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_module_gives_every_parameter_a_gradient(variant: Any) -> None:
    module = build(**variant).train()
    denoised, classes = run(module, windows([5, 3]))
    total = denoised.start.softmax(-1).square().sum() + classes.square().sum()
    (total + denoised.last.softmax(-1).square().sum()).backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    # A constant on all keys changes no softmax.
    assert [name for name in silent if not name.endswith("key.bias")] == []


def test_module_of_one_seed_is_the_same_twice() -> None:
    (first, _), (second, _) = (run(build(seed=3).eval(), windows([4])) for _ in "ab")
    torch.testing.assert_close(first.start, second.start, rtol=0, atol=0)


@pytest.mark.parametrize("rate", ["dropout", "input_dropout"])
def test_module_drops_in_training_only(rate: str) -> None:
    module = build(**{"dropout": 0.0, "input_dropout": 0.0, rate: 0.5})
    batch = windows([4])

    def once() -> Tensor:
        return run(module, batch)[0].start

    module.eval()
    torch.testing.assert_close(once(), once())
    module.train()
    assert not torch.allclose(once(), once())


# ------------------------------------------------------------------- what counts


def changed(module: DiffusionModule, spans: TokenSpans, time: int) -> Tensor:
    memory = module.eval().encode(windows([5]))
    return module(memory, spans, module.moments(memory, torch.tensor([time]))).start[
        0, 0
    ]


def test_module_is_told_the_timestep_and_both_boundaries() -> None:
    module = build()

    def at(start: int, last: int, time: int) -> Tensor:
        spans = TokenSpans(torch.tensor([[start]]), torch.tensor([[last]]))
        return changed(module, spans, time)

    first = at(1, 3, 10)
    for other in (at(0, 3, 10), at(1, 2, 10), at(1, 3, 500)):
        assert not torch.allclose(first, other)


@pytest.mark.parametrize("among_spans", [True, False])
def test_module_with_self_attention_only_hears_of_other_spans(
    among_spans: bool,
) -> None:
    module = build(self_attention=among_spans)
    one = TokenSpans(torch.tensor([[1, 0]]), torch.tensor([[3, 0]]))
    other = TokenSpans(torch.tensor([[1, 4]]), torch.tensor([[3, 4]]))
    same = torch.allclose(changed(module, one, 10), changed(module, other, 10))
    assert same != among_spans


def test_module_names_a_denoised_span_the_same_whatever_it_came_from() -> None:
    module = build().eval()
    memory, spans = module.encode(windows([5])), noisy_spans([5])
    states = [
        module(memory, noisy, module.moments(memory, torch.tensor([time]))).state
        for noisy, time in ((spans, 900), (noisy_spans([2]), 3))
    ]
    assert not torch.allclose(*states)
    torch.testing.assert_close(*(module.classify(memory, s, spans) for s in states))
