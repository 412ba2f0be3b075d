"""Write files so that nobody ever finds half of one, whatever stops the work."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import srsly

from .errors import Errors


@contextmanager
def staged_folder(output: Path) -> Iterator[Path]:
    """Collect files in a hidden folder beside the target, and move them when all is
    done. Files that are there already are replaced, others stay.

    output (Path): folder to write to; made if it is missing.
    YIELDS (Path): folder to write into.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        yield staged
        for path in sorted(staged.rglob("*")):
            target = output / path.relative_to(staged)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def new_folder(output: Path, *, force: bool = False) -> Iterator[Path]:
    """Build a folder beside the target, and let it take the target's place at once.

    output (Path): folder to make.
    force (bool): whether a folder that is there may be replaced, whole.
    YIELDS (Path): folder to write into.
    RAISES (ValueError): SP070 where there is something already.
    """
    if not force:
        require_absent(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    replaced = staged.with_name(f"{staged.name}-replaced")
    try:
        yield staged
        staged.chmod(0o755)  # temporary folders are closed to others
        # To move a large folder away takes no time, to delete it does.
        if output.is_dir():
            os.replace(output, replaced)
        os.replace(staged, output)
    finally:
        if replaced.exists() and not output.exists():
            os.replace(replaced, output)  # a signal came between the two moves
        shutil.rmtree(staged, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def require_absent(output: Path) -> None:
    """RAISES (ValueError): SP070 for a file, or a folder that is not empty."""
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise ValueError(Errors.SP070.format(path=output))


def write_text(path: Path, text: str) -> None:
    """Write a file at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf8") as stream:
            stream.write(text)
        os.chmod(name, 0o644)  # temporary files are closed to others
        os.replace(name, path)
    finally:
        if os.path.exists(name):
            os.unlink(name)


def write_json(path: Path, data: Any) -> None:
    """Write data as indented JSON at once."""
    write_text(path, srsly.json_dumps(data, indent=2) + "\n")
