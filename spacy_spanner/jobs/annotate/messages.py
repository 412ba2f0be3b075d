"""The values that the plan, the readers, the workers and the command exchange."""

from typing import Any, List, Mapping, NamedTuple, Tuple


class Piece(NamedTuple):
    """A range of a file, or the whole file.

    path (str): the file; every worker can open it.
    name (str): name of the file in document ids.
    format (str): "text", "lines", "jsonl", "parquet" or "spacy".
    start, stop (int): byte offsets, or row groups of Parquet; `stop` is exclusive, and
        0 for a whole file.
    first (int): number of the first document, counted from 1 within the file.
    """

    path: str
    name: str
    format: str
    start: int = 0
    stop: int = 0
    first: int = 1


class Part(NamedTuple):
    """The input of one output file: the unit of work, and of resuming.

    number (int): position in the plan.
    size (int): bytes of input, to report progress.
    pieces (Tuple[Piece, ...]): its contents, in order.
    """

    number: int
    size: int
    pieces: Tuple[Piece, ...]

    @classmethod
    def of(cls, value: List[Any]) -> "Part":
        """RETURNS (Part): the part, restored from JSON."""
        number, size, pieces = value
        return cls(number, size, tuple(Piece(*piece) for piece in pieces))


class Fields(NamedTuple):
    """Names of the text field and, if any, of the id field of a row, and whether to
    keep all other fields.
    """

    text: str = "text"
    id: str = ""
    keep: bool = False


class Document(NamedTuple):
    """A document to annotate.

    id (str): value of the id field, or file name and number.
    text (str): the text.
    doc (Any): the `Doc`, if the file is a `.spacy` file.
    problem (str): why it cannot be read; empty if it can.
    others (Mapping[str, Any]): the other fields of a row, if they are kept.
    """

    id: str
    text: str = ""
    doc: Any = None
    problem: str = ""
    others: Mapping[str, Any] = {}


class Annotated(NamedTuple):
    """The result of a document with the kept fields of its row, or the problem for
    which it failed.
    """

    id: str
    doc: Any = None
    problem: str = ""
    others: Mapping[str, Any] = {}


class Report(NamedTuple):
    """A worker's report on a part.

    part (int): number of the part.
    size (int): bytes of input.
    documents, words, spans (int): counts of the output file.
    failed (int): documents that failed.
    seconds (float): processor time, which does not depend on other processes.
    problem (str): why the worker stopped; empty if the part is finished.
    """

    part: int
    size: int = 0
    documents: int = 0
    words: int = 0
    spans: int = 0
    failed: int = 0
    seconds: float = 0.0
    problem: str = ""
