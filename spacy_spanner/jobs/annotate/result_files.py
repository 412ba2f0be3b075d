"""Write the output file of a part: JSON Lines, Parquet or `.spacy`."""

import json
from math import isfinite
from pathlib import Path
from typing import Any, Dict, List, Optional, Protocol, Type

import srsly
from spacy.tokens import Doc, DocBin

from .frames import span_rows
from .messages import Annotated
from .parquet import ROWS_WRITTEN, require_pyarrow, span_type

# Key of the document id in `Doc.user_data`, for `.spacy` files.
ID = "id"


class ShardWriter(Protocol):
    """The interface of a writer of annotated documents.

    path (Path): file to write.
    key (Optional[str]): the span group; None for `doc.ents`.
    with_text (bool): write the text of documents too.
    """

    def __init__(self, path: Path, key: Optional[str], with_text: bool) -> None: ...

    def add(self, one: Annotated) -> int:
        """Write a document, or raise an error and write nothing.

        RETURNS (int): number of spans.
        """

    def close(self) -> None:
        """Finish the file."""


class JsonlShard:
    """One object per line: `id`, `text` and `spans`, in Prodigy's format, and the kept
    fields of the row.
    """

    def __init__(self, path: Path, key: Optional[str], with_text: bool) -> None:
        self._file = path.open("w", encoding="utf8", newline="\n")
        self._key = key
        self._with_text = with_text

    def add(self, one: Annotated) -> int:
        """Write a document as one line."""
        row = _row(one, self._key, self._with_text)
        for name, value in one.others.items():
            row.setdefault(name, _finite(value))
        # Values of Parquet that JSON lacks, such as dates, become text.
        line = json.dumps(row, ensure_ascii=False, default=str) + "\n"
        line.encode("utf8")  # fails before anything is written
        self._file.write(line)
        return len(row["spans"])

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def _finite(value: Any) -> Any:
    """RETURNS (Any): the value with None for NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


class ParquetShard:
    """The columns `id`, `text` and `spans`, in row groups of 1024 documents."""

    def __init__(self, path: Path, key: Optional[str], with_text: bool) -> None:
        self._arrow = require_pyarrow()
        text = self._arrow.string()
        fields = [("id", text), *([("text", text)] if with_text else [])]
        self._schema = self._arrow.schema([*fields, ("spans", span_type())])
        self._writer = self._arrow.parquet.ParquetWriter(path, self._schema)
        self._rows: List[Dict[str, Any]] = []
        self._key = key
        self._with_text = with_text

    def add(self, one: Annotated) -> int:
        """Keep a document for the next row group."""
        row = _row(one, self._key, self._with_text)
        self._arrow.RecordBatch.from_pylist([row], self._schema)
        self._rows.append(row)
        if len(self._rows) >= ROWS_WRITTEN:
            self._flush()
        return len(row["spans"])

    def _flush(self) -> None:
        table = self._arrow.Table.from_pylist(self._rows, self._schema)
        self._writer.write_table(table)
        self._rows = []

    def close(self) -> None:
        """Finish the file."""
        if self._rows:
            self._flush()
        self._writer.close()


class SpacyShard:
    """Documents with all annotation of the pipeline, and their ids in `user_data`."""

    def __init__(self, path: Path, key: Optional[str], with_text: bool) -> None:
        self._path = path
        self._bin = DocBin(store_user_data=True)
        self._key = key

    def add(self, one: Annotated) -> int:
        """Add a document; the file is written when it is closed."""
        doc: Doc = one.doc
        doc.user_data[ID] = one.id
        # Fails before the document is added partly.
        srsly.msgpack_dumps(doc.user_data)
        self._bin.add(doc)
        return len(span_rows(doc, self._key))

    def close(self) -> None:
        """Write the file."""
        self._bin.to_disk(self._path)


SHARDS: Dict[str, Type[ShardWriter]] = {
    "jsonl": JsonlShard,
    "parquet": ParquetShard,
    "spacy": SpacyShard,
}


def _row(one: Annotated, key: Optional[str], with_text: bool) -> Dict[str, Any]:
    row: Dict[str, Any] = {"id": one.id}
    if with_text:
        row["text"] = one.doc.text
    row["spans"] = span_rows(one.doc, key)
    return row
