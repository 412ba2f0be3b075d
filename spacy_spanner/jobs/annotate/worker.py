"""What a worker does with a part, in whatever process it runs."""

import time
from typing import Any, Dict, Generator, List, NamedTuple

from .annotator import SpanAnnotator, describe
from .journal import Journal
from .messages import Annotated, Fields, Part, Report
from .output import OutputFolder
from .readers import read_part
from .result_files import SHARDS, ShardWriter

Reports = Generator[Report, None, None]


class Job(NamedTuple):
    """All that workers have to know; it can be pickled.

    annotator (SpanAnnotator): the pipeline.
    output (OutputFolder): where results go.
    fields (Fields): where rows have text and id.
    with_text (bool): write texts too.
    """

    annotator: SpanAnnotator
    output: OutputFolder
    fields: Fields
    with_text: bool


def work(job: Job, part: Part) -> Report:
    """Annotate a part, and tell what has come of it.

    RETURNS (Report): also where something has stopped the work that is no fault of a
        document: a pipeline that cannot be loaded, or a full disk.
    """
    try:
        return job.output.finished(part.number) or annotate_part(job, part)
    except Exception as error:
        coded = isinstance(error, ValueError) and str(error).startswith("[")
        problem = str(error) if coded else describe(error)
        return Report(part.number, problem=problem)


def annotate_part(job: Job, part: Part) -> Report:
    """Annotate the documents of a part and write its file.

    RETURNS (Report): counts.
    RAISES (OSError): where files cannot be read or written.
    """
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
    """Hand documents to the file, and count.

    shard (ShardWriter): the file.
    """

    def __init__(self, shard: ShardWriter) -> None:
        self._shard = shard
        self.documents = self.words = self.spans = 0
        self.errors: List[Dict[str, Any]] = []

    def add(self, one: Annotated) -> None:
        """Write a document, or keep the reason why it cannot be.

        RAISES (OSError): where the file cannot be written.
        """
        if one.problem:
            self.errors.append({"id": one.id, "reason": one.problem})
            return
        try:
            spans = self._shard.add(one)
        except OSError:
            raise
        except Exception as error:  # a value that the format cannot hold
            self.errors.append({"id": one.id, "reason": describe(error)})
            return
        self.documents += 1
        self.words += len(one.doc)
        self.spans += spans
