"""The values that readers yield, one record per document."""

from typing import Any, Callable, List, NamedTuple, Optional, Sequence

# Called by readers with messages about what they detected.
Note = Callable[[str], None]

TOKENS, CHARACTERS = "tokens", "characters"
# Reasons why entities are lost.
OUTSIDE = "outside of the text"
DIFFERENT = "different text at this position"
MISALIGNED = "boundaries inside tokens"


class Mention(NamedTuple):
    """An entity of a file.

    start, end (int): offsets in the unit of the record; `end` is exclusive.
    label (str): its type.
    line (int): line in the file, counted from 1.
    id (str): id of the entity, for the parts of a discontinuous one.
    """

    start: int
    end: int
    label: str
    line: int = 1
    id: str = ""


class Lost(NamedTuple):
    """An entity that is missing from the output.

    file (str): name of the file.
    line (int): line in the file, counted from 1.
    text (str): its text.
    label (str): its type.
    reason (str): why it is missing.
    """

    file: str
    line: int
    text: str
    label: str
    reason: str


class Record(NamedTuple):
    """A document of a file.

    source (str): name of the file.
    line (int): first line of the document, counted from 1.
    mentions (Optional[Sequence[Mention]]): entities; None if it is not annotated.
    words (Optional[List[str]]): tokens, if the file is tokenized.
    spaces (Optional[List[bool]]): whether a space follows each token; None if unknown.
    text (str): the text, if the file is not tokenized.
    unit (str): unit of the offsets of mentions and sentences: `TOKENS` or `CHARACTERS`.
    sentence_starts (Optional[Sequence[int]]): offsets; None if unknown.
    fragments (Sequence[Mention]): parts of discontinuous entities, with their ids.
    lost (Sequence[Lost]): entities that the reader cannot represent.
    doc (Any): the `Doc`, if the file is a `.spacy` file.
    """

    source: str
    line: int
    mentions: Optional[Sequence[Mention]]
    words: Optional[List[str]] = None
    spaces: Optional[List[bool]] = None
    text: str = ""
    unit: str = TOKENS
    sentence_starts: Optional[Sequence[int]] = None
    fragments: Sequence[Mention] = ()
    lost: Sequence[Lost] = ()
    doc: Any = None
