"""A small web service for a pipeline, with FastAPI.

    export MODEL=training/first/model-best
    uvicorn serve_fastapi:make_app --factory --app-dir examples

POST {"texts": [...]} to /spans. FastAPI calls `annotate` in a thread for each request,
so that one slow client does not hold up the others.
"""

import os
from contextlib import contextmanager
from threading import Condition
from typing import Any, Dict, Iterator, List

import spacy
from fastapi import FastAPI
from pydantic import BaseModel, Field
from spacy.language import Language
from spacy.tokens import Doc

TEXTS_PER_ZONE = 1000


class Texts(BaseModel):
    """A request. The limits bound the memory of an answer."""

    texts: List[str] = Field(max_length=100)


class Zones:
    """Memory zones that several threads share.

    A zone frees the words of its texts when it ends, so it must not begin or end while
    a thread reads. The first reader begins one; after enough texts, new readers wait
    until the last one has left and ended it.
    """

    def __init__(self, nlp: Language, texts_per_zone: int = TEXTS_PER_ZONE) -> None:
        self.nlp = nlp
        self.limit = texts_per_zone
        self.changed = Condition()
        self.readers = self.texts = 0
        self.zone: Any = None

    @contextmanager
    def reading(self, n_texts: int) -> Iterator[None]:
        """Hold the current zone open."""
        with self.changed:
            self.changed.wait_for(lambda: self.texts < self.limit)
            if self.zone is None:
                self.zone = self.nlp.memory_zone()
                self.zone.__enter__()
            self.readers += 1
            self.texts += n_texts
        try:
            yield
        finally:
            with self.changed:
                self.readers -= 1
                if self.readers == 0 and self.texts >= self.limit:
                    self.zone.__exit__(None, None, None)
                    self.zone, self.texts = None, 0
                    self.changed.notify_all()


def spans_of(doc: Doc) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): plain data, which outlive the memory zone."""
    return [
        {
            "start": span.start_char,
            "end": span.end_char,
            "label": span.label_,
            "text": span.text,
            "score": round(float(span._.score), 4),
        }
        for span in doc.spans["ents"]
    ]


def make_app(model: str = "") -> FastAPI:
    """Make the service.

    model (str): folder or package of a pipeline; by default, the variable MODEL.
    """
    nlp = spacy.load(model or os.environ["MODEL"])
    zones = Zones(nlp)
    app = FastAPI(title="Spans")

    @app.post("/spans")
    def annotate(request: Texts) -> List[List[Dict[str, Any]]]:
        with zones.reading(len(request.texts)):
            return [spans_of(doc) for doc in nlp.pipe(request.texts)]

    @app.get("/health")
    def health() -> Dict[str, str]:
        return {"status": "ok"}

    return app
