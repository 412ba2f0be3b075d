"""A device that is not there: tensors with values, which must not meet the CPU's.

Without a GPU nothing shows whether a module makes a tensor on the wrong device. Here a
tensor has its values on the CPU and says that it is on the device `meta`, of which
autograd is able. An operation that takes tensors of both fails as it would on a GPU,
and every copy from there to the host is counted.
"""

from collections import Counter
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

ELSEWHERE = torch.device("meta")

# Operations of packed sequences take and give the lengths on the host, on a GPU too.
LENGTHS_ON_HOST = (
    torch.ops.aten._pack_padded_sequence.default,
    torch.ops.aten._pad_packed_sequence.default,
    torch.ops.aten.lstm.data,
)
TO_HOST = (torch.ops.aten._local_scalar_dense.default,)
# The shape of what these return depends on values: a GPU waits, too.
WAITING = (
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten._unique2.default,
    torch.ops.aten.unique_dim.default,
    torch.ops.aten.unique_consecutive.default,
)


class MixedDevicesError(RuntimeError):
    """Two devices in one operation."""


class FarTensor(Tensor):
    """A tensor whose values are on the CPU and which says that it is elsewhere."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> "FarTensor":
        far = torch.Tensor._make_wrapper_subclass(
            cls,
            values.shape,
            strides=values.stride(),
            storage_offset=values.storage_offset(),
            dtype=values.dtype,
            device=ELSEWHERE,
        )
        far.values = values
        return far

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Tuple = (), kwargs: Any = None
    ) -> Any:
        with Elsewhere():
            return func(*args, **(kwargs or {}))


class Elsewhere(TorchDispatchMode):
    """Runs operations on far tensors, and counts copies to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: Counter = Counter()
        self.waits: Counter = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Tuple = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [
            leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)
        ]
        far = [tensor for tensor in tensors if isinstance(tensor, FarTensor)]
        target = kwargs.get("device")
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        if len(far) not in (0, len(tensors)):
            self._check_mixture(func, tensors)
        result = func(*_near(args), **_near(kwargs))
        if func in TO_HOST and far:
            self.copies[str(func)] += 1
            return result
        if func in WAITING and far:
            self.waits[str(func)] += 1
        if far and target is not None and torch.device(target) != ELSEWHERE:
            self.copies[str(func)] += 1
            return result
        is_far = torch.device(target) == ELSEWHERE if target is not None else bool(far)
        return _far_result(func, args, result) if is_far else result

    def _check_mixture(self, func: Any, tensors: List[Tensor]) -> None:
        if func in LENGTHS_ON_HOST:
            return
        # As on a GPU: a number on the host may take part, and values may be copied.
        others = [t for t in tensors if not isinstance(t, FarTensor) and t.dim()]
        if others and func is not torch.ops.aten.copy_.default:
            raise MixedDevicesError(f"{func} of both devices: {_shapes(tensors)}")
        if others and not isinstance(tensors[0], FarTensor):
            self.copies[str(func)] += 1


def _shapes(tensors: List[Tensor]) -> List[Tuple[str, Tuple[int, ...]]]:
    return [(type(tensor).__name__, tuple(tensor.shape)) for tensor in tensors]


def _near(values: Any) -> Any:
    return tree_map(
        lambda leaf: leaf.values if isinstance(leaf, FarTensor) else leaf, values
    )


def _far_result(func: Any, args: Tuple, result: Any) -> Any:
    if func._schema.is_mutable and args and isinstance(args[0], Tensor):
        return args[0]  # in place: the tensor itself
    if func in LENGTHS_ON_HOST and func is not torch.ops.aten.lstm.data:
        data, lengths = result
        return FarTensor(data), lengths
    return tree_map(
        lambda leaf: FarTensor(leaf) if isinstance(leaf, Tensor) else leaf, result
    )


def far(tensor: Tensor) -> FarTensor:
    """Take a tensor elsewhere."""
    return FarTensor(tensor.detach())


def move(module: nn.Module, convert: Any = far) -> nn.Module:
    """Take the weights and constants of a module elsewhere."""
    for part in module.modules():
        tables: List[Dict[str, Any]] = [part._parameters, part._buffers]
        for table in tables:
            for name, value in table.items():
                if value is not None:
                    moved = convert(value)
                    is_parameter = isinstance(value, nn.Parameter)
                    table[name] = nn.Parameter(moved) if is_parameter else moved
        if isinstance(part, nn.RNNBase):
            part._init_flat_weights()
    return module
