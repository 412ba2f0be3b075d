"""Keep two runs from writing to one folder at the same time."""

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from ...errors import Errors

try:
    import fcntl
except ImportError:  # Windows has other locks
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock, which the system releases however the process ends.

    path (Path): file of the lock.
    RAISES (ValueError): SP125 where another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                message = Errors.SP125.format(folder=path.parent.parent)
                raise ValueError(message) from error
        yield
