"""KBP 2017 (entity discovery and linking): texts as XML, entities as tables.

The columns of a table are: run, mention, text, `DOCUMENT:first-last`, link, type, NAM
or NOM, confidence. Offsets count all characters of the source file, including tags.
Names of authors are annotated inside tags, which are not text.
"""

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

from ...errors import Errors
from ..markup import PlainText, same_text, strip_markup
from ..options import ReadOptions
from ..records import DIFFERENT, Lost, Mention, Note, Record
from ..text_files import fail, read_lines, read_text
from .ace import choose_documents, is_offset

ENDINGS = (".nw.xml", ".df.xml", ".mpdf.xml", ".cmp.txt", ".xml", ".txt")
IN_MARKUP = "inside markup or outside of the text"
NO_DOCUMENT = "its document is missing"
# Number of required columns.
N_COLUMNS = 7


class Row(NamedTuple):
    """A line of a gold table; `end` is exclusive."""

    document: str
    start: int
    end: int
    text: str
    label: str
    line: int
    source: str


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read the documents of a folder.

    path (Path): a folder with source files and tables (`.tab`), at any depth.
    options (ReadOptions): uses `documents` and `encoding`.
    YIELDS (Record): documents with entities by characters, and paragraphs and posts as
        sentences.
    RAISES (ValueError): SP001 if a line is broken, SP055 if a document of the list is
        missing, SP061 without tables or source files.
    """
    sources = {_document_name(p): p for p in sorted(path.rglob("*")) if _is_source(p)}
    rows: Dict[str, List[Row]] = {}
    for table in sorted(path.rglob("*.tab")):
        for row in read_table(table, options.encoding):
            rows.setdefault(row.document, []).append(row)
    if not sources or not rows:
        problem = "the format kbp needs source files and tables (.tab)"
        raise ValueError(Errors.SP061.format(source=path, problem=problem))
    for name in choose_documents(list(sources), options, path.name):
        raw = read_text(sources[name], options.encoding, newlines=False)
        plain = strip_markup(raw, count_tags=True, region=(0, len(raw)))
        yield _to_record(sources[name].name, plain, rows.pop(name, []))
    left = [row for found in rows.values() for row in found]
    if left and options.documents is None:
        lost = [Lost(r.source, r.line, r.text, r.label, NO_DOCUMENT) for r in left]
        yield Record(path.name, 1, [], text="", lost=lost)


def _is_source(path: Path) -> bool:
    return path.is_file() and path.name.endswith(ENDINGS)


def _document_name(path: Path) -> str:
    ending = next(ending for ending in ENDINGS if path.name.endswith(ending))
    return path.name.removesuffix(ending)


def read_table(path: Path, encoding: str = "utf-8") -> Iterator[Row]:
    """YIELDS (Row): the mentions of a gold table. RAISES (ValueError): see `read`."""
    for number, line in enumerate(read_lines(path, encoding), start=1):
        if not line.strip():
            continue
        columns = line.rstrip("\n").split("\t")
        if len(columns) < N_COLUMNS:
            problem = f"{len(columns)} columns instead of at least {N_COLUMNS}"
            fail(path.name, number, problem, line.rstrip())
        document, _, place = columns[3].rpartition(":")
        first, _, last = place.partition("-")
        if not (document and is_offset(first) and is_offset(last)):
            fail(path.name, number, "no 'DOCUMENT:first-last'", line.rstrip())
        label = columns[5].strip()
        if not label:
            fail(path.name, number, "no type", line.rstrip())
        start, end = int(first), int(last) + 1
        yield Row(document, start, end, columns[2], label, number, path.name)


def _to_record(source: str, plain: PlainText, rows: List[Row]) -> Record:
    mentions: List[Mention] = []
    lost: List[Lost] = []
    for row in rows:
        place = plain.find(row.start, row.end)
        if place and same_text(plain.text[slice(*place)], row.text):
            mentions.append(Mention(*place, row.label, row.line))
        else:
            reason = DIFFERENT if place else IN_MARKUP
            lost.append(Lost(row.source, row.line, row.text, row.label, reason))
    table = rows[0].source if rows else source
    text, starts = plain.text, plain.breaks
    return Record(table, 1, mentions, text=text, sentence_starts=starts, lost=lost)
