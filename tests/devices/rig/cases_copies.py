"""Weights learn where Thinc and torch copy between each other, as on Apple's GPUs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Dict

import pytest
import torch
from thinc.api import get_current_ops, require_cpu, require_gpu

from spacy_spanner.jobs.run.run_state import random_tensors, seed_cupy
from spacy_spanner.jobs.run.slots import slots_of
from spacy_spanner.layers import torch_shim
from spacy_spanner.training import optimizer as adamw

from . import lives


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    require_gpu()
    yield
    require_cpu()


def copied(tensor: torch.Tensor, **_: Any) -> Any:
    """An array of Thinc in other memory than the tensor."""
    return tensor.detach().cpu().numpy().copy()


def weights_after_updates(optimizer: str, bert: Path) -> Dict[str, torch.Tensor]:
    nlp = lives.new_pipeline("span_biaffine", "cnn", bert)
    before = {slot.place: slot.weights.cpu().clone() for slot in slots_of(nlp)}
    lives.update(nlp, lives.make_optimizer(optimizer, nlp), times=2)
    after = {slot.place: slot.weights.cpu().clone() for slot in slots_of(nlp)}
    assert any(not torch.equal(before[place], after[place]) for place in after)
    return after


def test_adamw_learns_the_same_through_copies(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = weights_after_updates("adamw", tiny_bert)
    monkeypatch.setattr(torch_shim, "torch2xp", copied)
    monkeypatch.setattr(adamw, "torch2xp", copied)
    found = weights_after_updates("adamw", tiny_bert)
    assert found.keys() == expected.keys()
    for place, tensor in expected.items():
        torch.testing.assert_close(found[place], tensor, msg=place)


def test_weights_and_gradients_of_a_slot_are_no_copies(tiny_bert: Path) -> None:
    nlp = lives.new_pipeline("span_biaffine", "cnn", tiny_bert)
    for slot in slots_of(nlp):
        slot.set_zero_gradient()
        for tensor in (slot.weights, slot.gradient):
            tensor.fill_(3.0)
    assert lives.in_thread(lambda: all(is_three(slot) for slot in slots_of(nlp)))


def is_three(slot: Any) -> bool:
    if slot.parameter is not None:
        return bool((slot.parameter == 3).all() and (slot.parameter.grad == 3).all())
    name = slot.key[1]
    arrays = slot.node.get_param(name), slot.node.get_grad(name)
    return all(bool((array == 3).all()) for array in arrays)


def test_cupy_draws_the_same_after_a_checkpoint() -> None:
    def draw() -> Any:
        return get_current_ops().xp.random.uniform(0, 1, (4,)).get().tolist()

    stored = random_tensors(1)
    first = draw()
    assert draw() != first
    seed_cupy(stored)
    assert draw() == first
    random_tensors(2)
    assert draw() != first
