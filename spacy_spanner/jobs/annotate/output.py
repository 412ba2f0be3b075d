"""The folder of a run: files of the output, and what is known about each of them.

A part is finished when its report is there, which is written last. So whatever stops
the work, a part is either finished, with file and errors complete, or done again.
"""

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional

from ...files import write_json, write_text
from .messages import Report

ERRORS = "errors.jsonl"
STATE = ".annotate"


class OutputFolder(NamedTuple):
    """Where things are.

    root (Path): the folder, as all workers can reach it.
    suffix (str): of the files: ".jsonl", ".parquet" or ".spacy".
    """

    root: Path
    suffix: str

    @property
    def state(self) -> Path:
        """What the command keeps for itself."""
        return self.root / STATE

    @property
    def lock(self) -> Path:
        """What keeps other runs away."""
        return self.state / "lock"

    @property
    def plan(self) -> Path:
        """The plan of the run."""
        return self.state / "plan.json"

    def shard(self, part: int) -> Path:
        """RETURNS (Path): the file of a part."""
        return self.root / f"part-{part:06}{self.suffix}"

    def errors(self, part: int) -> Path:
        """RETURNS (Path): documents of a part that failed."""
        return self.state / "errors" / f"{part:06}.jsonl"

    def journal(self, part: int) -> Path:
        """RETURNS (Path): attempts at a part."""
        return self.state / "attempts" / f"{part:06}"

    def report(self, part: int) -> Path:
        """RETURNS (Path): what makes a part finished."""
        return self.state / "finished" / f"{part:06}.json"

    @contextmanager
    def draft(self, part: int) -> Iterator[Path]:
        """Write the file of a part, and let it appear when it is on the disk.

        YIELDS (Path): file to write to.
        """
        drafts = self.state / "drafts"
        drafts.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{part:06}-", dir=drafts)
        os.close(handle)
        try:
            yield Path(name)
            with open(name, "rb+") as file:
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # temporary files are closed to others
            os.replace(name, self.shard(part))
        finally:
            if os.path.exists(name):
                os.unlink(name)

    def finish(self, report: Report, errors: List[Dict[str, Any]]) -> None:
        """Note that a part is finished; its file is there."""
        path = self.errors(report.part)
        if errors:
            write_text(path, "".join(map(_line, errors)))
        else:
            path.unlink(missing_ok=True)
        write_json(self.report(report.part), report._asdict())

    def finished(self, part: int) -> Optional[Report]:
        """RETURNS (Optional[Report]): None for a part that is still to be done."""
        try:
            report = Report(**json.loads(self.report(part).read_text("utf8")))
        except (OSError, ValueError, TypeError):  # missing, or torn by a power failure
            return None
        return report if self.shard(part).is_file() else None

    def collect_errors(self, parts: Iterable[int]) -> None:
        """Join the errors of these parts to one file."""
        draft = self.state / ERRORS
        with draft.open("wb") as joined:
            for part in parts:
                if self.errors(part).is_file():
                    with self.errors(part).open("rb") as file:
                        shutil.copyfileobj(file, joined)
        os.replace(draft, self.root / ERRORS)

    def remove_drafts(self) -> None:
        """Remove unfinished files; no worker may be at work."""
        shutil.rmtree(self.state / "drafts", ignore_errors=True)

    def forget_attempts(self) -> None:
        """Remove the journals; no worker may be at work."""
        shutil.rmtree(self.state / "attempts", ignore_errors=True)

    def clear(self) -> None:
        """Remove all that a run has written, whatever its format was; nothing else."""
        for path in self.root.glob("part-[0-9]*"):
            path.unlink()
        (self.root / ERRORS).unlink(missing_ok=True)
        self.plan.unlink(missing_ok=True)
        for name in ("finished", "errors", "attempts"):
            shutil.rmtree(self.state / name, ignore_errors=True)


def _line(value: Dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
