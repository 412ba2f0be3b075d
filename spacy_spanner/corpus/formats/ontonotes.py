"""OntoNotes 4 and 5, English and Chinese: `_gold_conll` of CoNLL 2012, and `.name`.

`_gold_conll` files have words in the fourth and brackets of names in the eleventh
column. `.name` files have a sentence per line with `<ENAMEX TYPE="ORG">` around names,
whose boundaries may be inside words (`S_OFF`, `E_OFF`). Escaped words (`/.`, `-LRB-`)
are resolved.
"""

import re
from html import unescape
from itertools import groupby
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from ..markup import MAX_DEPTH
from ..options import ReadOptions
from ..records import (
    MISALIGNED,
    Lost,
    Mention,
    Note,
    Record,
    Sentence,
    join_sentences,
)
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
_DOC = re.compile(r"</?DOC\b[^<>]*>")
_MARK = re.compile(r"<ENAMEX(?P<attrs>[^<>]*)>|(?P<close></ENAMEX>)|(?P<text>[^<]+|<)")
# Matches if a mark is at the end of a word, possibly with other marks.
_AT_END = re.compile(r"(</ENAMEX>)*(\s|$)")
_ATTR = re.compile(r'(\w+)="([^"]*)"')


def resolve_word(word: str) -> str:
    """RETURNS (str): the word without the treebank's escapes."""
    if len(word) == 2 and word[0] == "/" and not word[1].isalnum():
        return word[1]
    return ESCAPED.get(word, word)


def read_conll(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a `_gold_conll` file.

    options (ReadOptions): uses `encoding`.
    YIELDS (Record): the parts of documents.
    RAISES (ValueError): SP001 if a line has too few columns, or brackets are not
        paired.
    """
    lines = enumerate(read_lines(path, options.encoding), start=1)
    for is_mark, part in groupby(lines, key=_is_document_mark):
        if not is_mark:
            groups = groupby(part, key=_is_row)
            sentences = [
                _read_rows(list(g), path.name) for is_row, g in groups if is_row
            ]
            if sentences:
                yield join_sentences(sentences, path.name)


def _is_document_mark(line: Tuple[int, str]) -> bool:
    return line[1].startswith(("#begin", "#end"))


def _is_row(line: Tuple[int, str]) -> bool:
    return bool(line[1].strip()) and not line[1].startswith("#")


def _read_rows(lines: List[Tuple[int, str]], source: str) -> Sentence:
    words: List[str] = []
    names: List[Mention] = []
    opened: List[Tuple[int, str]] = []
    first = lines[0][0]
    for index, (line, text) in enumerate(lines):
        row = text.split()
        if len(row) <= NAME:
            problem = f"{len(row)} columns instead of at least {NAME + 1}"
            fail(source, line, problem, text.rstrip())
        words.append(resolve_word(row[WORD]))
        cell = row[NAME] if row[NAME] != "-" else ""
        parts = list(_BRACKETS.finditer(cell))
        if "".join(part.group() for part in parts) != cell:
            problem = f"{cell!r} is not a bracket such as (ORG*"
            fail(source, line, problem, " ".join(row))
        for part in parts:
            if part["open"]:
                opened.append((index, part["open"]))
            elif part["close"]:
                if not opened:
                    fail(source, line, "')' without '('", " ".join(row))
                start, label = opened.pop()
                names.append(Mention(start, index + 1, label, first))
    if opened:
        line, text = lines[opened[-1][0]]
        fail(source, line, "'(' is never closed", " ".join(text.split()))
    return Sentence(words, names, first)


def read_name(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a `.name` file.

    options (ReadOptions): uses `encoding`.
    YIELDS (Record): documents.
    RAISES (ValueError): SP001 if marks are not paired.
    """
    lines = enumerate(read_lines(path, options.encoding), start=1)
    filled = ((number, line.strip()) for number, line in lines if line.strip())
    for is_mark, part in groupby(filled, key=lambda row: bool(_DOC.fullmatch(row[1]))):
        if not is_mark:
            sentences = [_read_line(text, number, path.name) for number, text in part]
            yield join_sentences(sentences, path.name)


class _Opened(NamedTuple):
    """A name that is not closed yet; `inside` if it begins or ends inside a word."""

    word: int
    label: str
    inside: bool


def _read_line(text: str, line: int, source: str) -> Sentence:
    words: List[str] = []
    names: List[Mention] = []
    lost: List[Lost] = []
    opened: List[_Opened] = []
    # Whether what precedes is white space, and whether marks that open follow it.
    spaced = at_start = True
    for mark in _MARK.finditer(text):
        if mark["text"]:
            _add_words(words, mark["text"], glued=not spaced)
            spaced = at_start = mark["text"][-1].isspace()
            continue
        if mark["close"]:
            if not opened:
                fail(source, line, "</ENAMEX> without <ENAMEX>", text)
            name = opened.pop()
            if name.inside or not _AT_END.match(text, mark.end()):
                shown = " ".join(words[name.word :])
                lost.append(Lost(source, line, shown, name.label, MISALIGNED))
            else:
                names.append(Mention(name.word, len(words), name.label, line))
        else:
            attrs = dict(_ATTR.findall(mark["attrs"] or ""))
            if not attrs.get("TYPE", "").strip():
                fail(source, line, "<ENAMEX> without TYPE", text)
            glued = not at_start
            inside = glued or "S_OFF" in attrs or "E_OFF" in attrs
            first = max(len(words) - glued, 0)
            opened.append(_Opened(first, attrs["TYPE"].strip(), inside))
            if len(opened) > MAX_DEPTH:
                fail(source, line, "nested too deeply", text)
            continue
        at_start = False
    if opened:
        fail(source, line, "<ENAMEX> is never closed", text)
    return Sentence([resolve_word(word) for word in words], names, line, lost)


def _add_words(words: List[str], text: str, *, glued: bool) -> None:
    """Add words.

    glued (bool): whether only marks are between the text and the last word.
    """
    found = unescape(text).split()
    if words and found and glued and not text[0].isspace():
        words[-1] += found.pop(0)
    words.extend(found)
