"""Write files and folders completely before they replace others.

Everything is written under a hidden name first and renamed when it is complete. If the
work is interrupted, the previous files stay. A file (`staged_file`) and a folder as a
whole (`new_folder`) are replaced at once. The files of a folder that has others
(`staged_folder`) are moved one by one: a process that is killed between two moves
leaves complete files, but new ones beside old ones. Errors name the output; see
`output_checks`.
"""

import errno
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ContextManager, Iterator, Optional, Union
from uuid import uuid4

from .errors import Errors
from .output_checks import naming_output, require_absent, require_path

# Drafts have longer names than their targets, whose length is limited.
MAX_NAME = 60
# What some file systems answer if a folder is to be flushed.
NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP)


class Draft:
    """A file that is being written.

    target (Path): the final path; its folder is created if it is missing.
    folder (Optional[Path]): folder for the draft, on the same disk; by default that of
        the target.
    flush (bool): whether to wait until the file is on disk before it is renamed, and
        then until its name is, so that it survives a power failure.
    RAISES (OSError): SP143 if it cannot be written, such as an IsADirectoryError if the
        target is a folder.
    """

    def __init__(
        self, target: Path, *, folder: Optional[Path] = None, flush: bool = False
    ) -> None:
        require_path(target)
        with naming_output(target):
            if target.is_dir():
                raise OSError(errno.EISDIR, "")
            target.parent.mkdir(parents=True, exist_ok=True)
        # Pipes and devices, such as /dev/stdout, are written to and not replaced.
        self._fills = target.exists() and not target.is_file()
        # The target of a link is replaced, not the link.
        self._target = target if self._fills else target.resolve()
        if self._fills:
            folder = Path(tempfile.gettempdir())
        elif folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._flush = flush
        self.path = hidden_path(self._target, folder)

    def finish(self) -> None:
        """Replace the target by the file."""
        with naming_output(self._target):
            if self._flush:
                flush_to_disk(self.path)
            if self._fills:
                with self.path.open("rb") as file, self._target.open("wb") as target:
                    shutil.copyfileobj(file, target)
                self.path.unlink()
                return
            if self._target.exists():
                shutil.copymode(self._target, self.path)
            os.replace(self.path, self._target)
            if self._flush:
                flush_names(self._target.parent)

    def discard(self) -> None:
        """Delete the file if it is not finished; the target stays as it is."""
        self.path.unlink(missing_ok=True)


class DraftFolder:
    """Files that are being written for a folder, which may contain others.

    target (Path): the folder, created if it is missing.
    """

    def __init__(self, target: Path) -> None:
        require_path(target)
        self._target = target
        # The folder may be the only writable one, or a disk of its own.
        with naming_output(target):
            self.path = hidden_path(target, target if target.is_dir() else None)
            self.path.mkdir(parents=True)

    def finish(self) -> None:
        """Move the files to the target, one by one. Files with the same names are
        replaced, others stay.
        """
        with naming_output(self._target):
            self._target.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.path.rglob("*")):
                target = self._target / path.relative_to(self.path)
                if path.is_dir():
                    target.mkdir(exist_ok=True)
                else:
                    os.replace(path, target)
        self.discard()

    def discard(self) -> None:
        """Delete the files that were not moved; the target stays as it is."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def _finished(draft: Union[Draft, DraftFolder], output: Path) -> Iterator[Path]:
    try:
        with naming_output(output, reading=True):
            yield draft.path
        draft.finish()
    finally:
        draft.discard()


def staged_file(
    output: Path, *, folder: Optional[Path] = None, flush: bool = False
) -> ContextManager[Path]:
    """Write a file that replaces the target when the block ends without an error.

    output, folder, flush: see `Draft`.
    """
    return _finished(Draft(output, folder=folder, flush=flush), output)


def staged_folder(output: Path) -> ContextManager[Path]:
    """Collect files, and move them to a folder when the block ends without an error.
    Files with other names stay there.
    """
    return _finished(DraftFolder(output), output)


@contextmanager
def new_folder(
    output: Path, *, force: bool = False, flush: bool = False
) -> Iterator[Path]:
    """Build a folder that replaces the target at once.

    output (Path): folder to create. The target of a link is replaced, not the link.
    force (bool): whether to replace an existing folder.
    flush (bool): see `Draft`.
    YIELDS (Path): folder to write into.
    RAISES (ValueError): SP070 if it exists.
    RAISES (OSError): SP143 if it cannot be written.
    """
    if not force:
        require_absent(output)
    target = output.resolve()
    staged = hidden_path(target)
    replaced = staged.with_name(f"{staged.name}-replaced")
    with naming_output(output):
        staged.mkdir(parents=True)
    try:
        with naming_output(output, reading=True):
            yield staged
        with naming_output(output):
            if flush:
                flush_to_disk(staged)
            # Moving a large folder away takes no time, deleting it does.
            if target.is_dir():
                os.replace(target, replaced)
            os.replace(staged, target)
            if flush:
                flush_names(target.parent)
    finally:
        if replaced.exists() and not target.exists():
            os.replace(replaced, target)  # a signal came between the two moves
        _remove_folder(staged)
        _remove_folder(replaced)


def _remove_folder(path: Path) -> None:
    """Delete a folder, also if a signal such as SIGTERM comes meanwhile."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def hidden_path(target: Path, folder: Optional[Path] = None) -> Path:
    """RETURNS (Path): an unused path in the folder of the target or in another folder;
    new files there get the usual permissions.
    """
    name = target.name[:MAX_NAME]
    return (folder or target.parent) / f".{name}-{uuid4().hex[:8]}"


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or a folder with all that is in it, is on disk."""
    for one in [path, *path.rglob("*")]:
        if one.is_dir():
            flush_names(one)
        elif one.is_file():
            with one.open("rb+") as stream:
                os.fsync(stream.fileno())


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on disk, such as that of a new file. Where
    folders cannot be opened or flushed, as on Windows, this does nothing.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in NOT_FLUSHED:
            raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a file atomically."""
    with staged_file(path) as draft:
        draft.write_text(text, encoding="utf8")


def write_json(path: Path, data: Any) -> None:
    """Write data as indented JSON atomically, with every digit of its numbers."""
    # The JSON of srsly has ten digits.
    text = json.dumps(data, indent=2, separators=(",", ":"), allow_nan=False)
    write_text(path, text + "\n")


def read_json(path: Path) -> Any:
    """RETURNS (Any): the data, with exactly the numbers that were written."""
    return json.loads(path.read_text(encoding="utf8"))


@contextmanager
def locked(lock: Path, folder: Path) -> Iterator[None]:
    """Lock a folder for writing. The system releases the lock however the process ends.

    lock (Path): the lock file.
    folder (Path): the folder, for the message.
    RAISES (ValueError): SP125 if another process holds the lock.
    RAISES (OSError): SP143 if the folder cannot be written.
    """
    from filelock import FileLock, Timeout  # takes some time to import

    holder = FileLock(lock)
    try:
        with naming_output(folder):
            lock.parent.mkdir(parents=True, exist_ok=True)
            holder.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(Errors.SP125.format(folder=folder)) from error
    try:
        yield
    finally:
        holder.release()
