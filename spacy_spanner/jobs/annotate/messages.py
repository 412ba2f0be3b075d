"""What travels between the plan, the readers, the workers and the command."""

from typing import Any, List, NamedTuple, Tuple


class Piece(NamedTuple):
    """A stretch of a file, or the whole of it.

    path (str): the file, as every worker can open it.
    name (str): its name in ids.
    format (str): "text", "lines", "jsonl", "parquet" or "spacy".
    start, stop (int): bytes of lines, or row groups of Parquet; `stop` is exclusive,
        and 0 for a file that is read whole.
    first (int): number of the first document in the file, counted from 1.
    """

    path: str
    name: str
    format: str
    start: int = 0
    stop: int = 0
    first: int = 1


class Part(NamedTuple):
    """What becomes one file of the output: the unit of work and of continuation.

    number (int): its place in the plan.
    size (int): bytes of input, to tell how much is left.
    pieces (Tuple[Piece, ...]): what it holds, in order.
    """

    number: int
    size: int
    pieces: Tuple[Piece, ...]

    @classmethod
    def of(cls, value: List[Any]) -> "Part":
        """RETURNS (Part): the part that was stored as JSON."""
        number, size, pieces = value
        return cls(number, size, tuple(Piece(*piece) for piece in pieces))


class Fields(NamedTuple):
    """Where rows have their text and, if it is named, their id."""

    text: str = "text"
    id: str = ""


class Document(NamedTuple):
    """A document to annotate.

    id (str): its own id, or the name of the file and its number there.
    text (str): the text.
    doc (Any): the document itself, where the file holds spaCy's own documents.
    problem (str): why it cannot be read; empty if it can.
    """

    id: str
    text: str = ""
    doc: Any = None
    problem: str = ""


class Annotated(NamedTuple):
    """What has become of a document.

    id (str): its id.
    doc (Any): the annotated `Doc`; None where the document has failed.
    problem (str): why it has failed; empty if it has not.
    """

    id: str
    doc: Any = None
    problem: str = ""


class Report(NamedTuple):
    """What a worker says of a part that it has finished.

    part (int): number of the part.
    size (int): its bytes of input.
    documents, words, spans (int): what its file holds.
    failed (int): documents that failed.
    seconds (float): processor time, which does not depend on what else runs.
    problem (str): what has stopped the worker; empty if the part is finished.
    """

    part: int
    size: int = 0
    documents: int = 0
    words: int = 0
    spans: int = 0
    failed: int = 0
    seconds: float = 0.0
    problem: str = ""
