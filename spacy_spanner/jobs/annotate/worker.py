"""Annotate one part, in any process, so that no document can stop a run.

A document can kill the process that works on it, by using up the memory or by a crash
in compiled code. No exception can be caught then. So the next attempt at an unfinished
part takes one document at a time, and writes its number to the journal first. A
document that has ended two attempts is skipped. A run that ends normally removes its
journals.
"""

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Generator, Iterable, Iterator, List, NamedTuple, Set

from ...errors import Warnings
from .annotator import SpanAnnotator, describe
from .messages import Annotated, Document, Fields, Part, Report
from .output import OutputFolder
from .readers import read_part
from .result_files import SHARDS, ShardWriter

Reports = Generator[Report, None, None]
BEGUN, READ = "begun", "read"
# Once may be an accident: the machine was stopped, or another process used the memory.
DEATHS = 2


class Job(NamedTuple):
    """The picklable settings of a worker: see `run.Request`."""

    annotator: SpanAnnotator
    output: OutputFolder
    fields: Fields
    with_text: bool


def work(job: Job, part: Part) -> Report:
    """Annotate a part unless it is finished.

    RETURNS (Report): counts, or the problem if the error is not that of a document: the
        pipeline cannot be loaded, or the disk is full.
    """
    try:
        return job.output.finished(part.number) or annotate_part(job, part)
    except Exception as error:
        return Report(part.number, problem=describe_failure(error))


def describe_failure(error: Exception) -> str:
    """RETURNS (str): the message of an error with a code, else type and message."""
    coded = re.match(r"\[[A-Z]+\d+\]", str(error))
    return str(error) if coded else describe(error)


def annotate_part(job: Job, part: Part) -> Report:
    """Annotate the documents of a part, write its file, and count."""
    start = time.process_time()
    journal = Journal(job.output.journal(part.number))
    annotator, size = job.annotator, None
    with annotator.zone(), job.output.draft(part.number) as draft:
        journal.begin()
        documents = read_part(part, job.fields, annotator.nlp.vocab)
        if journal.n_attempts:
            documents, size = journal.follow(documents), 1
        shard = SHARDS[job.output.suffix[1:]](draft, annotator.key, job.with_text)
        tally = Tally(shard)
        for one in annotator.annotate(documents, batch_size=size):
            tally.add(one)
        shard.close()
    report = Report(
        part.number,
        part.size,
        tally.documents,
        tally.words,
        tally.spans,
        len(tally.errors),
        time.process_time() - start,
    )
    job.output.finish(report, tally.errors)
    return report


class Tally:
    """Writes documents to the output file, and counts them."""

    def __init__(self, shard: ShardWriter) -> None:
        self._shard = shard
        self.documents = self.words = self.spans = 0
        self.errors: List[Dict[str, Any]] = []

    def add(self, one: Annotated) -> None:
        """Write a document, or keep the reason why it failed.

        RAISES (OSError): if the file cannot be written.
        """
        if one.problem:
            self.errors.append({"id": one.id, "reason": one.problem})
            return
        try:
            spans = self._shard.add(one)
        except OSError:
            raise
        except Exception as error:  # a value that the format cannot represent
            self.errors.append({"id": one.id, "reason": describe(error)})
            return
        self.documents += 1
        self.words += len(one.doc)
        self.spans += spans


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
