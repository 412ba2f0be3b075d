"""CoNLL-style columns: a token and its tags per line, a blank line after a sentence.

Nested entities need several tag columns, one per layer. There may be other columns
between token and tags; the tag columns are detected from the first lines. `-DOCSTART-`
lines begin documents; in a file without them, every sentence is a document.
"""

from itertools import chain, groupby, islice
from pathlib import Path
from typing import (
    Callable,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
)

from ..options import ReadOptions
from ..records import Mention, Note, Record, Sentence, join_sentences
from ..tags import OPENING, TAG, decode_tags, tag_problem
from ..text_files import fail, read_lines

DOCSTART = "-DOCSTART-"
# Number of lines to detect the layout by.
N_HEAD = 2000
# Minimum share of tokens with consistent segmentation digits.
MIN_REGULAR = 0.99


class Layout(NamedTuple):
    """The layout of a file.

    tags (Optional[Tuple[int, ...]]): tag columns; None for all columns after the token.
    segmented (bool): whether a token is a character with its position in a word, as in
        Weibo.
    documents (bool): whether `-DOCSTART-` lines begin documents.
    """

    tags: Optional[Tuple[int, ...]]
    segmented: bool
    documents: bool


class TaggedSentence(NamedTuple):
    """Tokens, one list of tags per layer, and the line of the first token."""

    words: List[str]
    layers: List[List[str]]
    line: int


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of columns.

    options (ReadOptions): uses `encoding` and `tag_columns`.
    note (Note): called with the detected layout.
    YIELDS (Record): documents of tokens.
    RAISES (ValueError): SP001 if a line has no tag, an invalid tag, or another number
        of columns than the previous line.
    """
    lines = read_lines(path, options.encoding)
    head = list(islice(lines, N_HEAD))
    layout = detect_layout(head, options.tag_columns)
    note(f"{path.name}: {_describe(layout)}")
    sentences = read_sentences(chain(head, lines), layout, source=path.name)
    n_mentions = n_irregular = 0
    for group in _documents(sentences, layout.documents):
        record, irregular = _to_record(group, path.name)
        n_mentions += len(record.mentions or ())
        n_irregular += irregular
        yield record
    if n_irregular:
        note(
            f"{path.name}: {n_irregular} of {n_mentions} entities begin with a tag "
            "that continues one, as in IOB1; if the file is not IOB1, these are errors"
        )


def detect_layout(head: Iterable[str], tag_columns: Tuple[int, ...] = ()) -> Layout:
    """Detect the layout from the first lines of a file.

    If all columns after the token contain only tags, they are layers. If one contains
    something else (such as parts of speech), only the last column is used, because
    chunks look like tags too.

    tag_columns (Tuple[int, ...]): tag columns given by the user.
    """
    rows = [split_columns(line) for line in head if line.strip()]
    documents = any(row[0].startswith(DOCSTART) for row in rows)
    rows = [row for row in rows if not row[0].startswith((DOCSTART, "#"))]
    tagged = [row for row in rows if len(row) > 1]
    segmented = are_segmented([row[0] for row in tagged])
    tags: Optional[Tuple[int, ...]] = tag_columns or None
    if not tag_columns and not all(_is_tag(x) for row in tagged for x in row[1:]):
        tags = (-1,)
    return Layout(tags, segmented, documents)


def are_segmented(words: Sequence[str]) -> bool:
    """Distinguish tokens such as `科0 技1 全0` from words that end in digits.

    words (Sequence[str]): the first tokens of a file.
    RETURNS (bool): whether all tokens end in digits, which nearly always count the
        characters of a word from 0.
    """
    position, regular, inside = -1, 0, False
    for word in words:
        expected = position + 1
        _, position = split_position(word, expected)
        if position < 0:
            return False
        regular += position in (0, expected)
        inside |= position > 0
    return inside and regular >= MIN_REGULAR * len(words)


def split_position(word: str, expected: int) -> Tuple[str, int]:
    """Split a token into a character, which may be a digit, and its position in a word.

    expected (int): the position, if the word continues.
    RETURNS (Tuple[str, int]): character and position; -1 if there is no position.
    """
    for tail in (str(expected), word[-1:]):
        if word.endswith(tail) and tail in word[1:] and tail.isdecimal():
            return word[: -len(tail)], int(tail)
    return word, -1


def _describe(layout: Layout) -> str:
    if layout.tags is None:
        found = "all columns after the token are layers of tags"
    elif layout.tags == (-1,):
        found = "tags are in the last column"
    else:
        found = f"tags are in columns {', '.join(map(str, layout.tags))}"
    found += ", tokens end in segmentation digits" if layout.segmented else ""
    begin = f"{DOCSTART} begins" if layout.documents else "sentences are"
    return f"{found}, {begin} documents"


def split_columns(line: str) -> List[str]:
    """RETURNS (List[str]): columns, split at tabs if there are any, else at spaces."""
    if "\t" in line:
        parts = (part.strip(" \r\n") for part in line.split("\t"))
        return [part for part in parts if part]
    return [part for part in line.strip("\r\n ").split(" ") if part]


def _is_tag(text: str) -> bool:
    return TAG.fullmatch(text) is not None


def read_sentences(
    lines: Iterable[str], layout: Layout, *, source: str = "<text>"
) -> Iterator[TaggedSentence]:
    """YIELDS (TaggedSentence): sentences; one without tokens begins a document.

    RAISES (ValueError): SP001 with the line, if it is broken.
    """
    numbered = enumerate(lines, start=1)
    for kind, group in groupby(numbered, key=lambda row: _kind(row[1])):
        block = list(group)
        if kind == DOCSTART:
            yield TaggedSentence([], [], block[0][0])
        elif kind:
            texts = [line for _, line in block]
            yield from _parse(texts, block[0][0], layout, source)


def _kind(line: str) -> str:
    if line.startswith(DOCSTART):
        return DOCSTART
    return "token" if line.strip() else ""


def _parse(
    lines: List[str], first: int, layout: Layout, source: str
) -> Iterator[TaggedSentence]:
    """YIELDS (TaggedSentence): the sentence, unless all lines are comments."""
    rows = [split_columns(line) for line in lines]
    while rows and lines[0].startswith("#") and not _is_tag(rows[0][-1]):
        del rows[0], lines[0]
        first += 1
    if not rows:
        return

    def broken(row: int, problem: str) -> NoReturn:
        fail(source, first + row, problem, lines[row].rstrip())

    width = max(len(rows[0]), 2)
    for number, row in enumerate(rows):
        if len(row) != width:
            broken(number, f"{len(row)} columns instead of {width}")
    columns = [list(column) for column in zip(*rows)]
    words = _without_positions(columns[0], broken) if layout.segmented else columns[0]
    layers = []
    for index in layout.tags or range(1, width):
        if not (0 < index < width or 1 - width <= index < 0):
            broken(0, f"there is no column {index} among {width}")
        layers.append(columns[index])
        for tag in set(columns[index]):
            problem = tag_problem(tag)
            if problem:
                broken(columns[index].index(tag), problem)
    yield TaggedSentence(words, layers, first)


def _without_positions(
    words: List[str], broken: Callable[[int, str], NoReturn]
) -> List[str]:
    found, position = [], -1
    for row, word in enumerate(words):
        character, position = split_position(word, position + 1)
        if position < 0:
            broken(row, f"{word!r} is not a character with a segmentation digit")
        found.append(character)
    return found


def _documents(
    sentences: Iterable[TaggedSentence], documents: bool
) -> Iterator[List[TaggedSentence]]:
    """YIELDS (List[TaggedSentence]): the sentences of each document."""
    group: List[TaggedSentence] = []
    for sentence in sentences:
        if group and (not documents or not sentence.words):
            yield group
            group = []
        if sentence.words:
            group.append(sentence)
    if group:
        yield group


def _to_record(sentences: List[TaggedSentence], source: str) -> Tuple[Record, int]:
    """RETURNS (Tuple[Record, int]): the document, and the number of its entities whose
    first tag is not an opening tag.
    """
    n_irregular = 0
    parts = []
    for words, layers, line in sentences:
        mentions = []
        for tags in layers:
            for start, end, label in decode_tags(tags):
                n_irregular += tags[start][0] not in OPENING
                mentions.append(Mention(start, end, label, line + start))
        parts.append(Sentence(words, mentions, line))
    return join_sentences(parts, source), n_irregular
