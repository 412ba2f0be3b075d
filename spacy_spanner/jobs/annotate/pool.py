"""A pool of processes that replaces killed workers and repeats their parts."""

import copy
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, Deque, Dict, Optional, Sequence, cast

from ...errors import Errors
from .annotator import NO_GPU, SpanAnnotator
from .messages import Part, Report
from .worker import Job, Reports, describe_failure, work

READY = "ready"
# Imports what workers need, on being imported.
IMPORTS = "spacy_spanner.jobs.annotate.imports"
# How often a process may die while it loads the pipeline.
STARTS = 3


def run_here(job: Job, parts: Sequence[Part]) -> Reports:
    """YIELDS (Report): of each part, annotated in this process."""
    for part in parts:
        yield work(job, part)


def run_pool(
    job: Job, parts: Sequence[Part], *, n_process: int, num_gpus: float = 0.0
) -> Reports:
    """Annotate parts in several processes of this machine.

    num_gpus (float): GPUs per process; 0.5 to let two share one.
    YIELDS (Report): of each part, as soon as it is finished.
    RAISES (ValueError): SP126 if processes die while they load the pipeline.
    """
    waiting = deque(parts)
    jobs = [
        with_gpu(job, number, num_gpus) for number in range(min(n_process, len(parts)))
    ]
    workers = [_Worker(one) for one in jobs]
    try:
        while any(worker.part for worker in workers) or waiting:
            for worker in workers:
                worker.take(waiting)
            busy = {worker.connection: worker for worker in workers if worker.part}
            for ready in wait(list(busy)):
                report = busy[cast(Connection, ready)].receive()
                if report is not None:
                    yield report
    finally:
        for worker in workers:
            worker.end()


def with_gpu(job: Job, number: int, num_gpus: float) -> Job:
    """RETURNS (Job): the job of a worker, by its number, on the first of its GPUs."""
    if not num_gpus:
        return job
    annotator: SpanAnnotator = copy.copy(job.annotator)
    annotator.gpu_id = int(number * num_gpus)
    return job._replace(annotator=annotator)


class _Worker:
    """A process, and the part it works on."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._starts = 0
        self.part: Optional[Part] = None
        self._start()

    def _start(self) -> None:
        context: Any = _context(self._job.annotator)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(self._job, theirs, dict(os.environ)), daemon=True
        )
        self._process.start()
        theirs.close()
        self._starts += 1

    def take(self, waiting: Deque[Part]) -> None:
        """Start the next part, if one is waiting and the process is idle."""
        if self.part is None and waiting:
            self.part = waiting.popleft()
            self._send(self.part)

    def _send(self, part: Part) -> None:
        with suppress(OSError):  # the process has died, which `receive` will notice
            self.connection.send(part)

    def receive(self) -> Optional[Report]:
        """RETURNS (Optional[Report]): None if the process has become ready, or has died
        and been replaced.
        """
        try:
            received: Any = self.connection.recv()
        except (EOFError, OSError):
            self._replace()
            return None
        if received == READY:
            self._starts = 0
            return None
        self.part = None
        return received

    def _replace(self) -> None:
        self._process.join()
        self.connection.close()
        if self._starts >= STARTS:
            raise ValueError(
                Errors.SP126.format(times=STARTS, code=self._process.exitcode)
            )
        self._start()
        if self.part is not None:
            self._send(self.part)

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _context(annotator: SpanAnnotator) -> BaseContext:
    """Choose how processes start. Importing torch and spaCy takes longer than loading
    most pipelines, so one process, which does nothing else, imports for all workers.

    A fork of this process would have the state of its torch threads without the
    threads, and a fork of one whose imports have looked for GPUs cannot use them.

    annotator (SpanAnnotator): what the workers call.
    RETURNS (BaseContext): starts processes.
    """
    if sys.platform != "linux" or annotator.gpu_id != NO_GPU:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([IMPORTS])
    return context


def _serve(job: Job, connection: Connection, environment: Dict[str, str]) -> None:
    """Work on parts until the connection closes; the target of a process.

    environment (Dict[str, str]): the variables of the process that asks.
    """
    os.environ.update(environment)
    # Ctrl-C reaches all processes of a terminal; the parent ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    problem = ""
    try:
        _ = job.annotator.nlp
    except Exception as error:
        problem = describe_failure(error)
    connection.send(READY)
    while True:
        try:
            part: Part = connection.recv()
        except EOFError:
            return
        report = Report(part.number, problem=problem) if problem else work(job, part)
        connection.send(report)


def _end_with_parent() -> None:
    """Exit as soon as the parent process ends, without finishing the part."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
