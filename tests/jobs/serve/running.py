"""A server in a thread of the test, and a pipeline that fails where a test wants it."""

import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Callable, Iterator, List, Sequence

import httpx
import pytest
from spacy.language import Language
from spacy.tokens import Doc

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.serve.starting import Serving, build

from ...helpers import trained_copy

uvicorn = pytest.importorskip("uvicorn")
SECONDS = 20
FAILS = "XFAILX"


def wait_until(
    holds: Callable[[], Any], what: str = "the condition", seconds: float = SECONDS
) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} did not come true"
        time.sleep(0.01)


@contextmanager
def server_of(app: Any) -> Iterator[str]:
    """Run an application, and give its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the start")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


@contextmanager
def client_of(serving: Serving, annotator: SpanAnnotator) -> Iterator[httpx.Client]:
    """Serve a pipeline to a client."""
    app = build(serving, annotator)
    with server_of(app) as url, httpx.Client(base_url=url, timeout=SECONDS) as client:
        yield client


def annotator_of(nlp: Language, folder: Path) -> SpanAnnotator:
    """Store a pipeline, so that it can be loaded again, but use this one."""
    nlp.to_disk(folder)
    annotator = SpanAnnotator(str(folder))
    assert annotator.nlp.pipe_names == nlp.pipe_names
    return annotator


class Guard:
    """A component before the model: fails for some texts, waits, and counts batches."""

    def __init__(self) -> None:
        self.batches: List[List[str]] = []
        self.may_go = Event()
        self.may_go.set()
        self.begun = Event()

    def __call__(self, doc: Doc) -> Doc:
        if FAILS in doc.text:
            raise ValueError("this text is cursed")
        return doc

    def pipe(self, docs: Any, batch_size: int = 1) -> Iterator[Doc]:
        batch = list(docs)
        self.batches.append([doc.text for doc in batch])
        self.begun.set()
        assert self.may_go.wait(SECONDS)
        yield from map(self, batch)


def guarded(folder: Path) -> "tuple[SpanAnnotator, Guard]":
    """Give a pipeline whose first component is a `Guard`."""
    annotator, guard = annotator_of(trained_copy("span_biaffine"), folder), Guard()
    annotator.nlp._components.insert(0, ("guard", guard))
    annotator.nlp._pipe_meta["guard"] = annotator.nlp.get_factory_meta("sentencizer")
    annotator.nlp._pipe_configs["guard"] = {}
    return annotator, guard


def spans_in(rows: Sequence[Any]) -> "list[tuple[int, int, str]]":
    return [(row["start"], row["end"], row["label"]) for row in rows]
