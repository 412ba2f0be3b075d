"""Text with entities marked inline: `[the [US](GPE) Supreme Court](ORG)`.

One sentence per line, a blank line between documents, comment lines begin with `#`.
A backslash escapes `[`, `]`, `#` and itself.
"""

import re
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from ...errors import Errors
from ..options import ReadOptions
from ..records import CHARACTERS, Mention, Note, Record
from ..text_files import read_lines

_PART = re.compile(
    r"\\(?P<escaped>[\[\]#\\])"
    r"|(?P<open>\[)"
    r"|(?P<close>\])(?P<label>\([^)]*\))?"
    r"|(?P<text>[^\[\]\\]+|\\)"
)


class CharSpan(NamedTuple):
    """An entity by character offsets; `end` is exclusive."""

    start: int
    end: int
    label: str


class BracketedSentence(NamedTuple):
    """The text and entities of a sentence, and its line."""

    text: str
    spans: List[CharSpan]
    line: int = 1


def parse_sentence(
    line: str, *, source: str = "<text>", number: int = 1
) -> BracketedSentence:
    """Parse an annotated sentence.

    line (str): the sentence.
    source (str): name of the file, for messages.
    number (int): number of the line.
    RETURNS (BracketedSentence): plain text, and its spans in document order.
    RAISES (ValueError): SP001 if brackets or labels are malformed.
    """

    def fail(column: int, problem: str) -> ValueError:
        message = Errors.SP001.format(
            source=source, line=number, column=column + 1, problem=problem, text=line
        )
        return ValueError(message)

    text = ""
    opened: List[Tuple[int, int]] = []  # (offset in the plain text, column of "[")
    spans: List[CharSpan] = []
    for part in _PART.finditer(line):
        if part["open"]:
            opened.append((len(text), part.start()))
        elif part["close"]:
            label = (part["label"] or "").strip("() ")
            if not opened:
                raise fail(part.start(), "']' without '['")
            if not label:
                raise fail(part.start(), "']' is not followed by a '(LABEL)'")
            start, column = opened.pop()
            if start == len(text):
                raise fail(column, "the entity has no text")
            spans.append(CharSpan(start, len(text), label))
        else:
            text += part["escaped"] or part["text"]
    if opened:
        raise fail(opened[-1][1], "'[' is never closed")
    spans.sort(key=lambda span: (span.start, -span.end, span.label))
    return BracketedSentence(text, spans, number)


def read_documents(
    lines: Iterable[str], *, source: str = "<text>"
) -> Iterator[List[BracketedSentence]]:
    """Group the lines of a file into documents.

    lines (Iterable[str]): the lines.
    source (str): name of the file, for messages.
    YIELDS (List[BracketedSentence]): the sentences of a document.
    """
    document: List[BracketedSentence] = []
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if line.startswith("#"):
            continue
        if line:
            document.append(parse_sentence(line, source=source, number=number))
        elif document:
            yield document
            document = []
    if document:
        yield document


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of annotated text.

    path (Path): the file.
    options (ReadOptions): uses `separator` and `encoding`.
    note (Note): not used.
    YIELDS (Record): documents with entities by characters.
    RAISES (ValueError): SP001 if brackets or labels are malformed.
    """
    separator = " " if options.separator is None else options.separator
    lines = read_lines(path, options.encoding)
    for sentences in read_documents(lines, source=path.name):
        yield to_record(sentences, path.name, separator)


def to_record(
    sentences: Sequence[BracketedSentence], source: str, separator: str = " "
) -> Record:
    """RETURNS (Record): the document with these sentences."""
    text, starts, mentions = "", [], []
    for sentence in sentences:
        text += separator if text else ""
        starts.append(len(text))
        mentions += [
            Mention(len(text) + start, len(text) + end, label, sentence.line)
            for start, end, label in sentence.spans
        ]
        text += sentence.text
    return Record(
        source,
        sentences[0].line,
        mentions,
        text=text,
        unit=CHARACTERS,
        sentence_starts=starts,
    )
