"""A device that is not there: tensors with values, which must not meet the CPU's.

Without a GPU nothing shows whether a module makes a tensor on the wrong device. Here a
tensor has its values on the CPU and says that it is on the device `far`, which torch
lets Python define. An operation that takes tensors of both fails as it would on a GPU,
and every copy between the two is counted.
"""

from collections import Counter
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map

from .rig.counts import traffic


class _Backend(backend_registration._DummyBackendModule):
    """What torch asks a device for."""

    def get_amp_supported_dtype(self) -> List[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: Any = 0) -> Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: Tensor, device: Any = 0) -> None:
        pass


backend_registration._setup_privateuseone_for_python_backend(
    "far", backend_module=_Backend()
)
ELSEWHERE = torch.device("far", 0)

# Operations of packed sequences take and give the lengths on the host, on a GPU too.
LENGTHS_ON_HOST = (
    torch.ops.aten._pack_padded_sequence.default,
    torch.ops.aten._pad_packed_sequence.default,
)
TO_HOST = (torch.ops.aten._local_scalar_dense.default,)
# The shape of what these return depends on values: a GPU waits, too.
WAITING = (
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten._unique2.default,
    torch.ops.aten.unique_dim.default,
    torch.ops.aten.unique_consecutive.default,
    torch.ops.aten.bincount.default,
    torch.ops.aten.repeat_interleave.Tensor,
    torch.ops.aten.equal.default,
)
VIEWS = """view _unsafe_view t transpose permute unsqueeze squeeze expand select slice
detach as_strided unbind split split_with_sizes unfold alias _reshape_alias diagonal
lift_fresh"""


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


class FarKernel(torch.autograd.Function):
    """What is one operation on a GPU, and one for its gradient: LSTMs and attention."""

    @staticmethod
    def forward(ctx: Any, name: str, run: Callable, *tensors: Tensor) -> Any:
        """Run it on the values; the results stay connected for `backward`."""
        traffic.operations[name] += 1
        ctx.name, needed = name, ctx.needs_input_grad[2:]
        with torch.enable_grad(), _disable_current_modes():
            ctx.inputs = [
                tensor.values.detach().requires_grad_(need)  # type: ignore[attr-defined]
                for tensor, need in zip(tensors, needed)
            ]
            ctx.results = run(*ctx.inputs)
        if isinstance(ctx.results, Tensor):
            return far(ctx.results)
        return tuple(map(far, ctx.results))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Tuple[Optional[Tensor], ...]:
        """RETURNS (Tuple): the gradients of all tensors."""
        traffic.operations[f"{ctx.name}_backward"] += 1
        wanted = [tensor for tensor in ctx.inputs if tensor.requires_grad]
        values = [gradient.values for gradient in gradients]
        with _disable_current_modes():
            results = ctx.results
            results = (results,) if isinstance(results, Tensor) else results
            found = iter(torch.autograd.grad(results, wanted, values))
        made = [far(next(found)) if t.requires_grad else None for t in ctx.inputs]
        return None, None, *made


def _kernel(name: str, run: Callable, original: Callable, *tensors: Tensor) -> Any:
    """RETURNS (Any): what a kernel makes of tensors of one device."""
    kinds = {isinstance(tensor, FarTensor) for tensor in tensors}
    if len(kinds) > 1:
        raise MixedDevicesError(f"{name} of both devices: {_shapes(list(tensors))}")
    return FarKernel.apply(name, run, *tensors) if kinds.pop() else original()


