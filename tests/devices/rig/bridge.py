"""Tensors and arrays of the device that is not there, in Thinc and torch.

`install` replaces for good what asks torch for a GPU, and makes both libraries share
memory. `go_far` and `come_back` turn it on and off with Thinc's operations.
"""

import warnings
from contextlib import ExitStack, nullcontext
from typing import Any, Callable, Dict, Optional

import torch
import torch.utils.dlpack
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from ..elsewhere import ELSEWHERE, Elsewhere, FarTensor
from . import arrays

# What CupyOps computes with CuPy's functions instead of kernels.
WITHOUT_KERNELS = {"to_numpy", "asarray", "gemm", "relu", "backprop_relu"}
WITHOUT_KERNELS |= {"clip_gradient", "scatter_add", "position_encode", "__init__"}
LOWERED = """linear mm bmm addmm matmul baddbmm scaled_dot_product_attention"""
MODES = ExitStack()
_inference_mode = torch.inference_mode
_libraries = []


class ListsFirst(TorchFunctionMode):
    """Makes tensors of lists and arrays on the host, before they are copied."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        makes = func in (torch.tensor, torch.as_tensor) and device is not None
        goes_far = makes and torch.device(device).type == ELSEWHERE.type
        if goes_far and not isinstance(args[0], torch.Tensor):
            kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        return func(*args, **kwargs)


def _no_gradients(mode: bool = True) -> Any:
    return torch.no_grad() if mode else nullcontext()


def go_far(*_: Any) -> bool:
    """Run everything on the device, as Thinc's `require_gpu`."""
    from thinc.backends import set_current_ops
    from thinc.backends.cupy_ops import CupyOps

    come_back()
    set_current_ops(CupyOps())
    # Tensors of a subclass cannot be viewed in inference mode.
    torch.inference_mode = _no_gradients  # type: ignore[assignment, misc]
    MODES.enter_context(ListsFirst())
    MODES.enter_context(Elsewhere())
    return True


def come_back() -> bool:
    """Run everything on the host, as Thinc's `require_cpu`."""
    from thinc.backends import get_ops, set_current_ops

    MODES.close()
    torch.inference_mode = _inference_mode  # type: ignore[misc]
    set_current_ops(get_ops("cpu"))
    return True


def install() -> None:
    """Replace what asks for a GPU. Thinc must not have been imported."""
    cupy = arrays.install()
    _share_memory(cupy)
    _load_far()
    _lower_under_autocast()
    FarTensor.is_cuda = property(lambda self: True)  # type: ignore[assignment]
    FarTensor.data_ptr = lambda self: self.values.data_ptr()  # type: ignore[method-assign]
    FarTensor.__reduce_ex__ = lambda self, n: self.values.detach().__reduce_ex__(n)  # type: ignore[method-assign, assignment]
    _patch_cuda()
    _patch_thinc()
    _patch_transformers()
    # Not imported before Thinc has found the arrays.
    from spacy_spanner.layers import devices

    devices.KNOWN_MEMORY.add(ELSEWHERE.type)


def _patch_cuda() -> None:
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.empty_cache = lambda: None
    cuda.get_rng_state_all = lambda: [torch.get_rng_state()]
    cuda.set_rng_state = lambda *_: None
    cuda.manual_seed_all = lambda *_: None
    cuda.set_device = lambda *_: None
    cuda.is_bf16_supported = lambda *_: True
    cuda.mem_get_info = lambda *_: (8 * 2**30, 8 * 2**30)
    cuda.memory_reserved = cuda.memory_allocated = lambda *_: 0


def _patch_thinc() -> None:
    import thinc.api
    import thinc.util
    from thinc.backends import cupy_ops
    from thinc.backends.numpy_ops import NumpyOps

    ops: Any = cupy_ops.CupyOps

    def default_device() -> Any:
        from thinc.backends import get_current_ops

        return torch.device("far:0" if get_current_ops().name == "cupy" else "cpu")

    # Other modules have imported the function: it gets other code.
    thinc.util.get_torch_default_device.__code__ = default_device.__code__
    host = NumpyOps()

    def on_host(name: str) -> Callable:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            method = getattr(host, name)
            return arrays.far(method(*arrays.near(args), **arrays.near(kwargs)))

        return call

    for name, value in list(vars(ops).items()):
        if callable(value) and name not in WITHOUT_KERNELS:
            setattr(ops, name, on_host(name))
    for module in (thinc.util, thinc.api):
        module.require_gpu = module.prefer_gpu = go_far  # type: ignore[attr-defined]
        module.require_cpu = come_back  # type: ignore[attr-defined]


def _share_memory(cupy: Any) -> None:
    """Let CuPy's arrays and torch's tensors be each other's views."""
    dlpack: Any = torch.utils.dlpack
    to_other, from_other = dlpack.to_dlpack, dlpack.from_dlpack

    def to_dlpack(tensor: Any) -> Any:
        if not isinstance(tensor, FarTensor):
            return to_other(tensor)
        if tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient")
        return arrays.Capsule(tensor)

    def from_dlpack(source: Any, **kwargs: Any) -> Any:
        content = source.content if isinstance(source, arrays.Capsule) else source
        if isinstance(content, arrays.ndarray):
            return FarTensor(torch.from_numpy(content.values))
        return from_other(source, **kwargs)

    def to_cupy(source: Any) -> Any:
        content = source.content if isinstance(source, arrays.Capsule) else source
        if isinstance(content, arrays.ndarray):
            return content
        return arrays.far(content.values.detach().numpy())

    dlpack.to_dlpack, dlpack.from_dlpack = to_dlpack, from_dlpack
    cupy.from_dlpack = to_cupy


def _load_far() -> None:
    """Let `torch.load` put tensors on the device that `map_location` names."""
    load = torch.load

    def load_far(*args: Any, map_location: Optional[Any] = None, **kwargs: Any) -> Any:
        if map_location is None or torch.device(map_location).type != ELSEWHERE.type:
            return load(*args, map_location=map_location, **kwargs)
        loaded = load(*args, map_location="cpu", **kwargs)
        return tree_map_only(torch.Tensor, lambda one: one.to(ELSEWHERE), loaded)

    torch.load = load_far


def _lower_under_autocast() -> None:
    """Let autocast lower the precision of products on the device."""
    others = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    others.fallback(torch.library.fallthrough_kernel)
    products = torch.library.Library("aten", "IMPL", "AutocastPrivateUse1")
    for name in LOWERED.split():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            products.impl(name, _lowered(getattr(torch.ops.aten, name)))
    _libraries.extend([others, products])  # they end with their objects


def _lowered(operation: Any) -> Callable:
    def lower(value: Any) -> Any:
        is_single = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return value.to(torch.get_autocast_dtype("far")) if is_single else value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        named: Dict[str, Any] = {name: lower(value) for name, value in kwargs.items()}
        lowered = [lower(value) for value in args]
        with torch.autocast("far", enabled=False):
            return operation(*lowered, **named)

    return kernel


def _patch_transformers() -> None:
    """Models are made on `meta` and filled on the CPU, without the device."""
    from torch.utils._python_dispatch import _disable_current_modes

    try:
        from transformers import AutoModel
    except ImportError:
        return
    model: Any = AutoModel
    for name in ("from_pretrained", "from_config"):
        make = getattr(model, name)

        def apart(*args: Any, _make: Any = make, **kwargs: Any) -> Any:
            with _disable_current_modes():
                return _make(*args, **kwargs)

        setattr(model, name, apart)
