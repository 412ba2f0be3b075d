"""Modules and codecs of all models on a device that is not the CPU."""

import copy
from typing import Any, Dict, List, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.scored_spans import Candidates
from spacy_spanner.spans.table import SpanTable

from ..helpers import FACTORIES, blank_pipeline, make_examples, small_model, train
from .elsewhere import ELSEWHERE, Elsewhere, FarTensor, MixedDevicesError, far, move

LENGTHS = np.asarray([7, 4, 1])
GOLD = [
    SpanTable.of([(0, 4, 0), (1, 2, 1), (1, 2, 2), (5, 7, 0)]),
    SpanTable.empty(),
    SpanTable.of([(0, 1, 2)]),
]
DATA = (("a b c d e f g", [(0, 4, "A"), (1, 2, "B"), (5, 7, "C")]),)

# Settings and architectures that have code of their own.
VARIANTS: List[Any] = [
    ("span_biaffine", {}, {}),
    ("span_biaffine", {"multilabel": True, "max_width": 3}, {}),
    ("span_biaffine", {"label_smoothing": 0.1, "boundary_smoothing": 0.0}, {}),
    ("span_locate_label", {}, {}),
    ("span_locate_label", {"use_filter": False, "use_regressor": False}, {}),
    ("span_locate_label", {"soft_examples": 1.0}, {"offsets": "squashed"}),
    ("span_offset", {"decoding": "votes"}, {}),
    ("span_offset", {"decoding": "all_votes"}, {"conv_layers": 2, "conv_types": True}),
    ("span_offset", {"label_smoothing": 0.01}, {"offset_sides": "start"}),
    ("span_diffusion", {"steps": 3, "spans": 10, "train_spans": 10}, {}),
    (
        "span_diffusion",
        {"steps": 2, "spans": 10, "repeats": None, "expansion": "random"},
        {"self_attention": True, "pooling": "mean", "n_layers": 2},
    ),
]


def variant_id(variant: Any) -> str:
    return "-".join(
        [variant[0], *map(str, [*variant[1].values(), *variant[2].values()])]
    )


class Setup(NamedTuple):
    """A head without weights that have learned anything, and a batch for it."""

    module: nn.Module
    codec: Any
    vectors: Tensor
    targets: Any

    def batch(self, vectors: Tensor) -> WindowBatch:
        return WindowBatch(vectors, LENGTHS)


_made: Dict[str, Setup] = {}


def set_up(factory: str, settings: Dict[str, Any], model: Dict[str, Any]) -> Setup:
    """Give a copy of a head and its batch, made once."""
    key = repr((factory, settings, model))
    if key not in _made:
        _made[key] = make(factory, settings, model)
    return copy.deepcopy(_made[key])


def make(factory: str, settings: Dict[str, Any], model: Dict[str, Any]) -> Setup:
    config = {"model": {**small_model(factory), **model}, **settings}
    nlp = blank_pipeline(factory, **config)
    train(nlp, make_examples(nlp, DATA), updates=0)
    pipe = nlp.get_pipe(factory)
    head = pipe.model.get_ref("output_layer")
    rng = np.random.default_rng(0)
    targets = pipe.codec.targets(GOLD, LENGTHS, rng=rng)
    vectors = torch.randn(3, 7, head.get_dim("nI"), generator=torch.manual_seed(0))
    return Setup(get_shim(head).module, pipe.codec, vectors, targets)


@pytest.fixture(params=VARIANTS, ids=variant_id)
def setup(request: pytest.FixtureRequest) -> Setup:
    return set_up(*request.param)


def near(tensor: Any) -> Tensor:
    return tensor.values if isinstance(tensor, FarTensor) else tensor


def rows_of(found: Candidates) -> np.ndarray:
    """Sort what was found, to compare it."""
    found = Candidates(*(near(column).detach() for column in found)).real()
    table = np.stack([column.double().numpy() for column in found])
    return table[:, np.lexsort(table[3::-1])]


# --------------------------------------------------------------- what they say


