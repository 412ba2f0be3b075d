"""One thread that owns a pipeline, and reads the texts of all requests in batches.

While the pipeline reads a batch, texts of other requests wait; all that have come by
its end, up to the size of a batch, are the next one. So nobody waits for a batch to
fill up, and batches grow with the load. Because no other thread uses the pipeline,
every batch is a memory zone, and the threshold of a request holds for its texts alone.
"""

from collections import deque
from concurrent.futures import Future, InvalidStateError
from contextlib import nullcontext, suppress
from threading import Condition, Thread
from typing import Any, ContextManager, Deque, List, NamedTuple, Optional, Sequence

from ...errors import Errors
from ...evaluation.predicting import SpanSource, find_source, lowered_threshold
from ..annotate.annotator import BATCH_CHARACTERS, SpanAnnotator, describe
from ..annotate.frames import span_rows
from ..annotate.messages import Annotated, Document
from .limits import RefusedError


class Answer(NamedTuple):
    """The result for one text.

    spans (List[dict]): see `annotate.frames.span_rows`.
    problem (str): the message of the error, if the pipeline failed; else empty.
    """

    spans: List[Any]
    problem: str = ""


class Job:
    """The texts of one request.

    threshold (Optional[float]): replaces that of the component.
    future (Future): will have an `Answer` for each text; cancel it to withdraw them.
    """

    def __init__(self, texts: Sequence[str], threshold: Optional[float]) -> None:
        self.texts = texts
        self.threshold = threshold
        self.future: Future[List[Answer]] = Future()
        self._answers: List[Optional[Answer]] = [None] * len(texts)
        self._missing = len(texts)

    def answer(self, place: int, answer: Answer) -> None:
        """Take the answer for a text; the last one completes the future."""
        self._answers[place] = answer
        self._missing -= 1
        if not self._missing:
            with suppress(InvalidStateError):  # withdrawn meanwhile
                self.future.set_result([one for one in self._answers if one])


class _Item(NamedTuple):
    """A text that waits: a place in the texts of a job."""

    job: Job
    place: int

    @property
    def text(self) -> str:
        return self.job.texts[self.place]


class Batcher:
    """The queue of texts, and the thread that works on it.

    annotator (SpanAnnotator): owns the pipeline.
    batch (int): texts at once.
    """

    def __init__(self, annotator: SpanAnnotator, batch: int) -> None:
        self.annotator = annotator
        self.batch = batch
        self._next: Optional[SpanAnnotator] = None
        self._items: Deque[_Item] = deque()
        self._condition = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name="pipeline", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread is at work."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Number of texts that wait."""
        return len(self._items)

    def submit(
        self, texts: Sequence[str], threshold: Optional[float] = None
    ) -> "Future[List[Answer]]":
        """Add the texts of a request to the queue.

        RETURNS (Future[List[Answer]]): an answer for each.
        RAISES (RefusedError): SP218 for a threshold that the component cannot have
            (422), SP214 after `close` (503).
        """
        if threshold is not None and self.source.threshold is None:
            raise RefusedError(422, Errors.SP218.format(key=self.annotator.key))
        job = Job(texts, threshold)
        if not texts:
            job.future.set_result([])
        with self._condition:
            if self._closed:
                raise RefusedError(503, Errors.SP214.format(requests=self.waiting))
            self._items.extend(_Item(job, place) for place in range(len(texts)))
            self._condition.notify()
        return job.future

    @property
    def source(self) -> SpanSource:
        """The component that writes the spans."""
        annotator = self.annotator
        key = annotator.key
        return SpanSource("") if key is None else find_source(annotator.nlp, key)

    def replace(self, annotator: SpanAnnotator) -> None:
        """Use another pipeline, which is loaded already, from the next batch on."""
        with self._condition:
            self._next = annotator

    def close(self) -> None:
        """Answer all that wait, and end the thread."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            items = self._take()
            if not items:
                return
            try:
                self._read(items)
            except Exception as error:  # of a memory zone: no text is to blame
                problem = Errors.SP222.format(problem=describe(error))
                for item in items:
                    if not item.job.future.done():
                        item.job.answer(item.place, Answer([], problem))

    def _take(self) -> List[_Item]:
        """RETURNS (List[_Item]): the next texts with one threshold; none at the end."""
        with self._condition:
            while True:
                self._condition.wait_for(lambda: self._items or self._closed)
                items = self._first_items()
                if items or self._closed:
                    break
            if self._next is not None:
                self.annotator, self._next = self._next, None
            return items

    def _first_items(self) -> List[_Item]:
        items: List[_Item] = []
        characters = 0
        while self._items and len(items) < self.batch:
            item = self._items[0]
            if item.job.future.cancelled():
                self._items.popleft()
                continue
            differs = items and item.job.threshold != items[0].job.threshold
            if differs or characters >= BATCH_CHARACTERS:
                break
            items.append(self._items.popleft())
            characters += len(item.text)
        return items

    def _read(self, items: Sequence[_Item]) -> None:
        annotator, threshold = self.annotator, items[0].job.threshold
        changed: ContextManager = nullcontext()
        if threshold is not None:
            changed = lowered_threshold(self.source, threshold)
        documents = [Document("", item.text) for item in items]
        with annotator.zone(), changed:
            found = annotator.annotate(documents, batch_size=len(documents))
            answers = [_answer(one, annotator.key) for one in found]
        for item, answer in zip(items, answers):
            item.job.answer(item.place, answer)


def _answer(one: Annotated, key: Optional[str]) -> Answer:
    if one.problem:
        return Answer([], Errors.SP216.format(problem=one.problem))
    return Answer(span_rows(one.doc, key))
