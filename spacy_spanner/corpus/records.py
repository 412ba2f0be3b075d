"""What readers yield and what cannot be kept: plain values, one for each document."""

from typing import Any, Callable, List, NamedTuple, Optional, Sequence

# Readers tell what they have detected; the command prints it.
Note = Callable[[str], None]

TOKENS, CHARACTERS = "tokens", "characters"
# Reasons of losses that several parts know.
OUTSIDE = "outside of the text"
DIFFERENT = "the text at this place is another"
MISALIGNED = "boundaries inside tokens"


class Mention(NamedTuple):
    """An entity as a file has it.

    start, end (int): tokens or characters, as the record says; `end` is exclusive.
    label (str): its type.
    line (int): where the file has it, counted from 1.
    id (str): name of the entity, where several mentions are parts of one.
    """

    start: int
    end: int
    label: str
    line: int = 1
    id: str = ""


class Lost(NamedTuple):
    """An entity that is not in the output.

    file (str): where it was read.
    line (int): the line, counted from 1.
    text (str): its text.
    label (str): its type.
    reason (str): why it is not there.
    """

    file: str
    line: int
    text: str
    label: str
    reason: str


class Record(NamedTuple):
    """A document as a file has it.

    source (str): name of the file.
    line (int): where the document begins, counted from 1.
    mentions (Sequence[Mention]): entities; None where the document is not annotated.
    words (Optional[List[str]]): its tokens, where the file has tokens.
    spaces (Optional[List[bool]]): whether a space follows each; None where unknown.
    text (str): the text, where the file has no tokens.
    unit (str): what mentions and sentences count: `TOKENS` or `CHARACTERS`.
    sentence_starts (Optional[Sequence[int]]): None where sentences are unknown.
    fragments (Sequence[Mention]): parts of discontinuous entities, with their ids.
    lost (Sequence[Lost]): what the reader cannot represent.
    doc (Any): the document itself, where the file holds spaCy's own documents.
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