def test_loss_and_gradients_elsewhere_are_those_of_the_cpu(setup: Setup) -> None:
    module, codec, vectors, targets = setup
    module.eval()  # without dropout, and with its gradients
    leaf = vectors.clone().requires_grad_()
    torch.manual_seed(0)
    loss = codec.loss(module, setup.batch(leaf), targets)
    loss.backward()
    expected = [leaf.grad, *(p.grad for p in module.parameters())]

    move(module)
    with Elsewhere():
        other = far(vectors).requires_grad_()
        torch.manual_seed(0)
        far_loss = codec.loss(module, setup.batch(other), targets)
        assert far_loss.device == ELSEWHERE
        far_loss.backward()
    assert near(far_loss).item() == pytest.approx(loss.item(), rel=1e-4)
    found = [other.grad, *(p.grad for p in module.parameters())]
    for one, two in zip(found, expected, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert isinstance(one, FarTensor)
            torch.testing.assert_close(one.values, two, atol=1e-4, rtol=1e-3)


def test_training_with_dropout_stays_elsewhere(setup: Setup) -> None:
    module, codec, vectors, targets = setup
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.3
    move(module).train()
    with Elsewhere():
        other = far(vectors).requires_grad_()
        loss = codec.loss(module, setup.batch(other), targets)
        loss.backward()
    assert isinstance(other.grad, FarTensor)
    assert torch.isfinite(other.grad.values).all()


def test_candidates_elsewhere_are_those_of_the_cpu(setup: Setup) -> None:
    module, codec, vectors, _ = setup
    module.eval()
    on_cpu = []
    levels = [torch.full((3,), threshold) for threshold in (0.0, 0.05, 1.0)]
    for level in levels:
        with torch.inference_mode():
            on_cpu.append(codec.candidates(module, setup.batch(vectors), level))
    assert len(on_cpu[0].score)
    move(module)
    for level, expected in zip(levels, on_cpu):
        with torch.no_grad(), Elsewhere():
            batch = setup.batch(far(vectors))
            found = codec.candidates(module, batch, far(level))
        assert {column.device for column in found} == {ELSEWHERE}
        np.testing.assert_allclose(rows_of(found), rows_of(expected), atol=1e-4)


# ---------------------------------------------------------------- host copies

# Copies to the host that the loss needs for each group of windows.
COPIES_OF_LOSS = {"span_diffusion": 1}  # costs, for the matching


@pytest.mark.parametrize("factory", FACTORIES)
def test_loss_copies_nothing_to_the_host_but_costs(factory: str) -> None:
    setup = set_up(factory, {}, {})
    move(setup.module).train()
    with torch.no_grad(), Elsewhere() as device:
        setup.codec.loss(setup.module, setup.batch(far(setup.vectors)), setup.targets)
    assert sum(device.copies.values()) <= COPIES_OF_LOSS.get(factory, 0), device.copies


@pytest.mark.parametrize("factory", FACTORIES)
def test_candidates_copy_nothing_to_the_host(factory: str) -> None:
    setup = set_up(factory, {}, {})
    move(setup.module).eval()
    with torch.no_grad(), Elsewhere() as device:
        batch = setup.batch(far(setup.vectors))
        setup.codec.candidates(setup.module, batch, far(torch.full((3,), 0.05)))
    assert not device.copies


# ----------------------------------------------------------- the device itself


def test_mixed_devices_are_found() -> None:
    one, other = far(torch.zeros(2)), torch.zeros(2)
    with Elsewhere() as device:
        with pytest.raises(MixedDevicesError):
            one + other
        with pytest.raises(MixedDevicesError):
            one[torch.tensor([0])]
        assert (one + 1).device == ELSEWHERE
        assert (one + torch.tensor(1.0)).device == ELSEWHERE
        assert torch.as_tensor(np.zeros(2), device=ELSEWHERE).device == ELSEWHERE
        assert not device.copies
        assert type(one.cpu()) is Tensor
        assert float(one.sum()) == 0.0
        assert sum(device.copies.values()) == 2


def test_module_that_makes_a_tensor_on_the_cpu_is_found() -> None:
    class Wrong(nn.Module):
        def forward(self, vectors: Tensor) -> Tensor:
            return vectors + torch.arange(vectors.shape[-1])

    with Elsewhere(), pytest.raises(MixedDevicesError, match=r"add.*FarTensor.*\(3,\)"):
        Wrong()(far(torch.zeros(2, 3)))
