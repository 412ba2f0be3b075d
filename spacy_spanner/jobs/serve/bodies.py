"""Read the bodies of requests within the limits, and check their fields."""

import asyncio
import json
import re
from typing import Any, Dict, List, NamedTuple, Optional

from fastapi import Request

from ...errors import Errors
from .limits import Limits, RefusedError

# A body that is too large is read to its end, up to this many times the limit: clients
# that are still sending do not see the answer.
PATIENCE = 20
SHOWN = 60
# Halves of characters, which no text may contain.
_SURROGATES = re.compile("[\ud800-\udfff]")


class SpansRequest(NamedTuple):
    """A checked body of `POST /spans`.

    texts (List[str]): the texts.
    threshold (Optional[float]): replaces that of the component.
    single (bool): whether there is one text, which is not in a list.
    """

    texts: List[str]
    threshold: Optional[float]
    single: bool


async def read_object(request: Request, limits: Limits) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the JSON object in the body of a request.

    RAISES (RefusedError): SP210 for another body (400), SP211 for another content type
        (415), SP212 for a large one (413), SP215 if it does not arrive in time (408).
    """
    kind = request.headers.get("content-type", "")
    if kind.split(";")[0].strip().lower() != "application/json":
        raise RefusedError(415, Errors.SP211.format(found=kind or "missing"))
    try:
        body = await asyncio.wait_for(_read(request, limits.body), limits.seconds)
    except asyncio.TimeoutError:
        message = Errors.SP215.format(seconds=f"{limits.seconds:g}")
        raise RefusedError(408, message) from None
    return parse_object(body)


async def _read(request: Request, limit: int) -> bytes:
    parts: List[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= limit:
            parts.append(part)
        elif size > PATIENCE * limit:
            break
    if size > limit:
        raise RefusedError(413, Errors.SP212.format(limit=f"{limit:,}"))
    return b"".join(parts)


def parse_object(body: bytes) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the JSON object.

    RAISES (RefusedError): SP210, with status 400.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:  # also text in another encoding
        problem = str(error) or "it is empty"
        raise RefusedError(400, Errors.SP210.format(problem=problem)) from None
    if not isinstance(value, dict):
        problem = f"it is no object, but {_shown(value)}"
        raise RefusedError(400, Errors.SP210.format(problem=problem))
    return value


def spans_request(body: Dict[str, Any], limits: Limits) -> SpansRequest:
    """RETURNS (SpansRequest): the checked body.

    RAISES (RefusedError): SP213 for too many texts (413), SP217 for a wrong field
        (422).
    """
    unknown = sorted(set(body) - {"text", "texts", "threshold"})
    if unknown:
        raise wrong_field(unknown[0], "'text' or 'texts', and 'threshold'", unknown[0])
    if ("text" in body) == ("texts" in body):
        raise wrong_field(
            "'text' or 'texts'", "given, and only one of them", list(body)
        )
    single = "text" in body
    texts = [body["text"]] if single else body["texts"]
    check_texts(texts, limits, "text" if single else "texts")
    threshold = body.get("threshold")
    if threshold is not None:
        is_number = isinstance(threshold, (int, float)) and threshold is not True
        if not is_number or threshold is False or not 0 <= threshold <= 1:
            raise wrong_field("'threshold'", "a number from 0 to 1", threshold)
    return SpansRequest(texts, None if threshold is None else float(threshold), single)


def check_texts(texts: Any, limits: Limits, field: str) -> None:
    """Check the texts of a request.

    RAISES (RefusedError): SP213 for too many texts (413), SP217 for other values (422).
    """
    if not isinstance(texts, list):
        raise wrong_field(f"'{field}'", "a list of strings", texts)
    if len(texts) > limits.texts:
        message = Errors.SP213.format(found=len(texts), limit=f"{limits.texts:,}")
        raise RefusedError(413, message)
    for text in texts:
        if not isinstance(text, str) or _SURROGATES.search(text):
            expected = "a string" if field == "text" else "a list of strings"
            raise wrong_field(f"'{field}'", f"{expected} of Unicode characters", text)


def wrong_field(field: str, expected: str, value: Any) -> RefusedError:
    """RETURNS (RefusedError): SP217, with status 422."""
    message = Errors.SP217.format(field=field, expected=expected, value=_shown(value))
    return RefusedError(422, message)


def _shown(value: Any) -> str:
    return json.dumps(value)[:SHOWN]


async def until_gone(request: Request) -> None:
    """Wait until the client of a request, whose body was read, has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
