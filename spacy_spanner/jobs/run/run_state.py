"""The state of a training run except for weights, config and optimizer: random numbers,
and records of each tensor.

Plain numbers are stored as JSON, states of torch as tensors.
"""

import random
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np
import torch
from spacy.language import Language
from thinc.api import Optimizer, get_current_ops
from torch import Tensor

from ...errors import Errors
from ...training.frozen import frozen_names, mark_frozen
from .slots import slots_of

PYTHON, OWN = "python", "updates"
TORCH, CUDA, CUPY = "torch", "cuda.", "cupy"


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
