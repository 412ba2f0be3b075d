"""OntoNotes 4 and 5, English and Chinese: `_gold_conll` of CoNLL 2012, and `.name`.

`_gold_conll` files have words in the fourth and brackets of names in the eleventh
column. `.name` files have a sentence per line with `<ENAMEX TYPE="ORG">` around names,
whose boundaries may be inside words (`S_OFF`, `E_OFF`). Escaped words (`/.`, `-LRB-`)
are resolved.
"""

import re
from html import unescape
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from ..options import ReadOptions
from ..records import MISALIGNED, Lost, Mention, Note, Record
from ..tags import TokenSpan
from ..text_files import fail, read_lines

WORD, NAME = 3, 10
ESCAPED = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}
_BRACKETS = re.compile(r"\((?P<open>[^()*|\s]+)|(?P<inside>\*)|(?P<close>\))")
_MARK = re.compile(r"<ENAMEX(?P<attrs>[^<>]*)>|(?P<close></ENAMEX>)|(?P<text>[^<]+|<)")
_TAG = re.compile(r"</?ENAMEX[^<>]*>")
# Matches if a mark is at the boundary of a word, possibly with other marks.
_AT_START = re.compile(r"(^|\s)(<ENAMEX[^<>]*>)*$")
_AT_END = re.compile(r"(</ENAMEX>)*(\s|$)")
_ATTR = re.compile(r'(\w+)="([^"]*)"')


class Sentence(NamedTuple):
    """Words, names, line and lost names of a sentence; ends of names are exclusive."""

    words: List[str]
    names: List[TokenSpan]
    line: int
    lost: List[Lost]


def resolve_word(word: str) -> str:
    """RETURNS (str): the word without the treebank's escapes."""
    if len(word) == 2 and word[0] == "/" and not word[1].isalnum():
        return word[1]
    return ESCAPED.get(word, word)


def read_conll(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a `_gold_conll` file.

    path (Path): the file.
    options (ReadOptions): uses `encoding`.
    note (Note): not used.
    YIELDS (Record): the parts of documents.
    RAISES (ValueError): SP001 if a line has too few columns, or brackets are not
        paired.
    """
    sentences: List[Sentence] = []
    rows: List[List[str]] = []
    number = 0
    for number, line in enumerate(read_lines(path, options.encoding), start=1):
        if line.strip() and not line.startswith("#"):
            rows.append(line.split())
            if len(rows[-1]) <= NAME:
                problem = f"{len(rows[-1])} columns instead of at least {NAME + 1}"
                fail(path.name, number, problem, line.rstrip())
            continue
        if rows:
            sentences.append(_read_rows(rows, number - len(rows), path.name))
            rows = []
        if line.startswith(("#begin", "#end")) and sentences:
            yield _to_record(sentences, path.name)
            sentences = []
    if rows:
        sentences.append(_read_rows(rows, number - len(rows) + 1, path.name))
    if sentences:
        yield _to_record(sentences, path.name)


def _read_rows(rows: List[List[str]], first: int, source: str) -> Sentence:
    names: List[TokenSpan] = []
    opened: List[Tuple[int, str]] = []
    for index, row in enumerate(rows):
        cell, line = row[NAME], first + index
        parts = list(_BRACKETS.finditer(cell)) if cell != "-" else []
        if cell != "-" and "".join(part.group() for part in parts) != cell:
            fail(
                source, line, f"{cell!r} is not a bracket such as (ORG*", " ".join(row)
            )
        for part in parts:
            if part["open"]:
                opened.append((index, part["open"]))
            elif part["close"]:
                if not opened:
                    fail(source, line, "')' without '('", " ".join(row))
                start, label = opened.pop()
                names.append((start, index + 1, label))
    if opened:
        line = first + opened[-1][0]
        fail(source, line, "'(' is never closed", " ".join(rows[opened[-1][0]]))
    return Sentence([resolve_word(row[WORD]) for row in rows], names, first, [])


def read_name(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a `.name` file.

    path (Path): the file.
    options (ReadOptions): uses `encoding`.
    note (Note): not used.
    YIELDS (Record): documents.
    RAISES (ValueError): SP001 if marks are not paired.
    """
    sentences: List[Sentence] = []
    for number, line in enumerate(read_lines(path, options.encoding), start=1):
        text = line.strip()
        if re.fullmatch(r"</?DOC\b[^<>]*>", text):
            if sentences:
                yield _to_record(sentences, path.name)
            sentences = []
        elif text:
            sentences.append(_read_line(text, number, path.name))
    if sentences:
        yield _to_record(sentences, path.name)


class _Opened(NamedTuple):
    """A name that is not closed yet; `inside` if it begins or ends inside a word."""

    word: int
    label: str
    inside: bool


def _read_line(text: str, line: int, source: str) -> Sentence:
    words: List[str] = []
    names: List[TokenSpan] = []
    lost: List[Lost] = []
    opened: List[_Opened] = []
    for mark in _MARK.finditer(text):
        if mark["text"]:
            _add_words(words, mark["text"], text[: mark.start()])
        elif mark["close"]:
            if not opened:
                fail(source, line, "</ENAMEX> without <ENAMEX>", text)
            name = opened.pop()
            if name.inside or not _AT_END.match(text, mark.end()):
                shown = " ".join(words[name.word :])
                lost.append(Lost(source, line, shown, name.label, MISALIGNED))
            else:
                names.append((name.word, len(words), name.label))
        else:
            attrs = dict(_ATTR.findall(mark["attrs"] or ""))
            if not attrs.get("TYPE", "").strip():
                fail(source, line, "<ENAMEX> without TYPE", text)
            glued = not _AT_START.search(text[: mark.start()])
            inside = glued or "S_OFF" in attrs or "E_OFF" in attrs
            first = max(len(words) - glued, 0)
            opened.append(_Opened(first, attrs["TYPE"].strip(), inside))
    if opened:
        fail(source, line, "<ENAMEX> is never closed", text)
    return Sentence([resolve_word(word) for word in words], names, line, lost)


def _add_words(words: List[str], text: str, before: str) -> None:
    """Add words; text that follows a mark without white space extends the last word."""
    found = unescape(text).split()
    plain = _TAG.sub("", before)
    if words and found and not plain[-1:].isspace() and not text[0].isspace():
        words[-1] += found.pop(0)
    words.extend(found)


def _to_record(sentences: List[Sentence], source: str) -> Record:
    words: List[str] = []
    starts: List[int] = []
    mentions: List[Mention] = []
    lost: List[Lost] = []
    for sentence in sentences:
        offset = len(words)
        if sentence.words:
            starts.append(offset)
        words += sentence.words
        mentions += [
            Mention(start + offset, end + offset, label, sentence.line)
            for start, end, label in sentence.names
        ]
        lost += sentence.lost
    line = sentences[0].line
    return Record(
        source, line, mentions, words=words, sentence_starts=starts, lost=lost
    )
