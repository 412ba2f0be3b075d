"""A journal of attempts at a part, so that no document can stop a run.

A document can kill the process that works on it, by using up the memory or by a crash
in compiled code. No exception can be caught then. So the next attempt at an unfinished
part takes one document at a time, and writes its number to the journal first. A
document that has ended two attempts is skipped. A run that ends normally removes its
journals.
"""

from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator, Set

from ...errors import Warnings
from .messages import Document

BEGUN, READ = "begun", "read"
# Once may be an accident: the machine was stopped, or another process used the memory.
DEATHS = 2


class Journal:
    """The journal of a part.

    path (Path): its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text("utf8").splitlines() if path.is_file() else []
        self.n_attempts = lines.count(BEGUN)
        last = [
            line for line, after in zip(lines, [*lines[1:], BEGUN]) if after == BEGUN
        ]
        deaths = Counter(int(line) for line in last if line.isdecimal())
        self.deadly: Set[int] = {n for n, times in deaths.items() if times >= DEATHS}

    def begin(self) -> None:
        """Note that an attempt begins."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._write(BEGUN)

    def follow(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Note the number of each document before it is worked on.

        documents (Iterable[Document]): all of the part.
        YIELDS (Document): the same; deadly ones are replaced by a problem.
        """
        for number, document in enumerate(documents):
            if number in self.deadly:
                problem = Warnings.SW120.format(times=DEATHS)
                document = Document(document.id, problem=problem)
            self._write(str(number))
            yield document
        self._write(READ)

    def _write(self, line: str) -> None:
        # Opened each time, so that the line outlives the process.
        with self._path.open("a", encoding="utf8") as file:
            file.write(f"{line}\n")
