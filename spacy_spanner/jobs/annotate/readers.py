"""Split files into ranges of lines, and read the documents of a part one by one.

A broken document does not stop the others.
"""

import gzip
import warnings
import zlib
from functools import partial
from pathlib import Path
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Tuple,
    cast,
)

from spacy.vocab import Vocab

from ...corpus.formats.spacy_docs import load_docs
from ...corpus.text_files import (
    BYTE_ORDER_MARK,
    MANY_ZEROS,
    N_START,
    SHOWN,
    fail,
    looks_like_utf16,
    parse_json,
)
from ...errors import Errors, Warnings
from .messages import Document, Fields, Part, Piece
from .parquet import column_names, read_rows

Reader = Callable[[Piece, Fields, Vocab], Iterator[Document]]
COMPRESSED = ".gz"
# Number of bytes to search for line ends at once.
BLOCK = 2**22
# The longest document, in bytes. A small compressed file can contain any number.
LONGEST = 2**26
# Fields of the output.
WRITTEN = ("id", "text", "spans")
# If all of the first rows lack a field, its name is wrong.
SAMPLE = 20


class LineRange(NamedTuple):
    """Bytes from `start` to `stop` (exclusive), and the number of the first line."""

    start: int
    stop: int
    first: int


def cut_lines(stream: BinaryIO, limit: int) -> Iterator[LineRange]:
    """Split a file at the first end of a line after every `limit` bytes.

    This reads the whole file to count lines, which takes very little time compared with
    annotating it.

    YIELDS (LineRange): contiguous ranges.
    """
    start = position = 0
    first = line = 1
    while block := stream.read(BLOCK):
        done = 0
        while True:
            wanted = max(start + limit - 1 - position, done)
            end = block.find(b"\n", wanted) + 1 if wanted < len(block) else 0
            if not end:
                break
            line += block.count(b"\n", done, end)
            yield LineRange(start, position + end, first)
            start, first, done = position + end, line, end
        line += block.count(b"\n", done)
        position += len(block)
    if position > start:
        yield LineRange(start, position, first)


