"""The values that readers yield, one record per document, and what they lose."""

import csv
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Sequence

from ..errors import Errors
from ..evaluation.tables import guarded
from ..output_checks import naming_output, require_writable

# Called by readers with messages about what they detected.
Note = Callable[[str], None]

# Reasons why entities are lost.
OUTSIDE = "outside of the text"
DIFFERENT = "different text at this position"
MISALIGNED = "boundaries inside tokens"
EMPTY = "empty"
CROSSING = "crosses a sentence boundary"
DUPLICATE = "duplicate"
UNSURE = "score too low"
# These are listed in the table, but do not count as lost.
NOT_LOST = (DUPLICATE, UNSURE)
# Number of lost entities to keep in memory.
N_EXAMPLES = 5


class Mention(NamedTuple):
    """An entity of a file.

    start, end (int): offsets in the unit of the record; `end` is exclusive.
    label (str): its type.
    line (int): line in the file, counted from 1.
    id (str): id of the entity, for the parts of a discontinuous one.
    score (Optional[float]): score of the model that predicted it; None if unknown.
    """

    start: int
    end: int
    label: str
    line: int = 1
    id: str = ""
    score: Optional[float] = None


class Lost(NamedTuple):
    """An entity that is missing from the output: its place, text and label, and why."""

    file: str
    line: int
    text: str
    label: str
    reason: str


class Record(NamedTuple):
    """A document of a file. Offsets count characters if it has a text, else tokens.

    source (str): name of the file.
    line (int): first line of the document, counted from 1.
    mentions (Optional[Sequence[Mention]]): entities; None if it is not annotated.
    words (Optional[List[str]]): tokens, if the file is tokenized.
    spaces (Optional[List[bool]]): whether a space follows each token; None if unknown.
    text (Optional[str]): the text; None for files that only have tokens.
    sentence_starts (Optional[Sequence[int]]): offsets; None if unknown.
    fragments (Sequence[Mention]): parts of discontinuous entities, with their ids.
    lost (Sequence[Lost]): entities that the reader cannot represent.
    doc (Any): the `Doc`, if the file is a `.spacy` file.
    negative (Sequence[Mention]): spans that are known to be no entities.
    incomplete (bool): whether there may be entities that are not annotated.
    """

    source: str
    line: int
    mentions: Optional[Sequence[Mention]]
    words: Optional[List[str]] = None
    spaces: Optional[List[bool]] = None
    text: Optional[str] = None
    sentence_starts: Optional[Sequence[int]] = None
    fragments: Sequence[Mention] = ()
    lost: Sequence[Lost] = ()
    doc: Any = None
    negative: Sequence[Mention] = ()
    incomplete: bool = False


class Sentence(NamedTuple):
    """A tokenized sentence; the offsets of its entities begin at its first token."""

    words: List[str]
    mentions: List[Mention]
    line: int
    lost: Sequence[Lost] = ()


def join_sentences(sentences: Sequence[Sentence], source: str) -> Record:
    """RETURNS (Record): the document that consists of these sentences."""
    words: List[str] = []
    starts: List[int] = []
    mentions: List[Mention] = []
    for sentence in sentences:
        if sentence.words:
            starts.append(len(words))
        mentions += [
            m._replace(start=m.start + len(words), end=m.end + len(words))
            for m in sentence.mentions
        ]
        words += sentence.words
    lost = [row for sentence in sentences for row in sentence.lost]
    line = sentences[0].line
    return Record(
        source, line, mentions, words=words, sentence_starts=starts, lost=lost
    )


def by_characters(record: Record) -> Record:
    """RETURNS (Record): the record with one token per character.

    RAISES (ValueError): SP063 if the record is an existing document.
    """
    if record.doc is not None:
        raise ValueError(Errors.SP063.format(source=record.source, number=record.line))
    if record.words is None:
        return _by_characters_of_text(record)
    words = record.words
    first = [0, *accumulate(map(len, words))]
    spaces: Optional[List[bool]] = None
    if record.spaces is not None:
        spaces = [False] * first[-1]
        for end, space in zip(first[1:], record.spaces):
            spaces[end - 1] = space
    record = record._replace(words=list("".join(words)), spaces=spaces)
    if record.text is not None:
        return record
    starts, mentions = record.sentence_starts, record.mentions
    return record._replace(
        mentions=None if mentions is None else _to_characters(mentions, first),
        fragments=_to_characters(record.fragments, first),
        sentence_starts=None if starts is None else [first[i] for i in starts],
    )


def _by_characters_of_text(record: Record) -> Record:
    """RETURNS (Record): one token per character; a following space is no token."""
    words: List[str] = []
    spaces: List[bool] = []
    for character in record.text or "":
        if character == " " and words and not spaces[-1]:
            spaces[-1] = True
        else:
            words.append(character)
            spaces.append(False)
    return record._replace(words=words, spaces=spaces)


def _to_characters(mentions: Sequence[Mention], first: List[int]) -> List[Mention]:
    """Convert token offsets to character offsets; those outside of the text stay there.

    first (List[int]): the first character of each token, and the number of characters.
    """

    def convert(token: int) -> int:
        if 0 <= token < len(first):
            return first[token]
        return -1 if token < 0 else first[-1] + 1

    return [m._replace(start=convert(m.start), end=convert(m.end)) for m in mentions]


class LostSpans:
    """Count lost entities, and write each to a CSV file immediately.

    path (Optional[Path]): the file, created with the first lost entity; None to only
        count.

    >>> lost = LostSpans()
    >>> docs = list(read_docs(Path("train.iob2"), spacy.blank("en"), lost=lost))
    >>> lost.reasons
    Counter()
    """

    def __init__(self, path: Optional[Path] = None) -> None:
        self.path = path
        self.reasons: Counter = Counter()
        self.examples: List[Lost] = []
        self._file: Any = None
        if path is not None:
            require_writable(path, folder=False)
            with naming_output(path):
                path.unlink(missing_ok=True)

    def add(self, rows: Iterable[Lost]) -> None:
        """Record lost entities."""
        for row in rows:
            self.reasons[row.reason] += 1
            if len(self.examples) < N_EXAMPLES:
                self.examples.append(row)
            if self.path is not None:
                self._write(self.path, row)

    def _write(self, path: Path, row: Lost) -> None:
        is_first = self._file is None
        if is_first:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf8", newline="")
        cells = [guarded(cell) for cell in row]
        csv.writer(self._file).writerows([Lost._fields, cells] if is_first else [cells])

    @property
    def n_listed(self) -> int:
        """Number of rows in the table."""
        return sum(self.reasons.values())

    @property
    def n_lost(self) -> int:
        """Number of entities that are missing from the output, without duplicates and
        those with a low score.
        """
        return self.n_listed - sum(self.reasons[reason] for reason in NOT_LOST)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
