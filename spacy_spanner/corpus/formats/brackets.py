"""Text with entities marked inline: `[the [US](GPE) Supreme Court](ORG)`.

One sentence per line, a blank line between documents, comment lines begin with `#`.
A backslash escapes `[`, `]`, `#` and itself.
"""

import re
from itertools import groupby
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, NoReturn, Sequence, Tuple

from ..options import ReadOptions
from ..records import Mention, Note, Record
from ..text_files import fail, read_lines

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

    def broken(column: int, problem: str) -> NoReturn:
        fail(source, number, problem, line, column + 1)

    text = ""
    opened: List[Tuple[int, int]] = []  # (offset in the plain text, column of "[")
    spans: List[CharSpan] = []
    for part in _PART.finditer(line):
        if part["open"]:
            opened.append((len(text), part.start()))
        elif part["close"]:
            label = (part["label"] or "").strip("() ")
            if not opened:
                broken(part.start(), "']' without '['")
            if not label:
                broken(part.start(), "']' is not followed by a '(LABEL)'")
            start, column = opened.pop()
            if start == len(text):
                broken(column, "the entity has no text")
            spans.append(CharSpan(start, len(text), label))
        else:
            text += part["escaped"] or part["text"]
    if opened:
        broken(opened[-1][1], "'[' is never closed")
    spans.sort(key=lambda span: (span.start, -span.end, span.label))
    return BracketedSentence(text, spans, number)


def read_documents(
    lines: Iterable[str], *, source: str = "<text>"
) -> Iterator[List[BracketedSentence]]:
    """YIELDS (List[BracketedSentence]): the sentences of each document."""
    rows = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    rows = (row for row in rows if not row[1].startswith("#"))
    for has_text, group in groupby(rows, key=lambda row: bool(row[1])):
        if has_text:
            yield [parse_sentence(row, source=source, number=n) for n, row in group]


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of annotated text.

    options (ReadOptions): uses `separator` and `encoding`.
    YIELDS (Record): documents with entities by characters.
    RAISES (ValueError): SP001 if brackets or labels are malformed.
    """
    separator = " " if options.separator is None else options.separator
    lines = read_lines(path, options.encoding)
    for sentences in read_documents(lines, source=path.name):
        yield _to_record(sentences, path.name, separator)


def _to_record(
    sentences: Sequence[BracketedSentence], source: str, separator: str
) -> Record:
    text, starts, mentions = "", [], []
    for sentence in sentences:
        text += separator if text else ""
        starts.append(len(text))
        mentions += [
            Mention(len(text) + start, len(text) + end, label, sentence.line)
            for start, end, label in sentence.spans
        ]
        text += sentence.text
    line = sentences[0].line
    return Record(source, line, mentions, text=text, sentence_starts=starts)
