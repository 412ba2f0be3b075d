"""Write files and folders atomically: they are complete or not there.

Everything is written under a hidden name first, and takes its place when it is
complete. Whatever stops the work, what was there before stays.
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


class Draft:
    """A file that is not complete yet.

    target (Path): the file that it will be; its folder is made if it is missing.
    folder (Optional[Path]): where the draft is written, on the same disk; beside the
        target by default.
    flush (bool): whether the file has to be on the disk before it takes its place, so
        that it also survives a power failure.
    RAISES (IsADirectoryError): where the target is a folder.
    """

    def __init__(
        self, target: Path, *, folder: Optional[Path] = None, flush: bool = False
    ) -> None:
        if target.is_dir():
            problem = errno.EISDIR
            raise IsADirectoryError(problem, os.strerror(problem), str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        # Pipes and devices, such as /dev/stdout, are filled and not replaced.
        self._fills = target.exists() and not target.is_file()
        # What a link points to is replaced, and not the link.
        self._target = target if self._fills else target.resolve()
        if self._fills:
            folder = Path(tempfile.gettempdir())
        elif folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._flush = flush
        self.path = hidden_path(self._target, folder)

    def finish(self) -> None:
        """Put the file in the place of the target."""
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

    def discard(self) -> None:
        """Delete the file if it is not finished; the target stays as it is."""
        self.path.unlink(missing_ok=True)


class DraftFolder:
    """Files that will be in a folder, which may hold others too.

    target (Path): the folder; made if it is missing.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        # A folder may be the only place of its disk, or the only one to write to.
        self.path = hidden_path(target, target if target.is_dir() else None)
        self.path.mkdir(parents=True)

    def finish(self) -> None:
        """Move the files to the target. Those of the same name are replaced, others
        stay.
        """
        self._target.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.path.rglob("*")):
            target = self._target / path.relative_to(self.path)
            if path.is_dir():
                target.mkdir(exist_ok=True)
            else:
                os.replace(path, target)
        self.discard()

    def discard(self) -> None:
        """Delete the files that are not moved; the target stays as it is."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def _finished(draft: Union[Draft, DraftFolder]) -> Iterator[Path]:
    try:
        yield draft.path
        draft.finish()
    finally:
        draft.discard()


def staged_file(
    output: Path, *, folder: Optional[Path] = None, flush: bool = False
) -> ContextManager[Path]:
    """Write a file that takes its place when the block ends without an error.

    output, folder, flush: see `Draft`.
    """
    return _finished(Draft(output, folder=folder, flush=flush))


def staged_folder(output: Path) -> ContextManager[Path]:
    """Collect files, and move them to a folder when the block ends without an error.
    Files of other names stay there.
    """
    return _finished(DraftFolder(output))


@contextmanager
def new_folder(
    output: Path, *, force: bool = False, flush: bool = False
) -> Iterator[Path]:
    """Build a folder that takes the target's place at once.

    output (Path): folder to make.
    force (bool): whether a folder that is there may be replaced, whole.
    flush (bool): see `Draft`.
    YIELDS (Path): folder to write into.
    RAISES (ValueError): SP070 where there is something already.
    """
    if not force:
        require_absent(output)
    staged = hidden_path(output)
    replaced = staged.with_name(f"{staged.name}-replaced")
    staged.mkdir(parents=True)
    try:
        yield staged
        if flush:
            flush_to_disk(staged)
        # To move a large folder away takes no time, to delete it does.
        if output.is_dir():
            os.replace(output, replaced)
        os.replace(staged, output)
    finally:
        if replaced.exists() and not output.exists():
            os.replace(replaced, output)  # a signal came between the two moves
        shutil.rmtree(staged, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def hidden_path(target: Path, folder: Optional[Path] = None) -> Path:
    """RETURNS (Path): a path that nothing else has, beside the target or in a folder;
    new files there get the usual permissions.
    """
    return (folder or target.parent) / f".{target.name}-{uuid4().hex[:8]}"


def require_absent(output: Path) -> None:
    """RAISES (ValueError): SP070 for a file, or a folder that is not empty."""
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise ValueError(Errors.SP070.format(path=output))


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or all files below a folder, are on the disk."""
    for file in [path, *path.rglob("*")]:
        if file.is_file():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a file at once."""
    with staged_file(path) as draft:
        draft.write_text(text, encoding="utf8")


def write_json(path: Path, data: Any) -> None:
    """Write data as indented JSON at once, with every digit of its numbers."""
    # The JSON of srsly has ten digits.
    text = json.dumps(data, indent=2, separators=(",", ":"), allow_nan=False)
    write_text(path, text + "\n")


def read_json(path: Path) -> Any:
    """RETURNS (Any): the data, with the very numbers that were written."""
    return json.loads(path.read_text(encoding="utf8"))


@contextmanager
def locked(lock: Path, folder: Path) -> Iterator[None]:
    """Be the only process that writes to a folder. The system releases the lock however
    the process ends.

    lock (Path): file of the lock.
    folder (Path): the folder, for the message.
    RAISES (ValueError): SP125 where another process holds the lock.
    """
    from filelock import FileLock, Timeout  # takes some time to import

    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = FileLock(lock)
    try:
        holder.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(Errors.SP125.format(folder=folder)) from error
    try:
        yield
    finally:
        holder.release()