def _lstm(first: Any, *arguments: Any) -> Any:
    """Take the place of `torch.lstm`, in both forms: padded and packed."""
    packed = isinstance(arguments[0], Tensor)
    sizes, (states, weights, *rest) = arguments[:packed], arguments[packed:]

    def run(data: Tensor, hidden: Tensor, cell: Tensor, *weights: Tensor) -> Any:
        return _near_lstm(data, *sizes, (hidden, cell), weights, *rest)

    def original() -> Any:
        return _near_lstm(first, *arguments)

    return _kernel("lstm", run, original, first, *states, *weights)


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, **kw: Any
) -> Any:
    """Take the place of torch's function, which lowers the precision as others do."""
    tensors = [one for one in (query, key, value, attn_mask) if one is not None]

    def original() -> Any:
        return _near_attention(query, key, value, attn_mask=attn_mask, **kw)

    if isinstance(query, FarTensor) and torch.is_autocast_enabled("far"):
        lower = torch.get_autocast_dtype("far")
        tensors = [t.to(lower) if t.is_floating_point() else t for t in tensors]
    return _kernel("attention", partial(_near_attention, **kw), original, *tensors)


_near_lstm = torch._VF.lstm  # type: ignore[attr-defined]
torch._VF.lstm = _lstm  # type: ignore[attr-defined]
_near_attention = F.scaled_dot_product_attention
F.scaled_dot_product_attention = _attention


class Elsewhere(TorchDispatchMode):
    """Runs operations on far tensors, and counts copies and waits."""

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
        target = None if target is None else torch.device(target)
        if target is not None and target.type == "meta":
            return func(*args, **kwargs)
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        if len(far) not in (0, len(tensors)):
            self._check_mixture(func, tensors)
        goes_far = target is not None and target.type == ELSEWHERE.type
        if goes_far and tensors and not far:
            traffic.up[str(func)] += 1
        if (far or goes_far) and not _is_view(func):
            traffic.operations[str(func)] += 1
        result = func(*_near(args), **_near(kwargs))
        if far and (func in TO_HOST or (target is not None and not goes_far)):
            self._count_copy(func)
            return result
        if far and _waits(func, args, kwargs):
            self.waits[str(func)] += 1
            traffic.waits[str(func)] += 1
        is_far = goes_far if target is not None else bool(far)
        return _far_result(func, args, result) if is_far else result

    def _count_copy(self, func: Any) -> None:
        self.copies[str(func)] += 1
        traffic.down[str(func)] += 1

    def _check_mixture(self, func: Any, tensors: List[Tensor]) -> None:
        if func in LENGTHS_ON_HOST:
            return
        # As on a GPU: a number on the host may take part, and values may be copied.
        others = [t for t in tensors if not isinstance(t, FarTensor) and t.dim()]
        # A GPU reads no number of the host if a list of tensors is updated at once.
        in_lists = any(not isinstance(t, FarTensor) for t in _lists(func, tensors))
        copies = func is torch.ops.aten.copy_.default
        if (others or in_lists) and not copies:
            raise MixedDevicesError(f"{func} of both devices: {_shapes(tensors)}")
        if others and not isinstance(tensors[0], FarTensor):
            self._count_copy(func)
        elif others:
            traffic.up[str(func)] += 1


def _waits(func: Any, args: Tuple, kwargs: Dict[str, Any]) -> bool:
    """RETURNS (bool): whether the shape of the result depends on values."""
    if func is torch.ops.aten.index.Tensor:
        given = [one for one in args[1] if one is not None]
        return any(one.dtype in (torch.bool, torch.uint8) for one in given)
    return func in WAITING and kwargs.get("output_size") is None


def _lists(func: Any, tensors: List[Tensor]) -> List[Tensor]:
    """RETURNS (List[Tensor]): the tensors, if a function takes lists of them."""
    name = func.__name__
    return tensors if name.startswith(("_fused", "_foreach")) else []


def _is_view(func: Any) -> bool:
    return func.__name__.split(".")[0] in VIEWS.split()


def _shapes(tensors: List[Tensor]) -> List[Tuple[str, Tuple[int, ...]]]:
    return [(type(tensor).__name__, tuple(tensor.shape)) for tensor in tensors]


def _near(values: Any) -> Any:
    return tree_map(
        lambda leaf: leaf.values if isinstance(leaf, FarTensor) else leaf, values
    )


def _far_result(func: Any, args: Tuple, result: Any) -> Any:
    if func._schema.is_mutable and args and isinstance(args[0], Tensor):
        return args[0]  # in place: the tensor itself
    if func in LENGTHS_ON_HOST:
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
