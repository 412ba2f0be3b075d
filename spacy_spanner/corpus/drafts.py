"""Write to a hidden place, and let it take the target's place when all is done.

A conversion may read the very file that it writes, and one that fails must leave what
was there before.
"""

import errno
import os
import shutil
import tempfile
from pathlib import Path


class Draft:
    """A file that is not complete yet.

    target (Path): the file that it will be; its folder is made if it is missing.
    RAISES (IsADirectoryError): where the target is a folder.
    """

    def __init__(self, target: Path) -> None:
        if target.is_dir():
            problem = errno.EISDIR
            raise IsADirectoryError(problem, os.strerror(problem), str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        # Pipes and devices, such as /dev/stdout, are filled and not replaced.
        self._fills = target.exists() and not target.is_file()
        # What a link points to is replaced, and not the link.
        self._target = target if self._fills else target.resolve()
        folder = tempfile.gettempdir() if self._fills else self._target.parent
        self.path = Path(folder) / f".{self._target.name}-{os.getpid()}.draft"

    def finish(self) -> None:
        """Put the file in the place of the target."""
        if self._fills:
            with self.path.open("rb") as file, self._target.open("wb") as target:
                shutil.copyfileobj(file, target)
            self.path.unlink()
            return
        if self._target.exists():
            shutil.copymode(self._target, self.path)
        os.replace(self.path, self._target)

    def discard(self) -> None:
        """Delete the file; the target stays as it is."""
        self.path.unlink(missing_ok=True)


class DraftFolder:
    """Files that will be in a folder, hidden there as long as they are not complete.

    target (Path): the folder; made if it is missing.
    """

    def __init__(self, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        self._target = target
        # Inside, because the folder may be the only place of its disk, or to write to.
        self.path = target / f".{os.getpid()}.draft"
        self.discard()
        self.path.mkdir()

    def finish(self) -> None:
        """Move the files to the target; others that are there stay."""
        for path in sorted(self.path.iterdir()):
            os.replace(path, self._target / path.name)
        self.path.rmdir()

    def discard(self) -> None:
        """Delete the files; the target stays as it is."""
        shutil.rmtree(self.path, ignore_errors=True)
