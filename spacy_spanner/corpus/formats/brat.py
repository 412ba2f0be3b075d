"""brat standoff: a text in `NAME.txt`, its entities in `NAME.ann`.

Entities may have several parts (`T1<tab>ORG 0 5;10 15<tab>text`). Relations, events,
attributes and notes are counted, but not read.
"""

import re
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from ...errors import Errors
from ..discontinuous import EntityParts, join_parts, resolve_parts
from ..markup import same_text
from ..options import ReadOptions
from ..records import DIFFERENT, Lost, Note, Record
from ..text_files import fail, is_visible, read_lines, read_text

_ENTITY = re.compile(
    r"(?P<id>T[^\s]*)\t(?P<label>\S+) (?P<parts>\d{1,12} \d{1,12}(;\d{1,12} \d{1,12})*)"
    r"(\t(?P<text>.*))?"
)
OTHERS = tuple("REAMN#*")


class Entity(NamedTuple):
    """A line of an `.ann` file."""

    id: str
    label: str
    parts: List[Tuple[int, int]]
    text: str
    line: int


def find_texts(path: Path) -> List[Path]:
    """RETURNS (List[Path]): the texts of a folder, or the text of one annotation file.

    RAISES (ValueError): SP057 if one file of a pair is missing.
    """
    if path.is_file():
        texts = [path.with_suffix(".txt")]
    else:
        files = (*path.rglob("*.ann"), *path.rglob("*.txt"))
        visible = (file for file in files if is_visible(file, path))
        texts = sorted({file.with_suffix(".txt") for file in visible})
    for text in texts:
        ann = text.with_suffix(".ann")
        for wanted, source in (text, ann.name), (ann, text.name):
            if not wanted.is_file():
                message = Errors.SP057.format(source=source, missing=wanted.name)
                raise ValueError(message)
    return texts


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a folder, or one pair of files.

    path (Path): a folder with pairs of files, or one file of a pair.
    options (ReadOptions): uses `discontinuous` and `encoding`.
    note (Note): called with the number of annotations that are not entities.
    YIELDS (Record): a document for each text.
    RAISES (ValueError): SP001 if a line is broken, SP057 if a file is missing.
    """
    n_others = 0
    for text_path in find_texts(path):
        text = read_text(text_path, options.encoding, newlines=False)
        ann_path = text_path.with_suffix(".ann")
        entities: List[Entity] = []
        for number, line in enumerate(read_lines(ann_path, options.encoding), 1):
            if line.startswith("T"):
                entities.append(parse_line(line, ann_path.name, number))
            elif line.strip():
                n_others += 1
                if not line.startswith(OTHERS):
                    fail(ann_path.name, number, "not an annotation", line.rstrip())
        yield _to_record(text, entities, options, ann_path.name)
    if n_others:
        note(f"{path.name}: {n_others} annotations are not entities and were skipped")


def parse_line(line: str, source: str, number: int) -> Entity:
    """RETURNS (Entity): the entity of a line. RAISES (ValueError): see `read`."""
    match = _ENTITY.fullmatch(line.rstrip("\r\n"))
    if match is None:
        fail(source, number, "not 'T1<tab>LABEL start end<tab>text'", line.rstrip())
    parts = [tuple(map(int, part.split())) for part in match["parts"].split(";")]
    places = [(start, end) for start, end in parts]
    return Entity(match["id"], match["label"], places, match["text"] or "", number)


def _to_record(
    text: str, entities: List[Entity], options: ReadOptions, source: str
) -> Record:
    found: List[EntityParts] = []
    lost: List[Lost] = []
    for entity in entities:
        seen = " ".join(text[start:end] for start, end in entity.parts)
        if entity.text and not same_text(seen, entity.text):
            row = Lost(source, entity.line, entity.text, entity.label, DIFFERENT)
            lost.append(row)
        else:
            joined = join_parts(entity.parts, text)
            found.append(
                EntityParts(joined, entity.label, entity.line, entity.id, seen)
            )
    resolved = resolve_parts(found, options.discontinuous, source)
    resolved.lost[:0] = lost
    return Record(source, 1, text=text, **resolved._asdict())
