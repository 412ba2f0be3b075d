"""Read text and JSON files, with errors that name file and line."""

import codecs
import json
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, NamedTuple, NoReturn, TextIO

from ..errors import Errors

# Maximum number of characters of a broken line in messages.
SHOWN = 200
BYTE_ORDER_MARK = "\ufeff"
# Number of bytes to recognise an encoding by.
N_START = 4096
FEW_ZEROS = 3
MANY_ZEROS = "it has as many zero bytes as UTF-16 or UTF-32"
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class BrokenFileError(ValueError):
    """An error in a file; the message names the line."""


def fail(
    source: object, line: int, problem: str, text: object = "", column: int = 1
) -> NoReturn:
    """Raise an error for a broken line; line and column are counted from 1.

    RAISES (BrokenFileError): SP001.
    """
    shown = str(text)[:SHOWN]
    message = Errors.SP001.format(
        source=source, line=line, column=column, problem=problem, text=shown
    )
    raise BrokenFileError(message)


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """YIELDS (str): lines, which end in "\\n"; a byte order mark is skipped.

    RAISES (ValueError): SP050 if the file has another encoding.
    """
    with _opened(path, encoding) as lines:
        yield from lines


def read_text(path: Path, encoding: str = "utf-8", *, newlines: bool = True) -> str:
    """Read a whole file.

    newlines (bool): convert all line ends to "\\n". Files with annotation by offsets
        need the original characters.
    RETURNS (str): the text.
    RAISES (ValueError): SP050 if the file has another encoding.
    """
    with _opened(path, encoding, newline=None if newlines else "") as file:
        return file.read()


def read_head(path: Path, encoding: str, size: int) -> str:
    """RETURNS (str): the first characters; those that cannot be decoded are replaced.

    RAISES (ValueError): SP050 for an unknown encoding.
    """
    with _opened(path, encoding, errors="replace") as file:
        return file.read(size)


@contextmanager
def _opened(path: Path, encoding: str, **options: Any) -> Iterator[TextIO]:
    """Open a file; a byte order mark is skipped."""
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        if is_utf8:
            _require_no_utf16(path)
        with path.open(
            encoding="utf-8-sig" if is_utf8 else encoding, **options
        ) as file:
            if not is_utf8 and _has_mark(path, encoding):
                file.read(1)
            yield file
    except (UnicodeError, LookupError) as error:
        raise ValueError(_describe(path, encoding, error)) from None


def looks_like_utf16(start: bytes) -> bool:
    """RETURNS (bool): whether bytes have so many zeros that they are UTF-16 or UTF-32
    without a byte order mark. They can be read as UTF-8, as a text with zeros.
    """
    return start.count(0) > max(FEW_ZEROS, len(start) // 4)


def _require_no_utf16(path: Path) -> None:
    with path.open("rb") as file:
        if looks_like_utf16(file.read(N_START)):
            raise UnicodeError(MANY_ZEROS)


def _has_mark(path: Path, encoding: str) -> bool:
    """RETURNS (bool): whether a decoder leaves the byte order mark in the text."""
    with path.open("rb") as file, suppress(UnicodeError):
        start = codecs.getincrementaldecoder(encoding)().decode(file.read(N_START))
        return start.startswith(BYTE_ORDER_MARK)
    return False


def _describe(path: Path, encoding: str, error: Exception) -> str:
    """RETURNS (str): the error with its line, which the decoder does not know."""
    line = 1
    # Bytes that cannot be decoded become surrogates, which no text contains.
    with (
        suppress(UnicodeError, LookupError),
        path.open(encoding=encoding, errors="surrogateescape") as lines,
    ):
        broken = (n for n, text in enumerate(lines, 1) if _SURROGATE.search(text))
        line = next(broken, 1)
    problem = getattr(error, "reason", str(error))
    return Errors.SP050.format(
        source=path.name, line=line, encoding=encoding, problem=problem
    )


def is_visible(path: Path, folder: Path) -> bool:
    """RETURNS (bool): whether neither a file nor its folders are hidden."""
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


class JsonItem(NamedTuple):
    """A value of a JSON file, and its first line."""

    line: int
    value: Any


def read_json_items(path: Path, encoding: str = "utf-8") -> Iterator[JsonItem]:
    """YIELDS (JsonItem): the objects of a JSON array, or the values of JSON Lines.

    RAISES (ValueError): SP001 if the file is not JSON.
    """
    first = next(filter(str.strip, read_lines(path, encoding)), "")
    if _is_json_line(first):
        yield from _json_lines(path, encoding)
    else:
        yield from _json_values(read_text(path, encoding), path.name)


def _is_json_line(line: str) -> bool:
    """RETURNS (bool): whether a line is a value of JSON Lines, not an array of
    documents.
    """

    def is_document(value: Any) -> bool:
        """Documents are objects, or pairs of text and object (spaCy 2)."""
        is_pair = isinstance(value, list) and list(map(type, value)) == [str, dict]
        return is_pair or isinstance(value, dict)

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not (isinstance(value, list) and all(map(is_document, value)))


def _json_lines(path: Path, encoding: str) -> Iterator[JsonItem]:
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if line.strip():
            yield JsonItem(number, parse_json(line, path.name, number))


def parse_json(text: str, source: str, line: int) -> Any:
    """RETURNS (Any): the parsed value.

    RAISES (ValueError): SP001 with the line, if it is not JSON.
    """
    text = text.rstrip()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        fail(source, line + error.lineno - 1, error.msg, text, error.colno)
    except (ValueError, RecursionError) as error:  # huge numbers, deep nesting
        fail(source, line, str(error) or "nested too deeply", text.strip())
    _check_surrogates(text, source, line, value)
    return value


def _check_surrogates(text: str, source: str, line: int, value: Any) -> None:
    """Reject lone surrogates such as "\\ud83d", which can be parsed but not written."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        fail(source, line, "half of a character (a lone surrogate)", text.strip())


def _json_values(text: str, source: str) -> Iterator[JsonItem]:
    """YIELDS (JsonItem): objects of an array, or consecutive values."""
    decoder = json.JSONDecoder()
    position = _skip(text, 0)
    in_array = text[position : position + 1] == "["
    position = _skip(text, position + in_array)
    line, counted = 1, 0
    while position < len(text):
        if in_array and text[position] == "]":
            _end_of_array(text, position, source)
            return
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            fail(source, error.lineno, error.msg, text[error.pos :][:40], error.colno)
        except (ValueError, RecursionError) as error:
            fail(source, line, str(error) or "nested too deeply", text[position:][:40])
        _check_surrogates(text[position:end], source, line, value)
        yield JsonItem(line, value)
        position = _skip(text, end)
        if in_array and text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif in_array and text[position : position + 1] != "]":
            line += text.count("\n", counted, position)
            fail(source, line, "',' or ']' is missing", text[position:][:40])
    if in_array:
        fail(source, 1 + text.count("\n"), "the array is never closed")


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _end_of_array(text: str, position: int, source: str) -> None:
    rest = _skip(text, position + 1)
    if rest < len(text):
        line = 1 + text.count("\n", 0, rest)
        fail(source, line, "text after the array", text[rest:][:40])
