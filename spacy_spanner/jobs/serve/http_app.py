"""The server's addresses: plain JSON for programs, and Label Studio's ML backend."""

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Dict, List, Optional, Sequence, Set

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ...errors import Errors
from ..annotate.annotator import describe
from .batching import Answer, Batcher
from .bodies import read_object, spans_request, until_gone
from .label_studio import LabelStudio, read_interface, texts_of_tasks
from .limits import Gate, Limits, RefusedError, error_body

LOG = logging.getLogger("uvicorn.error")
# What nginx writes to its log for a client that has gone.
CLIENT_GONE = 499
_TEXT = {"type": "string"}
SPANS_BODY = {
    "type": "object",
    "properties": {
        "text": _TEXT,
        "texts": {"type": "array", "items": _TEXT},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
OPENAPI: Dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": SPANS_BODY}},
    }
}


class Service:
    """What all addresses of a server share.

    batcher (Batcher): reads texts.
    limits (Limits): what is accepted.
    studio (Optional[LabelStudio]): Label Studio's side; None if it is not served.
    """

    def __init__(
        self, batcher: Batcher, limits: Limits, studio: Optional[LabelStudio] = None
    ) -> None:
        self.batcher = batcher
        self.limits = limits
        self.studio = studio
        self.gate = Gate(limits.requests)

    async def answers(
        self, request: Request, texts: Sequence[str], threshold: Optional[float] = None
    ) -> List[Answer]:
        """Let the pipeline read the texts of a request whose body was read.

        RETURNS (List[Answer]): an answer for each text.
        RAISES (RefusedError): SP215 if it takes too long (504); see `Batcher.submit`.
        RAISES (ClientDisconnect): if nobody waits for the answer any more.
        """
        future = asyncio.wrap_future(self.batcher.submit(texts, threshold))
        gone = asyncio.ensure_future(until_gone(request))
        both: Set[Any] = {future, gone}
        try:
            done, _ = await asyncio.wait(
                both,
                timeout=self.limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            gone.cancel()
        if future in done:
            return future.result()
        future.cancel()  # texts that still wait are not read
        if gone in done:
            raise ClientDisconnect()
        raise RefusedError(504, Errors.SP215.format(seconds=f"{self.limits.seconds:g}"))

    def health(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): the state of the server, for `GET /health`."""
        state: Dict[str, Any] = {
            "status": "UP" if self.batcher.is_alive else "DOWN",
            "requests": self.gate.inside,
            "waiting_texts": self.batcher.waiting,
        }
        if self.studio is not None:
            state.update(self.studio.state())
        return state


def make_app(service: Service) -> FastAPI:
    """RETURNS (FastAPI): the server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        loop = asyncio.get_running_loop()
        if service.studio is not None:
            await loop.run_in_executor(None, service.studio.close)
        await loop.run_in_executor(None, service.batcher.close)

    app = FastAPI(
        title="spacy-spanner",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
    )
    add_plain(app, service)
    if service.studio is not None:
        add_label_studio(app, service, service.studio)
    add_errors(app)
    return app


def add_plain(app: FastAPI, service: Service) -> None:
    """Add the addresses for programs."""

    @app.get("/health")
    @app.get("/")
    async def health() -> JSONResponse:
        state = service.health()
        return JSONResponse(state, 200 if state["status"] == "UP" else 503)

    @app.post("/spans", openapi_extra=OPENAPI)
    async def spans(request: Request) -> JSONResponse:
        with service.gate.open():
            body = await read_object(request, service.limits)
            wanted = spans_request(body, service.limits)
            found = await service.answers(request, wanted.texts, wanted.threshold)
        rows = [plain_answer(answer) for answer in found]
        if not wanted.single:
            return JSONResponse({"documents": rows})
        return JSONResponse(rows[0], 500 if found[0].problem else 200)


def plain_answer(answer: Answer) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the spans of a text, or its error."""
    if answer.problem:
        return {"error": error_body(answer.problem)}
    return {"spans": [{**row, "score": row.get("score")} for row in answer.spans]}


def add_label_studio(app: FastAPI, service: Service, studio: LabelStudio) -> None:
    """Add the addresses of Label Studio's ML backends."""

    @app.post("/setup")
    async def setup(request: Request) -> Dict[str, Any]:
        with service.gate.open():
            body = await read_object(request, service.limits)
            read_interface(body.get("schema"))  # an unusable one is an error
        return {"model_version": studio.version}

    @app.post("/predict")
    async def predict(request: Request) -> Dict[str, Any]:
        with service.gate.open():
            body = await read_object(request, service.limits)
            interface = read_interface(body.get("label_config"))
            texts = texts_of_tasks(body, interface, service.limits)
            version = studio.version
            found = await service.answers(request, texts)
        pairs = zip(texts, found)
        return {"results": [studio.result(*pair, interface, version) for pair in pairs]}

    @app.post("/webhook")
    @app.post("/train")
    async def webhook(request: Request) -> JSONResponse:
        with service.gate.open():
            body = await read_object(request, service.limits)
            loop = asyncio.get_running_loop()
            status = await loop.run_in_executor(None, studio.submitted, body)
        return JSONResponse({"status": status}, 201 if status == "ok" else 200)


def add_errors(app: FastAPI) -> None:
    """Answer all errors in JSON."""

    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> JSONResponse:
        body = {"error": error_body(error.message)}
        return JSONResponse(body, error.status, error.headers)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> JSONResponse:
        paths = ", ".join(sorted(app.openapi()["paths"]))
        message = Errors.SP219.format(
            method=request.method, path=request.url.path, paths=paths
        )
        body = {"error": error_body(message)}
        return JSONResponse(body, error.status_code, error.headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_GONE)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        message = Errors.SP222.format(problem=describe(error))
        closed = {"Connection": "close"}  # the server closes it after such an error
        return JSONResponse({"error": error_body(message)}, 500, closed)
