"""The offset network: shapes, types, padding, gradients, seeds."""

from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset.module import OffsetModule, OffsetSettings

WIDTH, N_LABELS = 3, 2
SETTINGS: List[Dict[str, Any]] = [
    {},
    {"lstm_width": 0},
    {"conv_layers": 0},
    {"type_inputs": True},
    {"span_network": True},
    {"conv_kind": "full", "conv_residual": False},
    {"type_inputs": True, "type_embeddings": False, "type_lstm": True},
    {
        "type_inputs": True,
        "type_embeddings": False,
        "type_lstm": True,
        "span_network": True,
        "conv_kind": "full",
        "conv_residual": False,
    },
]


def build(seed: int = 0, size: int = 1, sides: str = "both", **changes: Any) -> Any:
    """Make a small module whose weights are large enough for every part to matter."""
    torch.manual_seed(seed)
    settings = {
        "type_inputs": False,
        "lstm_width": 4,
        "hidden_width": 6,
        "max_offset": size,
        "offset_sides": sides,
        "region_embedding": 2,
        "distance_embedding": 2,
        "n_distances": 4,
        "conv_layers": 2,
        "conv_width": 3,
        "conv_types": True,
        "dropout": 0.2,
        "input_dropout": 0.1,
    }
    module = OffsetModule(WIDTH, N_LABELS, OffsetSettings(**{**settings, **changes}))
    if module.convolution is not None:
        torch.nn.init.normal_(module.convolution.outer.weight)
    return module.double()


def windows(lengths: Sequence[int]) -> WindowBatch:
    """Random vectors of tokens, zero where padded, and of types."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths), WIDTH)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    types = torch.randn(
        (len(lengths), N_LABELS, WIDTH), generator=generator, dtype=torch.float64
    )
    batch = WindowBatch(vectors, np.asarray(lengths), types)
    return batch._replace(vectors=vectors * batch.mask[:, :, None])


@pytest.mark.parametrize(
    "size,sides,n_classes", [(0, "both", 2), (1, "both", 6), (2, "start", 6)]
)
def test_module_scores_every_class_of_every_pair_and_label(
    size: int, sides: str, n_classes: int
) -> None:
    scores = build(size=size, sides=sides)(windows([3, 2]))
    assert scores.shape == (2, 3, 3, N_LABELS, n_classes)


def test_module_expects_entities_to_be_rare_at_the_start() -> None:
    probabilities = build(lstm_width=0, conv_layers=0)(windows([4])).softmax(dim=-1)
    assert probabilities[..., 0].min() > 0.9


def test_module_reads_types_of_the_encoder_if_asked_to() -> None:
    batch = windows([3, 2])
    other = batch._replace(types=batch.types + 1)
    with_types = build(type_inputs=True).eval()
    assert not torch.allclose(with_types(batch), with_types(other))
    without = build().eval()
    torch.testing.assert_close(without(batch), without(other))


def test_module_tells_labels_apart_whose_types_the_encoder_confuses() -> None:
    batch = windows([3])
    assert batch.types is not None
    same = batch._replace(types=batch.types[:, :1].expand(-1, N_LABELS, -1))
    scores = build(type_inputs=True).eval()(same)
    assert not torch.allclose(scores[:, :, :, 0], scores[:, :, :, 1])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_module_scores_a_window_alone_as_in_a_padded_batch(settings: dict) -> None:
    module, lengths = build(**settings).eval(), [2, 5, 1, 4]
    batch = windows(lengths)
    together = module(batch)
    for row, length in enumerate(lengths):
        alone = WindowBatch(
            batch.vectors[[row], :length],
            np.asarray([length]),
            batch.types[[row]],  # type: ignore[index]
        )
        torch.testing.assert_close(together[[row], :length, :length], module(alone))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_module_does_not_read_behind_the_end_of_a_window(settings: dict) -> None:
    module, batch = build(**settings).eval(), windows([2, 5])
    garbage = batch.vectors.masked_fill(~batch.mask[:, :, None], 1e3)
    real = batch.mask[:, :, None] & batch.mask[:, None, :]
    torch.testing.assert_close(
        module(batch)[real], module(batch._replace(vectors=garbage))[real]
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_module_gives_every_parameter_a_gradient(settings: dict) -> None:
    module = build(**settings).train()
    module(windows([5, 3])).square().sum().backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_module_has_exact_gradients(settings: dict) -> None:
    module, batch = build(**settings).eval(), windows([3, 2])
    real = batch.mask[:, :, None] & batch.mask[:, None, :]

    def run(vectors: Tensor, types: Optional[Tensor]) -> Tensor:
        return module(batch._replace(vectors=vectors, types=types))[real]

    leaves = [batch.vectors.clone().requires_grad_(), batch.types]
    if settings.get("type_inputs"):
        leaves[1] = leaves[1].clone().requires_grad_()  # type: ignore[union-attr]
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)


def test_module_of_one_seed_is_the_same_twice_and_draws_the_same_dropout() -> None:
    batch = windows([4])
    first, second = (build(seed=3).train()(batch) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert not torch.allclose(first, build(seed=4).train()(batch))


@pytest.mark.parametrize("rate", ["dropout", "input_dropout"])
def test_module_drops_in_training_only(rate: str) -> None:
    module = build(**{"dropout": 0.0, "input_dropout": 0.0, rate: 0.5})
    batch = windows([4])
    module.eval()
    torch.testing.assert_close(module(batch), module(batch))
    module.train()
    assert not torch.allclose(module(batch), module(batch))


@pytest.mark.parametrize("size,layers,per_label", [(0, 0, 2), (1, 0, 6), (1, 2, 15)])
def test_module_tells_how_many_numbers_a_pair_of_tokens_costs(
    size: int, layers: int, per_label: int
) -> None:
    # 3 channels in front of the layers, and behind each.
    module = build(size=size, conv_layers=layers)
    assert module.scores_per_pair == N_LABELS * per_label