def read_part(part: Part, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read the documents of a part.

    vocab (Vocab): vocabulary for the documents of `.spacy` files.
    YIELDS (Document): documents; those that cannot be read have a `problem`.
    """
    for piece in part.pieces:
        try:
            yield from READERS[piece.format](piece, fields, vocab)
        except (EOFError, ValueError, zlib.error, OSError) as error:
            # Errors of the system have a number, errors of damaged files do not.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            yield Document(piece.name, problem=_damaged(piece, error))


def _damaged(piece: Piece, error: Exception) -> str:
    """RETURNS (str): why the rest of a file cannot be read."""
    problem = f"the file is damaged from here ({type(error).__name__}: {error})"
    return Errors.SP001.format(
        source=piece.name, line=piece.first, column=1, problem=problem, text=""
    )


def check_fields(piece: Piece, fields: Fields) -> None:
    """Check the first rows of a file.

    RAISES (ValueError): SP121 or SP122 if none of them has the field.
    """
    problems: List[str] = []
    for document, _ in zip(
        READERS[piece.format](piece, fields, Vocab()), range(SAMPLE)
    ):
        replaced = [name for name in WRITTEN if name in document.others]
        if replaced:
            warnings.warn(Warnings.SW141.format(names=", ".join(replaced)))
        if not document.problem.startswith(("[SP121]", "[SP122]")):
            return
        problems.append(document.problem)
    if problems:
        raise ValueError(problems[0])


def _read_text(piece: Piece, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read a file as one document."""
    with _open(piece) as file:
        content = file.read(LONGEST + 1)
    yield _decoded(content, piece.name, piece, 1)


def _read_lines(piece: Piece, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read each non-blank line as a document."""
    for number, line in _lines(piece):
        if line.strip():
            yield _decoded(line, _place(piece, number), piece, number)


def _read_jsonl(piece: Piece, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read each non-blank line as a JSON object."""
    for number, line in _lines(piece):
        if not line.strip():
            continue
        place = _place(piece, number)
        try:
            row = parse_json(_decode(line, piece, number), piece.name, number)
            if not isinstance(row, dict):
                fail(piece.name, number, "not a JSON object", row)
        except ValueError as error:
            yield Document(place, problem=str(error))
        else:
            yield _from_row(row, fields, place, list(row))


def _read_parquet(piece: Piece, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read each row as a document."""
    path = Path(piece.path)
    columns = column_names(path)
    wanted = columns if fields.keep else [fields.text, fields.id]
    rows = read_rows(path, start=piece.start, stop=piece.stop, fields=wanted)
    for number, row in enumerate(rows, start=piece.first):
        yield _from_row(row, fields, _place(piece, number), columns)


def _read_spacy(piece: Piece, fields: Fields, vocab: Vocab) -> Iterator[Document]:
    """Read documents with their tokens and annotation."""
    docs = load_docs(Path(piece.path), vocab)
    number = 0
    while True:
        number += 1
        place = _place(piece, number)
        try:
            doc = next(docs)
        except StopIteration:
            return
        except ValueError as error:  # the rest of the file is lost
            yield Document(place, problem=str(error))
            return
        own = doc.user_data.get(fields.id) if fields.id else place
        if own is None:
            names = [name for name in doc.user_data if isinstance(name, str)]
            yield Document(place, problem=_no_id(place, fields, names))
        else:
            yield Document(str(own), doc=doc)


READERS: Dict[str, Reader] = {
    "text": _read_text,
    "lines": _read_lines,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "spacy": _read_spacy,
}


def _place(piece: Piece, number: int) -> str:
    """RETURNS (str): the id of a document without an id field."""
    return f"{piece.name}:{number}"


def _open(piece: Piece) -> BinaryIO:
    path = Path(piece.path)
    if path.suffix == COMPRESSED:
        return cast(BinaryIO, gzip.open(path))  # has the methods, not the type
    return path.open("rb")


def _lines(piece: Piece) -> Iterator[Tuple[int, bytes]]:
    """YIELDS (Tuple[int, bytes]): numbers and lines; of a longer one than `LONGEST`,
    only its beginning.
    """
    with _open(piece) as file:
        file.seek(piece.start)
        position = piece.start
        read = partial(file.readline, LONGEST + 1)
        for number, line in enumerate(iter(read, b""), start=piece.first):
            position += len(line)
            rest = line
            while len(rest) > LONGEST and not rest.endswith(b"\n"):
                rest = read()
                position += len(rest)
            yield number, line
            if piece.stop and position >= piece.stop:
                return


def _decode(content: bytes, piece: Piece, number: int) -> str:
    """RETURNS (str): the text without byte order mark and last line end.

    RAISES (ValueError): SP001 if it is not UTF-8, or too long.
    """
    problem = MANY_ZEROS if looks_like_utf16(content[:N_START]) else ""
    if len(content) > LONGEST:
        problem = f"the document is longer than {LONGEST:,} bytes; split it"
    if problem:
        shown = content[:SHOWN].decode("utf8", errors="replace")
        fail(piece.name, number, problem, shown)
    try:
        text = content.decode("utf8")
    except UnicodeDecodeError as error:
        shown = content.decode("utf8", errors="replace")
        fail(piece.name, number, f"not UTF-8 ({error.reason})", shown, error.start + 1)
    text = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
    return text.removesuffix("\n").removesuffix("\r")


def _decoded(content: bytes, place: str, piece: Piece, number: int) -> Document:
    try:
        return Document(place, _decode(content, piece, number))
    except ValueError as error:
        return Document(place, problem=str(error))


def _from_row(row: Dict[str, Any], fields: Fields, place: str, names: list) -> Document:
    """RETURNS (Document): text and id of a row; `names` are those of all its fields."""
    own = row.get(fields.id) if fields.id else place
    if own is None:
        return Document(place, problem=_no_id(place, fields, names))
    text = row.get(fields.text)
    if not isinstance(text, str):
        problem = Errors.SP121.format(
            place=place, field=fields.text, existing=", ".join(names) or "none"
        )
        return Document(str(own), problem=problem)
    if not fields.keep:
        return Document(str(own), text)
    others = {name: row[name] for name in row if name not in (fields.text, fields.id)}
    return Document(str(own), text, others=others)


def _no_id(place: str, fields: Fields, names: list) -> str:
    existing = ", ".join(names) or "none"
    return Errors.SP122.format(place=place, field=fields.id, existing=existing)
