"""The state of a training run except for weights, config and optimizer: data, random
numbers, and records of each tensor.

Plain numbers are stored as JSON, states of torch as tensors. Thinc numbers layers
differently in every process, so a tensor is named by its place: the component, the
index of the layer in `model.walk()`, and its name.
"""

import hashlib
import random
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Iterator,
    NamedTuple,
    Optional,
    Tuple,
    cast,
)

import numpy as np
import torch
from spacy.language import Language
from spacy.util import dict_to_dot
from thinc.api import Model, Optimizer, get_current_ops
from thinc.types import FloatsXd
from torch import Tensor, nn

from ...errors import Errors
from ...layers.devices import view_of
from ...layers.torch_shim import torch_module
from ...training.frozen import frozen_names, mark_frozen
from ...training.owners import Key, torch_shims

BLOCK_SIZE = 2**20
PYTHON, OWN = "python", "updates"
TORCH, CUDA, CUPY = "torch", "cuda.", "cupy"


# --------------------------------------------------------------------- data


def data_digests(config: Dict[str, Any]) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): digests of all files in the corpora of an interpolated
    config, by setting such as "corpora.train.path".
    """
    return {name: digest(path) for name, path in data_paths(config) if path.exists()}


def data_paths(config: Dict[str, Any]) -> Iterator[Tuple[str, Path]]:
    """YIELDS (Tuple[str, Path]): every string setting of the train and dev corpus that
    may be a path.
    """
    training = config["training"]
    corpora = tuple(f"{training[name]}." for name in ("train_corpus", "dev_corpus"))
    for name, value in dict_to_dot(config).items():
        is_setting = name.startswith(corpora) and ".@" not in name
        if is_setting and isinstance(value, (str, Path)) and value:
            yield name, Path(value)


def digest(path: Path) -> str:
    """RETURNS (str): SHA-256 of a file, or of all files in a folder with their names,
    without Python's caches.
    """
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.parent.name != "__pycache__":
            found.update(str(file.relative_to(path)).encode("utf8"))
            with file.open("rb") as stream:
                while block := stream.read(BLOCK_SIZE):
                    found.update(block)
    return found.hexdigest()


# ------------------------------------------------------------ random numbers


def random_numbers(nlp: Language, own: random.Random) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): states of Python, of the generator for updates, NumPy
    and the components, as plain values.
    """
    generators = {name: rng.bit_generator.state for name, rng in generators_of(nlp)}
    kind, keys, *rest = np.random.get_state()
    return {
        PYTHON: plain_state(random.getstate()),
        OWN: plain_state(own.getstate()),
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
        "generators": generators,
    }


def plain_state(state: Any) -> Any:
    """RETURNS (Any): a state of Python's `random`, as it is read back from JSON."""
    version, numbers, gauss = state
    return [version, list(numbers), gauss]


def python_state(plain: Any) -> Any:
    """RETURNS (Any): the state of Python's `random` from its plain values."""
    version, numbers, gauss = plain
    return version, tuple(numbers), gauss


@contextmanager
def drawing_from(numbers: random.Random) -> Iterator[None]:
    """Make Python's `random` use another generator within the context."""
    before = random.getstate()
    random.setstate(numbers.getstate())
    try:
        yield
    finally:
        numbers.setstate(random.getstate())
        random.setstate(before)


@dataclass
class Apart:
    """A method that draws from its own generator when code in it uses Python's
    `random`, which also shuffles the data.
    """

    method: Callable
    own: random.Random

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RETURNS (Any): what the method returns."""
        with drawing_from(self.own):
            return self.method(*args, **kwargs)


def separate_order(nlp: Language, own: random.Random) -> None:
    """Let updates and evaluations of a pipeline, such as those of spacy-transformers,
    draw from another generator. The order of the batches then depends on the seed
    alone, and can be repeated.
    """
    for name in ("update", "evaluate"):
        method = getattr(nlp, name)
        method = method.method if isinstance(method, Apart) else method
        vars(nlp)[name] = Apart(method, own)


def random_tensors(step: int) -> Dict[str, Tensor]:
    """Collect the states of torch, for the CPU and for CUDA devices in use. The state
    of CuPy, which draws Thinc's dropout, cannot be read: it gets a new seed.

    step (int): makes the seed another one at each checkpoint.
    RETURNS (Dict[str, Tensor]): the states, and the seed of CuPy.
    """
    states = {TORCH: torch.random.get_rng_state()}
    # Asking for the states would start CUDA, even in training on the CPU.
    if torch.cuda.is_initialized():
        found = torch.cuda.get_rng_state_all()
        states.update({f"{CUDA}{device}": state for device, state in enumerate(found)})
    if get_current_ops().name == CUPY:
        noise = zlib.crc32(states[TORCH].numpy().tobytes())
        states[CUPY] = torch.tensor((noise + step) % 2**32)
        seed_cupy(states)
    return states


def seed_cupy(tensors: Dict[str, Tensor]) -> None:
    """Let CuPy draw from the stored seed, if there is one and CuPy is in use."""
    if CUPY in tensors and get_current_ops().name == CUPY:
        get_current_ops().xp.random.seed(int(tensors[CUPY]))


def restore_random(
    nlp: Language, numbers: Dict[str, Any], tensors: Dict[str, Tensor]
) -> None:
    """Restore all random states, except those of missing devices.

    numbers, tensors (Dict): results of `random_numbers` and `random_tensors`.
    """
    random.setstate(python_state(numbers[PYTHON]))
    np.random.set_state(tuple(numbers["numpy"]))
    for name, rng in generators_of(nlp):
        if name in numbers["generators"]:
            rng.bit_generator.state = numbers["generators"][name]
    torch.random.set_rng_state(tensors[TORCH])
    seed_cupy(tensors)
    for device in range(torch.cuda.device_count()):
        if f"{CUDA}{device}" in tensors:
            torch.cuda.set_rng_state(tensors[f"{CUDA}{device}"], device)


def generators_of(nlp: Language) -> Iterator[Tuple[str, np.random.Generator]]:
    """YIELDS (Tuple[str, Generator]): generators of the components, by component and
    name.
    """
    for component, pipe in nlp.pipeline:
        for name, value in getattr(pipe, "__dict__", {}).items():
            if isinstance(value, np.random.Generator):
                yield f"{component}.{name}", value


# ------------------------------------------------------------------ tensors


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


def tensor_records(nlp: Language, optimizer: Optimizer) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): plain values of each tensor, by place."""
    return {
        slot.place: {
            "updates": optimizer.nr_update.get(slot.key, 0),
            "gradient": slot.has_gradient,
            "frozen": slot.key[1] in frozen_names(slot.node),
            "learns": slot.learns,
        }
        for slot in slots_of(nlp)
    }


def restore_tensors(nlp: Language, records: Dict[str, Dict[str, Any]]) -> None:
    """Restore which tensors of a pipeline are frozen and which have gradients.

    records (Dict): result of `tensor_records`.
    """
    for slot in slots_of(nlp):
        saved = records[slot.place]
        mark_frozen(slot.node, [slot.key[1]], saved["frozen"])
        if slot.parameter is not None:
            slot.parameter.requires_grad_(saved["learns"])
        if saved["gradient"]:
            slot.set_zero_gradient()


def require_same_tensors(nlp: Language, records: Dict[str, Dict[str, Any]]) -> None:
    """RAISES (ValueError): SP113 if the records are of other tensors."""
    different = sorted({slot.place for slot in slots_of(nlp)} ^ set(records))
    if different:
        count = len(different)
        raise ValueError(Errors.SP113.format(count=count, tensor=different[0]))
