"""Store the parts of a component together, and never load it damaged.

spaCy writes the parts of a component one by one over older ones, and reads whatever it
finds. Here all parts are complete before the first replaces its predecessor, and
digests are stored with them: otherwise nobody would notice a flipped bit in a weight,
or parts of two versions if a process is killed between two replacements.
"""

import gc
import json
import re
import warnings
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Tuple

import srsly

from ..errors import Errors, Warnings
from ..files import staged_folder
from .overrides import MADE_WITH, merge_stored
from .state import HEAD_LABELS, MAY_LACK, head_labels, require_same_labels
from .stored_tensors import require_numbers, require_usable

CFG, MODEL, DIGESTS = "cfg", "model", "digests"
# Downloads of the hub are links from one folder to the other.
BESIDE, BLOBS = "snapshots", "blobs"
# Messages of this package and of spaCy.
CODED = re.compile(r"\[(SP|E)\d+\]")

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
    if CFG not in exclude:
        for name in MAY_LACK:
            pipe.cfg.pop(name, None)
    with unpacking_explained(pipe.name):
        try:
            load()
        except ValueError:
            # Thinc refuses to change a dimension, without saying of what.
            require_same_labels(before, head_labels(pipe.cfg), pipe.name)
            raise
        if MODEL not in exclude:
            require_usable(pipe.model)
    if CFG not in exclude:
        pipe.cfg.pop(MADE_WITH, None)
        stored = read_cfg(parts)
        pipe.cfg.update(merge_stored(stored, pipe.made_with, pipe.defaults, pipe.name))
    require_numbers(pipe.model, pipe.name)
    require_same_labels(head.maybe_get_dim("nO"), head_labels(pipe.cfg), pipe.name)
    _ = pipe.settings  # checks all settings


@contextmanager
def unpacking_explained(component: str) -> Iterator[None]:
    """Turn the many ways in which unpacking fails into one.

    RAISES (ValueError): SP148; errors with a code, and those of missing packages and
        files, are raised as they are.
    """
    try:
        with collecting_garbage():
            yield
    except (ImportError, OSError):
        raise
    except Exception as error:
        if CODED.match(str(error)):
            raise
        problem = f"cannot be read ({type(error).__name__}: {str(error)[:200]})"
        place = f"'{component}'"
        message = Errors.SP148.format(place=place, part="content", problem=problem)
        raise ValueError(message) from error


@contextmanager
def collecting_garbage() -> Iterator[None]:
    """Let Python collect garbage again after srsly has failed to unpack something."""
    collects = gc.isenabled()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def digests_of(parts: Mapping[str, bytes]) -> bytes:
    """RETURNS (bytes): JSON, the digest of settings and weights by name."""
    return srsly.json_dumps(
        {name: _digest(parts[name]) for name in (CFG, MODEL) if name in parts}
    ).encode("ascii")


def _digest(data: Any) -> str:
    data = data.encode("utf8") if isinstance(data, str) else data
    return blake2b(data, digest_size=16).hexdigest()


def read_parts(folder: Path) -> Parts:
    """RETURNS (Parts): the files of a stored component.

    RAISES (ValueError): SP152 for a link that leaves the pipeline.
    """
    files = [folder / name for name in (CFG, MODEL, DIGESTS)]
    found = [file for file in files if file.is_file()]
    for file in found:
        _require_inside(file)
    return {file.name: file.read_bytes() for file in found}


def _require_inside(file: Path) -> None:
    """RAISES (ValueError): SP152 if a file is not in the folder of the pipeline, nor
    where the Hugging Face Hub stores the files of the folder.
    """
    folders = file.absolute().parents
    target = file.resolve()
    known = [folders[1], *(one.parent / BLOBS for one in folders if one.name == BESIDE)]
    if not any(one.resolve() in target.parents for one in known):
        what, why = f"a link from {file} to {target}", "it leaves the pipeline"
        raise ValueError(Errors.SP152.format(what=what, why=why))


def unpack(bytes_data: bytes, component: str) -> Parts:
    """RETURNS (Parts): what `to_bytes` stored.

    RAISES (ValueError): SP148 if it cannot be unpacked.
    """
    try:
        with collecting_garbage():
            message: Any = srsly.msgpack_loads(bytes_data)
    except Exception as error:
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


def read_settings(parts: Mapping[str, Any], place: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the settings of a component that has no weights.

    parts (Mapping[str, Any]): the stored parts, by name.
    place (str): the component, for the message.
    RAISES (ValueError): SP148 if they are damaged.
    """
    cfg, problem = _read_settings(parts)
    if problem:
        message = Errors.SP148.format(place=place, part=CFG, problem=problem)
        raise ValueError(message)
    return cfg


def _read_settings(parts: Mapping[str, Any]) -> Tuple[Dict[str, Any], str]:
    """RETURNS (Tuple[Dict[str, Any], str]): the settings, and their problem if any."""
    if CFG not in parts:
        return {}, "is missing"
    cfg, problem = _read_json(parts[CFG])
    if not problem and not isinstance(cfg.get(MADE_WITH, {}), dict):
        problem = f"has no mapping under {MADE_WITH}"
    return cfg, problem


def _problem_of_cfg(parts: Mapping[str, Any]) -> str:
    cfg, problem = _read_settings(parts)
    if problem:
        return problem
    lists = [cfg.get("labels"), cfg.get(HEAD_LABELS, [])]
    for labels in lists:
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            return "has no list of labels"
    distinct = all(len(set(labels)) == len(labels) for labels in lists)
    return "" if distinct else "contains a label twice"
