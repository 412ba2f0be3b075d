"""A torch module that Thinc can train and store, built when its sizes are known."""

from io import BytesIO
from typing import Any, Callable, Optional

import srsly
import torch
from thinc.api import PyTorchShim
from thinc.util import get_torch_default_device
from torch import nn

from ..errors import Errors

ModuleBuilder = Callable[[int, int], nn.Module]


class LazyShim(PyTorchShim):
    """Holds a module of which only the recipe is known at first.

    Its bytes carry the sizes beside the weights, so that they can be read into a shim
    that has never been initialized: loading needs no particular order.
    """

    stands_missing_gradients = True  # see `training.parameters.set_frozen`

    def __init__(self, build: ModuleBuilder) -> None:
        """Remember the recipe.

        build (ModuleBuilder): takes the width of the token vectors and the number of
            labels, returns the module. Must pickle: a function of a module, or a
            `functools.partial` of a class.
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
        self._model = self.build(n_in, n_labels).to(get_torch_default_device())

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): sizes and weights."""
        weights = BytesIO()
        torch.save(self.module.state_dict(), weights)
        return srsly.msgpack_dumps({"sizes": self.sizes, "state": weights.getvalue()})

    def from_bytes(self, bytes_data: bytes) -> "LazyShim":
        """Build the module in the stored sizes and load its weights.

        RETURNS (LazyShim): the shim itself.
        RAISES (ValueError): SP150 for weights of another module.
        """
        message: Any = srsly.msgpack_loads(bytes_data)
        if message["sizes"] is not None:
            self.create(*message["sizes"])
            device = get_torch_default_device()
            state = torch.load(
                BytesIO(message["state"]), map_location=device, weights_only=True
            )
            try:
                self.module.load_state_dict(state)
            except RuntimeError as error:
                raise ValueError(Errors.SP150.format(problem=error)) from error
        return self
