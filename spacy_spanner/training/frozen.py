"""Freeze tensors, and collect the gradients of the others.

`Model.attrs` holds the names of a layer's frozen tensors as a frozenset. It is copied
and pickled with the layer, but never written to disk, because msgpack has no sets.
"""

from typing import Any, Collection, FrozenSet, Iterator, NamedTuple, Set

from thinc.api import Model
from torch import Tensor

from ..layers.devices import view_of
from ..layers.torch_shim import grad_scaler, torch_module
from .owners import Key, owners_of, tensor_keys, torch_shims

FROZEN = "spanner_frozen"


def set_frozen(pipe: Any, part: str, frozen: bool) -> None:
    """Freeze a part of a component, or unfreeze it.

    `AdamW` skips frozen tensors. Those of this package's own layers get no gradient,
    which saves the backward pass; other layers would not expect that.

    part (str): "encoder" or "head".
    """
    owners = owners_of(pipe.model, [("", pipe)])
    for node in pipe.model.walk():
        names = [key[1] for key in tensor_keys(node) if owners[key].part == part]
        mark_frozen(node, names, frozen)


def mark_frozen(node: Model, names: Collection[str], frozen: bool) -> None:
    """Freeze the named tensors of one layer, or unfreeze them."""
    before = frozen_names(node)
    after = before.union(names) if frozen else before.difference(names)
    if after == before:
        return
    if after:
        node.attrs[FROZEN] = after
    else:
        node.attrs.pop(FROZEN, None)
    for shim in filter(runs_without_gradients, torch_shims(node)):
        for name, parameter in torch_module(shim).named_parameters():
            if name in before ^ after:
                parameter.requires_grad_(not frozen)
                parameter.grad = None if frozen else parameter.grad


def runs_without_gradients(shim: Any) -> bool:
    """RETURNS (bool): whether the layer of a shim can run without gradients."""
    return getattr(shim, "stands_missing_gradients", False)


def frozen_names(node: Model) -> FrozenSet[str]:
    """RETURNS (FrozenSet[str]): names of the frozen tensors of a layer."""
    names: FrozenSet[str] = node.attrs.get(FROZEN, frozenset())
    return names


def frozen_keys(model: Model) -> Set[Key]:
    """RETURNS (Set[Key]): keys of all frozen tensors of a model."""
    marked = ((node, frozen_names(node)) for node in model.walk())
    return {
        key
        for node, names in marked
        if names
        for key in tensor_keys(node)
        if key[1] in names
    }


class Learned(NamedTuple):
    """A tensor of a model with its gradient, both in the memory of the model.

    key (Key): id of the layer or shim, and name of the tensor.
    weights, gradient (Tensor): of the same shape.
    """

    key: Key
    weights: Tensor
    gradient: Tensor


def gradients(model: Model) -> Iterator[Learned]:
    """YIELDS (Learned): the tensors of a model that have a gradient, of Thinc and of
    torch.
    """
    for node in model.walk():
        for name in node.param_names:
            if node.has_grad(name):
                arrays = node.get_param(name), node.get_grad(name)
                yield Learned((node.id, name), *map(view_of, arrays))
        for shim in torch_shims(node):
            if grad_scaler(shim).found_inf:
                continue  # it skips this step, and scales the next loss lower
            for name, tensor in torch_module(shim).named_parameters():
                if tensor.grad is not None:
                    yield Learned((shim.id, name), tensor.data, tensor.grad)
