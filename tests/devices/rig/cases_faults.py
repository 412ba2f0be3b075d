"""Faults that a GPU would punish, and that the device that is not there finds, too."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np
import pytest
import spacy
import torch
from thinc.api import NumpyOps, require_cpu, require_gpu

from spacy_spanner.encoders import bilstm, characters, transformer
from spacy_spanner.jobs.run import optimizer_state
from spacy_spanner.layers import devices, torch_head, torch_shim
from spacy_spanner.models.biaffine import codec as biaffine
from spacy_spanner.models.diffusion import sampling
from spacy_spanner.models.locate_label import module as locate_label
from spacy_spanner.training import kernels

from ..elsewhere import ELSEWHERE, MixedDevicesError
from . import lives
from .cases_lives import assert_same

REFUSED = (MixedDevicesError, RuntimeError, TypeError, ValueError, AssertionError)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    require_gpu()
    yield
    require_cpu()


def fully(factory: str, encoder: str, bert: Path) -> None:
    """Train, predict, store, load and stop: what the faults below break."""
    nlp = lives.new_pipeline(factory, encoder, bert)
    sgd = lives.make_optimizer("adamw", nlp)
    before = lives.values_of_thinc(nlp)
    lives.update(nlp, sgd)
    after = lives.values_of_thinc(nlp)
    assert any((one != two).any() for one, two in zip(before, after)) or not before
    head = nlp.get_pipe(factory).model.get_ref("output_layer").shims[0]
    assert any(state.step > 0 for state in sgd.states.values())
    docs = lives.read(nlp)
    assert all(type(d.spans["ents"].attrs["scores"]) is np.ndarray for d in docs)
    assert_same(
        lives.in_thread(lambda: lives.scored(lives.read(nlp))), lives.scored(docs)
    )
    moments = optimizer_state.moments_of(nlp, sgd)
    stored = {name: tensor.cpu().clone() for name, tensor in moments.items()}
    other = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert_same(lives.scored(lives.read(other)), lives.scored(docs))
    kinds = {p.device for p in head.module.parameters()}
    assert kinds == {ELSEWHERE}
    again = lives.make_optimizer("adamw", other)
    records = lives.tensor_records(nlp, sgd)
    optimizer_state.restore_optimizer(other, again, records, stored)
    lives.update(other, again)


def on_the_cpu(_: Any) -> torch.device:
    return CPU


def copied_to_the_cpu(columns: Any, device: Any) -> Any:
    return [torch.as_tensor(column) for column in columns]


def of_the_thread(array: Any, _: Any) -> torch.Tensor:
    from thinc.util import xp2torch

    return xp2torch(array)


def with_step_on_host(mean: Any, square: Any, step: Any) -> optimizer_state.State:
    return optimizer_state.State(mean, square, step.cpu())


def noise_of_host(n_spans: int, *_: Any) -> torch.Tensor:
    return torch.zeros(n_spans, 2)


def rows_in_numpy(flat: torch.Tensor, lengths: Any) -> Any:
    rows = flat.cpu().numpy()
    return list(np.split(rows, np.cumsum(lengths)[:-1]))


def weights_on_the_host(self: Any, n_in: int, n_labels: int) -> None:
    self.sizes = (n_in, n_labels)
    self._model = self.build(n_in, n_labels).train()


def copy_of(array: Any) -> torch.Tensor:
    """An array's values in other memory, as where a bridge copies."""
    return devices.view_of(array).clone()


# What is broken: an attribute of a module, and what it is replaced by; and with which
# model and encoder this shows.
FAULTS: Dict[str, Tuple[Any, str, Callable, str, str]] = {
    "inputs on the device of the thread": (
        torch_head, "to_module", of_the_thread, "span_biaffine", "cnn"),
    "inputs of a BiLSTM on the device of the thread": (
        bilstm, "to_module", of_the_thread, "span_biaffine", "bilstm"),
    "characters on the CPU": (
        characters, "device_of", on_the_cpu, "span_biaffine", "features"),
    "pieces on the CPU": (
        transformer, "to_device", copied_to_the_cpu, "span_biaffine", "transformer"),
    "gradients as numpy arrays": (
        torch_head, "split_rows", rows_in_numpy, "span_biaffine", "cnn"),
    "vectors of a transformer as numpy arrays": (
        transformer, "split_rows", rows_in_numpy, "span_biaffine", "transformer"),
    "targets on the CPU": (
        biaffine, "to_device", copied_to_the_cpu, "span_biaffine", "cnn"),
    "windows cut on the CPU": (
        lives.window_groups, "to_device", copied_to_the_cpu, "span_offset", "cnn"),
    "noise on the CPU": (
        sampling, "fixed_noise", noise_of_host, "span_diffusion", "cnn"),
    "a buffer of maxima on the CPU": (
        locate_label, "RangeMaxima", lives.maxima_on_host, "span_locate_label", "cnn"),
    "weights that stay on the host when they are loaded": (
        torch_shim.LazyShim, "create", weights_on_the_host, "span_biaffine", "cnn"),
    "updates of copies": (
        lives.frozen, "view_of", copy_of, "span_biaffine", "cnn"),
    "the step of a tensor on the host": (
        kernels, "State", with_step_on_host, "span_biaffine", "cnn"),
}  # fmt: skip


def test_nothing_is_wrong_without_a_fault(factory: str, tiny_bert: Path) -> None:
    fully(factory, "cnn", tiny_bert)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(
    fault: str, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name, wrong, factory, encoder = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    with pytest.raises(REFUSED):
        fully(factory, encoder, tiny_bert)


def test_threads_have_the_cpu() -> None:
    """So that a fault of the first kind shows at all."""
    assert isinstance(lives.in_thread(lives.get_current_ops), NumpyOps)
