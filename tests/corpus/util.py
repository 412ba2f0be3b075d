"""Helpers for the tests of formats."""

from pathlib import Path
from typing import Any, List, NamedTuple, Tuple, Union

import spacy
from spacy.tokens import Doc

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.formats.catalogue import FORMATS, find_files
from spacy_spanner.corpus.options import DocOptions, ReadOptions
from spacy_spanner.corpus.records import Lost, LostSpans, Record


class Reading(NamedTuple):
    """The records and notes of a reader."""

    records: List[Record]
    notes: List[str]

    @property
    def lost(self) -> List[Lost]:
        return [row for record in self.records for row in record.lost]

    @property
    def mentions(self) -> List[Tuple[int, int, str]]:
        """Places and labels, of all records."""
        return [
            tuple(mention[:3])
            for record in self.records
            for mention in record.mentions or ()
        ]


def write_file(folder: Path, name: str, content: Union[str, bytes]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf8") if isinstance(content, str) else content
    path.write_bytes(data)
    return path


def read_all(format: str, path: Path, **options: Any) -> Reading:
    notes: List[str] = []
    chosen = FORMATS[format]
    records = [
        record
        for file in find_files(path, chosen)
        for record in chosen.read(file, ReadOptions(**options), notes.append)
    ]
    return Reading(records, notes)


def docs_and_lost(
    format: str, path: Path, lang: str = "en", **doc_options: Any
) -> Tuple[List[Doc], LostSpans]:
    lost = LostSpans()
    docs = read_docs(
        path,
        spacy.blank(lang),
        format=format,
        doc_options=DocOptions(**doc_options),
        lost=lost,
    )
    return list(docs), lost


def spans_of(doc: Doc, key: str = "ents") -> List[Tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]
