"""The output folder of a run: result files, and a report on each finished one.

The report of a part is written last. So whatever stops the work, a part is either
finished, with its file and its errors complete, or it is done again.
"""

import json
import shutil
from pathlib import Path
from typing import IO, Any, ContextManager, Dict, Iterable, List, NamedTuple, Optional

from ...files import locked, read_json, staged_file, write_json, write_text
from .messages import Report

ERRORS = "errors.jsonl"
STATE = ".annotate"


class OutputFolder(NamedTuple):
    """The paths of everything that a run writes.

    root (Path): the folder, as all workers can reach it.
    suffix (str): of the files: ".jsonl", ".parquet" or ".spacy".
    """

    root: Path
    suffix: str

    @property
    def state(self) -> Path:
        """The folder with the state of the run."""
        return self.root / STATE

    def locked(self) -> ContextManager[None]:
        """Keep other runs away.

        RAISES (ValueError): SP125 where another process writes to the folder.
        """
        return locked(self.state / "lock", self.root)

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
        """RETURNS (Path): the report on a finished part."""
        return self.state / "finished" / f"{part:06}.json"

    def draft(self, part: int) -> ContextManager[Path]:
        """Write the file of a part, and let it appear when it is on the disk.

        RETURNS (ContextManager[Path]): file to write to.
        """
        return staged_file(self.shard(part), folder=self.state / "drafts", flush=True)

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
            report = Report(**read_json(self.report(part)))
        except (OSError, ValueError, TypeError):  # missing, or torn by a power failure
            return None
        return report if self.shard(part).is_file() else None

    def move_shards(
        self, reports: Iterable[Report], stream: IO[bytes]
    ) -> Iterable[Report]:
        """Write the files of finished parts to a stream, in the order of the parts, and
        delete them.

        reports (Iterable[Report]): of all parts, in any order.
        YIELDS (Report): the same.
        """
        waiting: Dict[int, Path] = {}
        following = 0
        for report in reports:
            waiting[report.part] = self.shard(report.part)
            while following in waiting:
                path = waiting.pop(following)
                with path.open("rb") as file:
                    shutil.copyfileobj(file, stream)
                path.unlink()
                following += 1
            stream.flush()
            yield report

    def collect_errors(self, parts: Iterable[int]) -> None:
        """Join the errors of these parts to one file."""
        draft = staged_file(self.root / ERRORS, folder=self.state)
        with draft as path, path.open("wb") as joined:
            for part in parts:
                if self.errors(part).is_file():
                    with self.errors(part).open("rb") as file:
                        shutil.copyfileobj(file, joined)

    def remove_drafts(self) -> None:
        """Remove unfinished files; no worker may be at work."""
        shutil.rmtree(self.state / "drafts", ignore_errors=True)

    def forget_attempts(self) -> None:
        """Remove the journals; no worker may be at work."""
        shutil.rmtree(self.state / "attempts", ignore_errors=True)

    def clear(self) -> None:
        """Remove everything that a run has written, in any format, and nothing else."""
        for path in self.root.glob("part-[0-9]*"):
            path.unlink()
        (self.root / ERRORS).unlink(missing_ok=True)
        self.plan.unlink(missing_ok=True)
        for name in ("finished", "errors", "attempts"):
            shutil.rmtree(self.state / name, ignore_errors=True)


def _line(value: Dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
