"""A torch module that Thinc can train and store, built when its sizes are known."""

from functools import partial
from io import BytesIO
from typing import Any, Callable, Optional, Sequence, cast

import srsly
import torch
from thinc.api import Model, Optimizer, PyTorchGradScaler, PyTorchShim
from thinc.shims import Shim
from thinc.types import FloatsXd
from thinc.util import get_torch_default_device, torch2xp, xp2torch
from torch import nn

from ..errors import Errors
from ..internals import internal
from .devices import set_to_zero
from .stored_state import plan_module, read_message, read_state

ModuleBuilder = Callable[[int, int], nn.Module]


def switch(module: nn.Module, is_train: bool) -> nn.Module:
    """Switch a module to training or evaluation mode.

    Torch visits all submodules for that, which takes noticeable time for one sentence.
    So this relies on submodules having the mode of the module, as `create` makes them.
    The module is switched last, where torch switches it first: another thread that sees
    its mode can rely on theirs.

    RETURNS (nn.Module): the module.
    """
    if module.training != is_train:
        for child in module.children():
            child.train(is_train)
        module.training = is_train
    return module


class TorchShim(PyTorchShim):
    """Holds a module, and updates its weights in place."""

    stands_missing_gradients = True  # see `training.frozen.set_frozen`

    def __init__(self, module: nn.Module, *, mixed_precision: bool = False) -> None:
        """Hold a module.

        module (nn.Module): may be replaced later.
        mixed_precision (bool): multiply matrices in half precision.
        RAISES (ImportError): SP064 for a version of Thinc with other attributes.
        """
        super().__init__(module, mixed_precision=mixed_precision)
        # What the methods below rely on.
        torch_module(self), grad_scaler(self), internal(self, "_mixed_precision")

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the weights, and set the gradients to zero.

        Thinc's own method replaces the weights by the array that the optimizer returns.
        That array is a view of the previous weights, which are a view of those before:
        a chain that grows with every step and is never freed.

        optimizer (Optimizer): may change arrays in place, or return new ones.
        """
        scaler = self._grad_scaler
        for name, weights in self._model.named_parameters():
            if weights.grad is None or scaler.found_inf:
                continue
            arrays = torch2xp(weights.data), torch2xp(weights.grad)
            key = self.id, name
            updated = optimizer(key, *(cast(FloatsXd, a) for a in arrays))[0]
            changed = xp2torch(updated, device=weights.device)
            if changed.data_ptr() != weights.data_ptr():
                weights.data.copy_(changed)
        parameters = self._model.parameters()
        set_to_zero([one.grad for one in parameters if one.grad is not None])
        scaler.update()


def torch_module(shim: PyTorchShim) -> nn.Module:
    """RETURNS (nn.Module): the module that any shim of Thinc holds."""
    return cast(nn.Module, internal(shim, "_model"))


def grad_scaler(shim: PyTorchShim) -> PyTorchGradScaler:
    """RETURNS (PyTorchGradScaler): what scales the loss of any shim of Thinc."""
    return cast(PyTorchGradScaler, internal(shim, "_grad_scaler"))


def renew_id(shim: PyTorchShim) -> None:
    """Give a shim another id, so that optimizers take its tensors for new ones: they
    keep arrays in the shapes that tensors had.
    """
    with Shim.global_id_lock:
        Shim.global_id += 1
        shim.id = Shim.global_id


class LazyShim(TorchShim):
    """Holds a module that is built later, when its sizes are known.

    Its bytes contain the sizes as well as the weights, so that they can be loaded into
    a shim that was never initialized.
    """

    def __init__(self, build: ModuleBuilder) -> None:
        """Store how to build the module.

        build (ModuleBuilder): takes the width of the token vectors and the number of
            labels, returns the module. It must be picklable.
        """
        super().__init__(nn.Module())
        self.build = build
        self.sizes: Optional[tuple] = None

    @property
    def module(self) -> nn.Module:
        """The module; without parameters before `create`."""
        return self._model

    def create(self, n_in: int, n_labels: int) -> None:
        """Build the module with new random weights, on the active device.

        n_in (int): width of the token vectors.
        n_labels (int): number of labels.
        """
        self.sizes = (n_in, n_labels)
        module = self.build(n_in, n_labels)
        self._model = module.to(get_torch_default_device()).train()

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): sizes and weights."""
        weights = BytesIO()
        torch.save(self.module.state_dict(), weights)
        return srsly.msgpack_dumps({"sizes": self.sizes, "state": weights.getvalue()})

    def from_bytes(self, bytes_data: bytes) -> "LazyShim":
        """Build the module with the stored sizes and load its weights.

        RETURNS (LazyShim): the shim itself.
        RAISES (ValueError): SP150 for weights of another module, SP151 for anything but
            weights.
        """
        kinds = {"sizes": (list, tuple, type(None)), "state": bytes}
        message = read_message(bytes_data, kinds)
        if message["sizes"] is not None:
            sizes = _checked_sizes(message["sizes"], len(message["state"]))
            planned = plan_module(partial(self.build, *sizes))
            state = read_state(message["state"], planned)
            self.create(*sizes)
            self.module.load_state_dict(state)
        return self


def _checked_sizes(sizes: Sequence[Any], n_bytes: int) -> Sequence[int]:
    """RETURNS (Sequence[int]): the sizes of a module, which are sizes of its weights; 0
    labels if it is part of an encoder.

    RAISES (ValueError): SP151 for anything else.
    """
    known = all(type(size) is int and 0 <= size <= n_bytes for size in sizes)
    if len(sizes) != 2 or not known:
        problem = f"their sizes are {str(list(sizes))[:60]}"
        raise ValueError(Errors.SP151.format(problem=problem))
    return sizes


def get_shim(model: Model) -> LazyShim:
    """RETURNS (LazyShim): the holder of the torch module of a layer."""
    return cast(LazyShim, model.shims[0])
