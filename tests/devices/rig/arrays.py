"""A module with the interface of CuPy, whose arrays refuse to meet those of NumPy.

`install` must run before Thinc is imported. Functions that are not written here are
those of NumPy on the values; memory, streams and kernels do nothing.
"""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, Dict

import numpy as np

from .counts import traffic

REFUSED = "Implicit conversion to a NumPy array is not allowed."
# Functions that take values of the host to the device.
FROM_HOST = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
METHODS = """reshape ravel flatten sum mean max min argmax argmin any all dot transpose
fill cumsum squeeze clip nonzero take repeat var std round prod swapaxes argsort sort
astype copy view"""
NOTHING = """RawModule RawKernel ElementwiseKernel ReductionKernel
get_default_memory_pool"""
ATTRIBUTES = "shape dtype ndim size itemsize nbytes strides flags"


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):  # noqa: N801  # CuPy's name
    """An array of the device; `values` lie on the host, where only this file looks."""

    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]
    base = None

    def __init__(self, shape: Any, dtype: Any = float, **_: Any) -> None:
        self.values = np.empty(shape, dtype=dtype)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(REFUSED)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kw: Any) -> Any:
        out = kw.get("out")
        found = getattr(ufunc, method)(*near(inputs), **near(kw))
        return out[0] if out is not None else far(found)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return getattr(sys.modules["cupy"], func.__name__)(*args, **kwargs)

    def get(self, *_: Any, **__: Any) -> np.ndarray:
        """RETURNS (np.ndarray): a copy on the host."""
        traffic.down["cupy.get"] += 1
        return self.values.copy()

    def set(self, array: np.ndarray) -> None:
        """Copy values of the host."""
        traffic.up["cupy.set"] += 1
        self.values[...] = array

    def toDlpack(self) -> "Capsule":  # noqa: N802
        """RETURNS (Capsule): what another library makes its own array from."""
        return Capsule(self)

    def item(self) -> Any:
        """RETURNS (Any): the only value, for which the host waits."""
        traffic.down["cupy.item"] += 1
        return self.values.item()

    def tolist(self) -> Any:
        """RETURNS (Any): the values on the host."""
        traffic.down["cupy.tolist"] += 1
        return self.values.tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: Any) -> "ndarray":
        return far(np.asarray(self.values[_index(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[_index(index)] = near(value)

    def __repr__(self) -> str:
        return f"far({self.values!r})"

    @property
    def T(self) -> "ndarray":  # noqa: N802
        """The transpose."""
        return far(self.values.T)

    @property
    def data(self) -> Any:
        """Where the values are."""
        return SimpleNamespace(ptr=self.values.ctypes.data, device=0)

    @property
    def device(self) -> int:
        """The number of the device."""
        return 0


class Capsule:
    """An array or tensor on its way to the other library."""

    def __init__(self, content: Any) -> None:
        self.content = content


def far(values: Any) -> Any:
    """RETURNS (Any): arrays and numbers of NumPy, also nested, as those of the device,
    in the same memory.
    """
    if isinstance(values, (np.ndarray, np.generic)):
        made = object.__new__(ndarray)
        made.values = np.asarray(values)
        return made
    if isinstance(values, (tuple, list)):
        return _like(values, map(far, values))
    return values


def near(values: Any) -> Any:
    """RETURNS (Any): the values of arrays, also nested.
    RAISES (TypeError): for arrays of NumPy and torch, as CuPy's kernels do.
    """
    if isinstance(values, ndarray):
        return values.values
    is_torch = type(values).__module__.startswith("torch")
    if isinstance(values, np.ndarray) or (is_torch and hasattr(values, "numel")):
        raise TypeError(f"Unsupported type {type(values)}")
    if isinstance(values, dict):
        return {name: near(value) for name, value in values.items()}
    if isinstance(values, (tuple, list)) and not hasattr(values, "_fields"):
        return _like(values, map(near, values))
    return values


def _like(sequence: Any, values: Any) -> Any:
    return tuple(values) if isinstance(sequence, tuple) else list(values)


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    if isinstance(index, ndarray):
        if index.dtype == bool:
            traffic.waits["cupy.mask"] += 1
        return index.values
    if isinstance(index, (np.ndarray, list)):
        traffic.up["cupy.index"] += 1
    return index


def _method(name: str) -> Callable:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if name == "nonzero":
            traffic.waits["cupy.nonzero"] += 1
        return far(getattr(self.values, name)(*near(args), **near(kwargs)))

    return call


for _name in METHODS.split():
    setattr(ndarray, _name, _method(_name))
for _name in ATTRIBUTES.split():
    setattr(
        ndarray, _name, property(lambda self, name=_name: getattr(self.values, name))
    )


def _from_host(name: str) -> Callable:
    def call(source: Any, *args: Any, **kwargs: Any) -> ndarray:
        same = kwargs.get("dtype") in (None, getattr(source, "dtype", None))
        if isinstance(source, ndarray) and same and name.startswith("asa"):
            return source
        if isinstance(source, np.ndarray):
            traffic.up[f"cupy.{name}"] += 1
        kwargs.pop("blocking", None)
        found = getattr(np, name)(_values_of(source), *args, **kwargs)
        return far(found.copy() if found is source else found)  # in other memory

    return call


def _values_of(source: Any) -> Any:
    if isinstance(source, (list, tuple)):
        return [_values_of(one) for one in source]
    return source.values if isinstance(source, ndarray) else source


def _split(array: ndarray, places: Any, *args: Any, **kwargs: Any) -> Any:
    """Places may be on the host, as CuPy wants them."""
    return far(np.split(near(array), _values_of(places), *args, **kwargs))


class _Module(ModuleType):
    """Finds in NumPy what it does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np, name):
            raise AttributeError(f"the stand-in for cupy has no {name}")
        value = getattr(np, name)
        if isinstance(value, type) or not callable(value):
            return value
        return lambda *args, **kwargs: far(value(*near(args), **near(kwargs)))


class _Nothing:
    """Takes everything, and does nothing; as a kernel it fails."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("a kernel of cupy was called")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


def _random() -> ModuleType:
    """RETURNS (ModuleType): `cupy.random`, with one generator."""
    module: Any = ModuleType("cupy.random")
    state = np.random.RandomState(0)
    holder = SimpleNamespace(state=state)
    module.seed = lambda seed: holder.state.seed(seed)
    for name in ("uniform", "normal", "random", "permutation", "randint"):
        setattr(
            module,
            name,
            lambda *a, _n=name, **k: far(getattr(holder.state, _n)(*near(a), **k)),
        )
    module.holder = holder
    return module  # type: ignore[no-any-return]


def _scatter_add(table: ndarray, index: Any, values: Any) -> None:
    np.add.at(near(table), _index(index), near(values))


def install() -> Any:
    """Put the modules where Thinc and spaCy will import them from."""
    if "thinc" in sys.modules:
        raise RuntimeError("Thinc looks for CuPy when it is imported: install before.")
    cupy: Any = _Module("cupy")
    modules: Dict[str, Any] = {"cupy": cupy, "cupy.random": _random()}
    for name in ("cupy.cuda", "cupy.cuda.stream", "cupy.cublas", "cupyx"):
        modules[name] = ModuleType(name)
    cuda = modules["cupy.cuda"]
    cupy.__path__ = cuda.__path__ = []
    cupy.__version__, cupy.ndarray = "13.6.0", ndarray
    for name in NOTHING.split():
        setattr(cupy, name, _Nothing)
    for name in FROM_HOST:
        setattr(cupy, name, _from_host(name))
    cupy.split = _split
    cupy.save = lambda file, array, **_: np.save(file, cupy.asnumpy(array))
    cupy.load = lambda *args, **kwargs: far(np.load(*args, **kwargs))
    cupy.asnumpy = lambda a: a.get() if isinstance(a, ndarray) else np.asarray(a)
    cupy.get_array_module = lambda *arrays: (
        cupy if any(isinstance(one, ndarray) for one in arrays) else np
    )
    cupy.may_share_memory = lambda a, b: np.may_share_memory(near(a), near(b))
    cupy.random, cupy.cuda = modules["cupy.random"], cuda
    error = type("CUDARuntimeError", (Exception,), {})
    cuda.runtime = SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=error)
    cuda.device = SimpleNamespace(Device=_Nothing)
    cuda.Device = cuda.MemoryPool = _Nothing
    cuda.set_allocator = lambda *_: None
    cuda.stream = modules["cupy.cuda.stream"]
    cuda.stream.Stream = cuda.Stream = _Nothing
    no_memory = type("OutOfMemoryError", (MemoryError,), {})
    cuda.memory = SimpleNamespace(OutOfMemoryError=no_memory)
    modules["cupy.cublas"].nrm2 = lambda x: far(np.linalg.norm(near(x)))
    cupy.cublas = modules["cupy.cublas"]
    modules["cupyx"].scatter_add = _scatter_add
    sys.modules.update(modules)
    return cupy
