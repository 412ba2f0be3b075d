"""The tensors of a pipeline, of Thinc and of torch alike, each with its place.

Thinc numbers layers differently in every process, so a tensor is named by its place:
the component, the index of the layer in `model.walk()`, and its name.
"""

from typing import Collection, Iterator, NamedTuple, Optional, cast

import torch
from spacy.language import Language
from thinc.api import Model
from thinc.types import FloatsXd
from torch import Tensor, nn

from ...layers.devices import view_of
from ...layers.torch_shim import torch_module
from ...training.owners import Key, torch_shims


class Slot(NamedTuple):
    """A tensor of a pipeline.

    place (str): its name, the same in every process.
    key (Key): its key in this process.
    node (Model): its layer.
    parameter (Optional[nn.Parameter]): the tensor itself, if it is a torch parameter.
    """

    place: str
    key: Key
    node: Model
    parameter: Optional[nn.Parameter]

    @property
    def has_gradient(self) -> bool:
        """Whether there is a gradient, even if it is zero."""
        if self.parameter is not None:
            return self.parameter.grad is not None
        return bool(self.node.has_grad(self.key[1]))

    @property
    def weights(self) -> Tensor:
        """The weights, without a copy."""
        if self.parameter is not None:
            return self.parameter.data
        return view_of(self.node.get_param(self.key[1]))

    @property
    def gradient(self) -> Tensor:
        """The gradient, without a copy; there must be one."""
        if self.parameter is not None:
            return cast(Tensor, self.parameter.grad)
        return view_of(self.node.get_grad(self.key[1]))

    @property
    def learns(self) -> bool:
        """Whether torch computes a gradient; Thinc always does."""
        return self.parameter is None or self.parameter.requires_grad

    def set_zero_gradient(self) -> None:
        """Create a gradient of zeros.

        Optimizers update such tensors too: moments and weights decay.
        """
        if self.parameter is not None:
            self.parameter.grad = torch.zeros_like(self.parameter)
        else:
            weights = cast(FloatsXd, self.node.get_param(self.key[1]))
            zeros = self.node.ops.alloc(weights.shape, dtype=weights.dtype)
            self.node.set_grad(self.key[1], cast(FloatsXd, zeros))


def slots_of(nlp: Language, exclude: Collection[str] = ()) -> Iterator[Slot]:
    """YIELDS (Slot): every tensor of the components, except for those with excluded
    names.
    """
    for component, pipe in nlp.pipeline:
        model = None if component in exclude else getattr(pipe, "model", None)
        for index, node in enumerate(model.walk() if isinstance(model, Model) else ()):
            for name in node.param_names:
                place = f"{component}/{index}/{name}"
                yield Slot(place, (node.id, name), node, None)
            for number, shim in enumerate(torch_shims(node)):
                for name, parameter in torch_module(shim).named_parameters():
                    place = f"{component}/{index}.{number}/{name}"
                    yield Slot(place, (shim.id, name), node, parameter)
