"""Check that an output can be written, and name it in errors of the system."""

import errno
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator

from .errors import Errors

# Errors that cannot come from reading.
OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
STANDARD_OUTPUT = Path("-")


def require_path(output: Path) -> None:
    """RAISES (ValueError): SP062 for "-", as it would be the name of a file."""
    if output == STANDARD_OUTPUT:
        message = Errors.SP062.format(
            name="output", choices="a file or a folder", value=str(output)
        )
        raise ValueError(message)


def require_apart(output: Path, inputs: Iterable[Path]) -> None:
    """RAISES (ValueError): SP144 if a folder that will be replaced has an input."""
    for source in inputs:
        if output.resolve() in [source.resolve(), *source.resolve().parents]:
            raise ValueError(Errors.SP144.format(output=output, source=source))


@contextmanager
def naming_output(target: Path, *, reading: bool = False) -> Iterator[None]:
    """Add a code and the path of the output to errors of the system.

    reading (bool): whether the block also reads, so that only errors of writing, such
        as a full disk, are about the output.
    RAISES (OSError): SP143, with the type of the original error.
    """
    try:
        yield
    except OSError as error:
        # A file of a draft was named: name the output instead.
        named = error.errno is None and isinstance(error.__cause__, OSError)
        system: Any = error.__cause__ if named else error
        if system.errno is None or (reading and system.errno not in OF_WRITING):
            raise
        problem = os.strerror(system.errno)
        message = Errors.SP143.format(path=target, problem=problem)
        raise type(system)(message) from system


def require_writable(output: Path, *, folder: bool, whole: bool = False) -> None:
    """Check before long work that its output can be written; this leaves no trace.

    folder (bool): whether the output is a folder.
    whole (bool): whether the folder will be replaced as a whole; see `new_folder`.
    RAISES (ValueError): SP062 for "-".
    RAISES (OSError): SP143 if it cannot be written.
    """
    require_path(output)
    with naming_output(output):
        try:
            kind = os.stat(output).st_mode
        except (FileNotFoundError, NotADirectoryError):
            pass  # created later
        else:
            if not folder and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
                return  # a pipe or a device
            if folder != stat.S_ISDIR(kind):
                problem = errno.ENOTDIR if folder else errno.EISDIR
                raise OSError(problem, os.strerror(problem))
        # The target of a link is replaced, not the link.
        place = output if folder and not whole else output.resolve().parent
        while not place.exists():
            place = place.absolute().parent
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")


def require_absent(output: Path) -> None:
    """RAISES (ValueError): SP070 for a file, or a folder that is not empty."""
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise ValueError(Errors.SP070.format(path=output))
