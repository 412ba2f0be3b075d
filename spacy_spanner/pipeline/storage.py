"""Store a component whole or not at all, and never load it damaged.

spaCy overwrites the parts of a component one by one, and reads whatever it finds. Here
all parts are complete before the first replaces its predecessor, and digests are stored
with them: otherwise nobody would notice a flipped bit in a weight.
"""

import json
import warnings
from hashlib import blake2b
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple

import srsly
from thinc.api import Model, get_array_module

from ..errors import Errors, Warnings
from ..files import staged_folder
from ..layers.torch_shim import torch_module
from ..training.owners import torch_shims
from .overrides import MADE_WITH, merge_stored
from .state import require_same_labels

CFG, MODEL, DIGESTS = "cfg", "model", "digests"

Parts = Dict[str, Any]  # the stored parts of a component, by name


def complete_bytes(stored: bytes, cfg: Dict[str, Any]) -> bytes:
    """RETURNS (bytes): what spaCy's `to_bytes` made, exact settings, and digests."""
    message: Any = srsly.msgpack_loads(stored)
    if CFG in message:
        message[CFG] = exact_json(cfg)
    message[DIGESTS] = digests_of(message)
    return srsly.msgpack_dumps(message)


def write_whole(path: Path, write: Callable[[Path], None], cfg: Dict[str, Any]) -> None:
    """Write the folder of a component. Existing files stay until all is written.

    path (Path): the folder.
    write (Callable): writes the parts into the folder that it gets.
    cfg (Dict[str, Any]): the settings.
    """
    with staged_folder(path) as staged:
        write(staged)
        if (staged / CFG).exists():
            (staged / CFG).write_text(exact_json(cfg), encoding="utf8")
        (staged / DIGESTS).write_bytes(digests_of(read_parts(staged)))


def exact_json(cfg: Dict[str, Any]) -> str:
    """RETURNS (str): settings with all digits of their numbers. The JSON that spaCy
    writes has ten digits, and its reader returns 0.6 as 0.6000000000000001.
    """
    return json.dumps(cfg, indent=2, ensure_ascii=False)


def read_cfg(parts: Mapping[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): settings with exactly the numbers that were stored."""
    cfg: Dict[str, Any] = json.loads(parts[CFG])
    return cfg


def load_whole(
    pipe: Any, load: Callable[[], Any], parts: Parts, exclude: Iterable[str]
) -> None:
    """Load a component, and check that its parts belong together.

    pipe (SpanRecognizer): the component.
    load (Callable): spaCy's way of loading it.
    parts (Parts): the stored parts, checked for damage.
    RAISES (ValueError): SP007 if weights and labels do not belong together, SP149 for
        weights that are not finite, SP002 for settings out of their limits.
    """
    head = pipe.model.get_ref("output_layer")
    before = head.maybe_get_dim("nO")
    try:
        load()
    except ValueError:
        # Thinc refuses to change a dimension, without saying of what.
        require_same_labels(before, pipe.labels, pipe.name)
        raise
    if CFG not in exclude:
        pipe.cfg.pop(MADE_WITH, None)
        stored = read_cfg(parts)
        pipe.cfg.update(merge_stored(stored, pipe.made_with, pipe.defaults, pipe.name))
    require_numbers(pipe.model, pipe.name)
    require_same_labels(head.maybe_get_dim("nO"), pipe.labels, pipe.name)
    _ = pipe.settings  # checks all settings


def digests_of(parts: Mapping[str, bytes]) -> bytes:
    """RETURNS (bytes): JSON, the digest of settings and weights by name."""
    return srsly.json_dumps(
        {name: _digest(parts[name]) for name in (CFG, MODEL) if name in parts}
    ).encode("ascii")


def _digest(data: Any) -> str:
    data = data.encode("utf8") if isinstance(data, str) else data
    return blake2b(data, digest_size=16).hexdigest()


def read_parts(folder: Path) -> Parts:
    """RETURNS (Parts): the files of a stored component."""
    files = [folder / name for name in (CFG, MODEL, DIGESTS)]
    return {file.name: file.read_bytes() for file in files if file.is_file()}


def unpack(bytes_data: bytes, component: str) -> Parts:
    """RETURNS (Parts): what `to_bytes` stored.

    RAISES (ValueError): SP148 if it cannot be unpacked.
    """
    try:
        message: Any = srsly.msgpack_loads(bytes_data)
    except (ValueError, TypeError) as error:
        message, problem = None, f"cannot be unpacked ({error})"
    else:
        problem = "are not a stored component"
    if not isinstance(message, dict):
        place = f"'{component}'"
        raise ValueError(
            Errors.SP148.format(place=place, part="bytes", problem=problem)
        )
    return message


def check_parts(parts: Mapping[str, Any], exclude: Iterable[str], place: str) -> None:
    """Look for damage before anything is loaded.

    parts (Mapping[str, Any]): the stored parts, by name. Old versions stored no
        digests.
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
        problems[MODEL] = "differs from what was stored"
    for name, problem in problems.items():
        if problem and name not in exclude:
            message = Errors.SP148.format(place=place, part=name, problem=problem)
            raise ValueError(message)
    if CFG in stored and CFG not in exclude and _digest(parts[CFG]) != stored[CFG]:
        warnings.warn(Warnings.SW146.format(place=place))


def _read_json(data: Any) -> Tuple[Dict[str, Any], str]:
    """RETURNS (Tuple[Dict[str, Any], str]): a mapping, and its problem if any."""
    try:
        found = json.loads(data)
    except (ValueError, TypeError, RecursionError) as error:
        return {}, f"is not JSON ({error})"
    return (found, "") if isinstance(found, dict) else ({}, "is not a mapping")


def _problem_of_cfg(parts: Mapping[str, Any]) -> str:
    if CFG not in parts:
        return "is missing"
    cfg, problem = _read_json(parts[CFG])
    labels = cfg.get("labels")
    if problem:
        return problem
    if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
        return "has no list of labels"
    return "" if len(set(labels)) == len(labels) else "contains a label twice"


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
