"""Check the tensors of a model that was loaded, before it predicts with them."""

from typing import List

import numpy as np
from thinc.api import Model, get_array_module

from ..errors import Errors
from ..layers.torch_shim import get_shim, torch_module
from ..training.owners import torch_shims


def require_usable(model: Model) -> None:
    """Refuse tensors that layers in C would read outside of.

    RAISES (ValueError): for tensors of another type than float32, for embeddings of
        another size than the layer has, and for a head without its module.
    """
    for node in model.walk():
        for name in node.param_names:
            array = node.get_param(name) if node.has_param(name) else None
            if array is not None and array.dtype != np.float32:
                raise ValueError(f"{node.name}.{name} has the type {array.dtype}")
        # Stored models may have given the layer another name.
        if node.has_dim("nV") and "E" in node.param_names and node.has_param("E"):
            shape, sizes = (
                node.get_param("E").shape,
                (node.get_dim("nV"), node.get_dim("nO")),
            )
            if shape != sizes:
                raise ValueError(f"hashembed.E has the shape {shape}, not {sizes}")
    head = model.get_ref("output_layer")
    if head.has_dim("nO") and get_shim(head).sizes is None:
        raise ValueError("the head has no weights")


def require_numbers(model: Model, component: str) -> None:
    """Find out at once what would otherwise show only in prediction.

    RAISES (ValueError): SP149 for weights that are not finite.
    """
    broken = tensors_without_numbers(model)
    if broken:
        raise ValueError(
            Errors.SP149.format(component=component, count=len(broken), first=broken[0])
        )


def tensors_without_numbers(model: Model) -> List[str]:
    """RETURNS (List[str]): names of the tensors with values that are not finite."""
    broken = []
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                array = node.get_param(name)
                if not bool(get_array_module(array).isfinite(array).all()):
                    broken.append(f"{node.name}.{name}")
        for shim in torch_shims(node):
            for name, tensor in torch_module(shim).state_dict().items():
                if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                    broken.append(f"{node.name}.{name}")
    return broken
