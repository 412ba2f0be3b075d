"""A trainable pipe that is stored whole or not at all, and never loaded damaged.

spaCy writes the parts of a component over those that are there, and reads whatever it
finds. Here all parts are complete before the first takes its place, and their digests
go with them: a flipped bit in a weight makes a number like any other.
"""

import warnings
from hashlib import blake2b
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Tuple

import srsly
from spacy.pipeline import TrainablePipe
from spacy.util import ensure_path
from thinc.api import Model, get_array_module

from ..errors import Errors, Warnings
from ..files import staged_folder
from ..training.owners import torch_shims

CFG, MODEL, DIGESTS = "cfg", "model", "digests"


class StoredPipe(TrainablePipe):
    """Adds digests to what spaCy stores of a component, and checks what it loads."""

    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        """RETURNS (bytes): settings, labels, weights, and their digests.

        exclude (Iterable[str]): parts to leave out.
        """
        message: Any = srsly.msgpack_loads(super().to_bytes(exclude=exclude))
        message[DIGESTS] = digests_of(message)
        return srsly.msgpack_dumps(message)

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Store settings, labels, weights, and their digests. What is there stays as
        it is until all of these are written.

        path (str / Path): the folder of the component.
        exclude (Iterable[str]): parts to leave out.
        """
        with staged_folder(ensure_path(path)) as staged:
            super().to_disk(staged, exclude=exclude)
            digests = digests_of(_read_parts(staged))
            (staged / DIGESTS).write_bytes(digests)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = tuple()
    ) -> "StoredPipe":
        """Load settings, labels and weights.

        RAISES (ValueError): SP148 for what is damaged, SP149 for weights that are no
            numbers.
        """
        check_parts(_unpack(bytes_data, self.name), exclude, f"'{self.name}'")
        super().from_bytes(bytes_data, exclude=exclude)
        self._check_loaded()
        return self

    def from_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> "StoredPipe":
        """Load settings, labels and weights.

        RAISES (ValueError): SP148 for what is damaged, SP149 for weights that are no
            numbers.
        """
        folder = ensure_path(path)
        check_parts(_read_parts(folder), exclude, f"'{self.name}' ({folder})")
        super().from_disk(folder, exclude=exclude)
        self._check_loaded()
        return self

    def _check_loaded(self) -> None:
        """Find out at once what would otherwise be found out in prediction."""
        broken = tensors_without_numbers(self.model)
        if broken:
            raise ValueError(
                Errors.SP149.format(
                    component=self.name, count=len(broken), first=broken[0]
                )
            )


def digests_of(parts: Mapping[str, bytes]) -> bytes:
    """RETURNS (bytes): JSON, the digest of settings and weights by name."""
    return srsly.json_dumps(
        {name: _digest(parts[name]) for name in (CFG, MODEL) if name in parts}
    ).encode("ascii")


def _digest(data: Any) -> str:
    data = data.encode("utf8") if isinstance(data, str) else data
    return blake2b(data, digest_size=16).hexdigest()


def _read_parts(folder: Path) -> Dict[str, bytes]:
    files = [folder / name for name in (CFG, MODEL, DIGESTS)]
    return {file.name: file.read_bytes() for file in files if file.is_file()}


def _unpack(bytes_data: bytes, component: str) -> Dict[str, bytes]:
    try:
        message: Any = srsly.msgpack_loads(bytes_data)
    except (ValueError, TypeError) as error:
        message, problem = None, f"cannot be unpacked ({error})"
    else:
        problem = "are not those of a component"
    if not isinstance(message, dict):
        place = f"'{component}'"
        raise ValueError(
            Errors.SP148.format(place=place, part="bytes", problem=problem)
        )
    return message


def check_parts(parts: Mapping[str, Any], exclude: Iterable[str], place: str) -> None:
    """Look for damage before anything is loaded.

    parts (Mapping[str, Any]): what was stored, by name. What was stored by a version
        that made no digests has none.
    exclude (Iterable[str]): parts that will not be loaded.
    place (str): the component, for the message.
    RAISES (ValueError): SP148. Settings that have changed are only worth a warning, as
        they can be edited.
    """
    stored: Dict[str, str] = {}
    problems = {}
    if DIGESTS in parts:
        stored, problems[DIGESTS] = _read_json(parts[DIGESTS])
    problems[CFG] = _problem_of_cfg(parts)
    if MODEL not in parts:
        problems[MODEL] = "is missing"
    elif MODEL in stored and _digest(parts[MODEL]) != stored[MODEL]:
        problems[MODEL] = "is not what was stored"
    for name, problem in problems.items():
        if problem and name not in exclude:
            message = Errors.SP148.format(place=place, part=name, problem=problem)
            raise ValueError(message)
    if CFG in stored and CFG not in exclude and _digest(parts[CFG]) != stored[CFG]:
        warnings.warn(Warnings.SW146.format(place=place))


def _read_json(data: Any) -> Tuple[Dict[str, Any], str]:
    """RETURNS (Tuple[Dict[str, Any], str]): a mapping, and what is wrong with it."""
    try:
        found = srsly.json_loads(data)
    except (ValueError, TypeError) as error:
        return {}, f"is no JSON ({error})"
    return (found, "") if isinstance(found, dict) else ({}, "holds no mapping")


def _problem_of_cfg(parts: Mapping[str, Any]) -> str:
    if CFG not in parts:
        return "is missing"
    cfg, problem = _read_json(parts[CFG])
    labels = cfg.get("labels")
    if problem:
        return problem
    if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
        return "holds no list of labels"
    return "" if len(set(labels)) == len(labels) else "holds a label twice"


def tensors_without_numbers(model: Model) -> List[str]:
    """RETURNS (List[str]): names of the weights of which some are no finite numbers."""
    broken = []
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                array = node.get_param(name)
                if not bool(get_array_module(array).isfinite(array).all()):
                    broken.append(f"{node.name}.{name}")
        for shim in torch_shims(node):
            for name, tensor in shim._model.state_dict().items():
                if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                    broken.append(f"{node.name}.{name}")
    return broken
