"""What a server accepts, and how it refuses the rest."""

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional

from ...errors import Errors

RETRY_SECONDS = 1
_CODE = re.compile(r"^\[(?P<code>S[PW]\d+)\] (?P<message>.*)$", re.DOTALL)


@dataclass(frozen=True)
class Limits:
    """Limits of one worker.

    body (int): bytes of a request.
    texts (int): texts of a request.
    seconds (float): time from the first byte of a request to its answer.
    requests (int): requests at once, which arrive, wait or are answered.
    batch (int): texts that the pipeline reads at once.
    """

    body: int = 5_000_000
    texts: int = 1_000
    seconds: float = 60.0
    requests: int = 100
    batch: int = 64


class RefusedError(Exception):
    """A request that is answered by an error.

    status (int): the status of HTTP.
    message (str): what is wrong, with its code.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def headers(self) -> Dict[str, str]:
        """The headers of the answer."""
        return {"Retry-After": str(RETRY_SECONDS)} if self.status == 503 else {}


def error_body(message: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the JSON of an error: its `code` and its `message`.

    >>> error_body("[SP210] The body of the request is not JSON: it is empty.")["code"]
    'SP210'
    """
    found = _CODE.match(message)
    code: Optional[str] = found["code"] if found else None
    return {"code": code, "message": found["message"] if found else message}


class Gate:
    """Counts the requests at once, and refuses those that are too many."""

    def __init__(self, limit: int) -> None:
        """limit (int): requests at once."""
        self.limit = limit
        self.inside = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Be inside for the time of a request. Only the event loop uses gates, so that
        they need no lock.

        RAISES (RefusedError): SP214, with status 503.
        """
        if self.inside >= self.limit:
            raise RefusedError(503, Errors.SP214.format(requests=self.inside))
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
