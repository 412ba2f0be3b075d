"""Where the streams of random numbers stand that a training run draws from.

Plain numbers go into JSON, whose integers are of any size in Python; states of torch
are tensors and stay so.
"""

import random
from typing import Any, Dict, Iterator, Tuple

import numpy as np
import torch
from spacy.language import Language
from torch import Tensor

PYTHON = "python"
TORCH, CUDA = "torch", "cuda."


def random_numbers(nlp: Language) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): states of python, numpy, and the components, plain."""
    generators = {name: rng.bit_generator.state for name, rng in generators_of(nlp)}
    kind, keys, *rest = np.random.get_state()
    return {
        PYTHON: python_state(),
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
        "generators": generators,
    }


def python_state() -> Any:
    """RETURNS (Any): the state of python's `random`, as JSON gives it back."""
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def random_tensors() -> Dict[str, Tensor]:
    """RETURNS (Dict[str, Tensor]): states of torch, on CPU and every CUDA device."""
    states = {TORCH: torch.random.get_rng_state()}
    if torch.cuda.is_available():
        found = torch.cuda.get_rng_state_all()
        states.update({f"{CUDA}{device}": state for device, state in enumerate(found)})
    return states


def restore_random(
    nlp: Language, numbers: Dict[str, Any], tensors: Dict[str, Tensor]
) -> None:
    """Let all streams go on from where they stood.

    numbers (Dict[str, Any]): of `random_numbers`.
    tensors (Dict[str, Tensor]): of `random_tensors`; what concerns devices that are
        not here is left out.
    """
    version, state, gauss = numbers[PYTHON]
    random.setstate((version, tuple(state), gauss))
    np.random.set_state(tuple(numbers["numpy"]))
    for name, rng in generators_of(nlp):
        if name in numbers["generators"]:
            rng.bit_generator.state = numbers["generators"][name]
    torch.random.set_rng_state(tensors[TORCH])
    for device in range(torch.cuda.device_count()):
        if f"{CUDA}{device}" in tensors:
            torch.cuda.set_rng_state(tensors[f"{CUDA}{device}"], device)


def generators_of(nlp: Language) -> Iterator[Tuple[str, np.random.Generator]]:
    """YIELDS (Tuple[str, Generator]): the components' own, by component and name."""
    for component, pipe in nlp.pipeline:
        for name, value in getattr(pipe, "__dict__", {}).items():
            if isinstance(value, np.random.Generator):
                yield f"{component}.{name}", value
