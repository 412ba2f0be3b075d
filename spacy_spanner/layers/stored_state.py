"""Read stored weights that somebody else may have made.

`torch.load` with `weights_only=True` runs no code, but takes as much memory as a file
asks for: compressed zeros, buffers of any size, one number viewed as a huge matrix. So
a file is first compared with the module that the config describes, on torch's device
"meta", which has shapes but no memory.
"""

# This only lists what a pickle calls, and calls nothing.
import pickletools  # nosec B403
import re
import zipfile
from io import BytesIO
from typing import Any, Callable, Dict, Iterator, List, Mapping

import srsly
import torch
from torch import Tensor, nn

from ..errors import Errors

State = Dict[str, Tensor]
# What `torch.save` needs to describe the weights of a module, and their memory.
STORED_NAME = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_tensor_v2|torch \w+Storage"
)
# Other ways of a pickle to name something that is called.
CALLING = ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4")
META = torch.device("meta")


def read_message(data: bytes, kinds: Mapping[str, Any]) -> Dict[str, Any]:
    """Unpack the stored form of a shim.

    kinds (Mapping[str, Any]): the type, or types, of the value of each required name.
    RETURNS (Dict[str, Any]): values by name.
    RAISES (ValueError): SP151 if it is anything else.
    """
    message: Any = srsly.msgpack_loads(data)
    if not isinstance(message, dict):
        raise ValueError(Errors.SP151.format(problem="they are not a mapping"))
    require_values(message, kinds)
    return message


def require_values(message: Mapping[str, Any], kinds: Mapping[str, Any]) -> List[Any]:
    """RETURNS (List[Any]): the values of these names.

    RAISES (ValueError): SP151 if one is missing, or has another type.
    """
    for name, kind in kinds.items():
        if name not in message or not isinstance(message[name], kind):
            problem = f"the value of {name!r} is missing, or has a wrong type"
            raise ValueError(Errors.SP151.format(problem=problem))
    return [message[name] for name in kinds]


def plan_module(build: Callable[[], nn.Module]) -> nn.Module:
    """RETURNS (nn.Module): a module with shapes, but without memory."""
    with META:
        return build()


def read_state(data: bytes, planned: nn.Module) -> State:
    """Read what `torch.save` stored, if it fits a module.

    planned (nn.Module): see `plan_module`.
    RETURNS (Dict[str, Tensor]): the weights by name, on the CPU.
    RAISES (ValueError): SP150 for the weights of another module, SP151 for a file that
        contains anything but weights, or less than it claims to.
    """
    for problem in _problems(data):
        raise ValueError(Errors.SP151.format(problem=problem))
    state = _load(data, META)
    require_fitting(state, planned, len(data))
    return _load(data, torch.device("cpu"))


def require_fitting(state: Any, planned: nn.Module, n_bytes: int) -> None:
    """Check weights before there is memory for them.

    state (Any): the weights by name, possibly without memory.
    n_bytes (int): size of the file that contains them.
    RAISES (ValueError): SP150 for the weights of another module, SP151 for more than
        the file contains.
    """
    if not isinstance(state, dict) or not all(map(torch.is_tensor, state.values())):
        raise ValueError(Errors.SP151.format(problem="they are not tensors with names"))
    claimed = sum(value.numel() * value.element_size() for value in state.values())
    if claimed > n_bytes:
        problem = f"they claim {claimed:,} bytes, but the file has {n_bytes:,}"
        raise ValueError(Errors.SP151.format(problem=problem))
    try:
        # Compares names and shapes, and moves nothing.
        planned.load_state_dict({name: value.to(META) for name, value in state.items()})
    except RuntimeError as error:
        raise ValueError(Errors.SP150.format(problem=error)) from error


def _load(data: bytes, device: torch.device) -> Any:
    return torch.load(BytesIO(data), map_location=device, weights_only=True)


def _problems(data: bytes) -> Iterator[str]:
    """YIELDS (str): what is wrong with a file, without reading any weights."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            yield "they are compressed"
        elif size > len(data):
            yield f"their parts claim {size:,} bytes, but the file has {len(data):,}"
        else:
            pickles = [name for name in archive.namelist() if name.endswith(".pkl")]
            for name in pickles:
                yield from map(_refused, _calls(archive.read(name)))


def _refused(name: str) -> str:
    return f"they are stored with a call of {name!r}, which weights do not need"


def _calls(pickled: bytes) -> Iterator[str]:
    """YIELDS (str): the names that a pickle calls and weights do not need."""
    for code, value, _ in pickletools.genops(pickled):
        if code.name in CALLING:
            yield code.name
        elif code.name == "GLOBAL" and not STORED_NAME.fullmatch(str(value)):
            yield str(value).replace(" ", ".")
