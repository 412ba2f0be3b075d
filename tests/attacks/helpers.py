"""Payloads that would show that they ran, and limits on what an attack may take."""

import resource
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest
import srsly
from spacy.language import Language

from spacy_spanner.pipeline.component import SpanRecognizer

from ..helpers import NESTED, blank_pipeline, make_examples, time_limit

Count = Callable[..., None]
LIMIT = 2**30
SECONDS = 60  # much, because other tests run at the same time

_initialized: Dict[str, Language] = {}


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Tuple[Any, ...]:
        return Path.touch, (self.marker,)


class Call:
    """Calls a function with arguments when it is unpickled."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Tuple[Any, ...]:
        return self.call


def stored_component(factory: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the parts of a component with random weights."""
    if factory not in _initialized:
        nlp = blank_pipeline(factory)
        nlp.initialize(lambda: make_examples(nlp, NESTED))
        _initialized[factory] = nlp
    stored = _initialized[factory].get_pipe(factory).to_bytes(exclude=["vocab"])
    parts: Dict[str, Any] = srsly.msgpack_loads(stored)
    del parts["digests"]  # whoever changes a file can also change its digest
    return parts


def fresh_component(factory: str) -> SpanRecognizer:
    pipe = blank_pipeline(factory).get_pipe(factory)
    assert isinstance(pipe, SpanRecognizer)
    return pipe


@contextmanager
def harmless(folder: Path) -> Iterator[None]:
    """Fail if the block takes a gigabyte, or too long, or changes files of a folder."""
    before = files_in(folder)
    with time_limit(SECONDS), limited_memory():
        yield
    assert files_in(folder) == before


def files_in(folder: Path) -> Dict[str, bytes]:
    """List all files, with their content."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@contextmanager
def limited_memory() -> Iterator[None]:
    """Fail if the block takes more than a gigabyte, and stop it before it takes all."""
    with suppress(PermissionError):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    resident = memory("VmRSS")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + 4 * LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert memory("VmHWM") - resident < LIMIT


def memory(kind: str) -> int:
    """RETURNS (int): bytes of a kind of memory that this process has."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{kind}:"))
    return 1024 * int(line.split()[1])


@contextmanager
def refused(codes: str) -> Iterator[None]:
    """Expect an error with one of these codes that is not a lack of memory."""
    with pytest.raises(ValueError, match=rf"^\[({codes})\]") as seen:
        yield
    assert not isinstance(seen.value.__cause__, MemoryError)
