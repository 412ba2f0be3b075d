"""Write documents as brat, JSON Lines and CoNLL columns, for the readers to read."""

import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Dict, Iterator, List, Tuple, Union

from spacy.tokens import Doc, Span

from ..errors import Errors
from ..files import Draft, DraftFolder
from ..pipeline.span_scores import scores_of
from .documents import FLAGGED
from .formats.columns import DOCSTART
from .records import CROSSING, DUPLICATE, EMPTY, Lost, LostSpans
from .sentences import crosses
from .tags import TokenSpan, encode_layers

# Lines of a text, with any kind of line ends.
_LINE, _LINE_END = re.compile(r"[^\r\n]+"), re.compile(r"[\r\n]+")


class Writer(ABC):
    """Write documents to a draft, which replaces existing files at the end.

    draft (Union[Draft, DraftFolder]): the draft.
    """

    def __init__(self, draft: Union[Draft, DraftFolder]) -> None:
        self._draft = draft

    @abstractmethod
    def add(self, doc: Doc) -> None:
        """Write a document."""

    def close(self) -> None:
        """Finish writing, and replace existing files."""
        self._draft.finish()

    def discard(self) -> None:
        """Delete what was written, and keep existing files."""
        self._draft.discard()


def surplus_files(folder: Path, name: str, number: int) -> Iterator[Path]:
    """YIELDS (Path): files of a larger corpus, with names of this number and on."""
    while (path := folder / name.format(number)).exists():
        yield path
        number += 1


class JsonlWriter(Writer):
    """Write JSON Lines in Prodigy's format, with the first characters of `sentences`.

    Documents without annotation have no `spans`.

    path (Path): the file.
    spans_key (str): the span group to write.
    """

    def __init__(self, path: Path, spans_key: str) -> None:
        super().__init__(Draft(path))
        self._file = self._draft.path.open("w", encoding="utf8")
        self._key = spans_key

    def add(self, doc: Doc) -> None:
        """Write a document as one line."""
        value = json_doc(doc, self._key)
        self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
        super().close()

    def discard(self) -> None:
        """Delete what was written."""
        self._file.close()
        super().discard()


def _check_label(span: Span, target: str) -> str:
    """RETURNS (str): the label.

    RAISES (ValueError): SP059 if it contains white space, which separates columns.
    """
    if span.label_.split() != [span.label_]:
        raise ValueError(Errors.SP059.format(label=span.label_, format=target))
    return span.label_


def json_doc(doc: Doc, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a document in Prodigy's format, without `spans` if it
    is not annotated.
    """
    value: Dict[str, Any] = {"text": doc.text}
    value["tokens"] = [
        {
            "text": token.text,
            "start": token.idx,
            "end": token.idx + len(token.text),
            "id": token.i,
            "ws": bool(token.whitespace_),
        }
        for token in doc
    ]
    if key in doc.spans:
        value["spans"] = [json_span(span) for span in doc.spans[key]]
        for row, score in zip(value["spans"], scores_of(doc, key)):
            if score is not None:
                row["score"] = round(score, 6)  # single precision has no more digits
    if doc.has_annotation("SENT_START"):
        value["sentences"] = [sent.start_char for sent in doc.sents]
    return value


def json_span(span: Span) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a span in Prodigy's format."""
    return {
        "start": span.start_char,
        "end": span.end_char,
        "token_start": span.start,
        "token_end": span.end - 1,  # inclusive in Prodigy
        "label": span.label_,
    }


class BratWriter(Writer):
    """Write a pair of files for each document, numbered from 1.

    Flagged parts of discontinuous entities become one entity again.

    folder (Path): the folder.
    spans_key (str): the span group to write.
    """

    def __init__(self, folder: Path, spans_key: str) -> None:
        super().__init__(DraftFolder(folder))
        self._folder = folder
        self._key = spans_key
        self._n_docs = 0

    def add(self, doc: Doc) -> None:
        """Write text and annotations."""
        self._n_docs += 1
        stem = self._draft.path / f"{self._n_docs:06}"
        with stem.with_suffix(".txt").open("w", encoding="utf8", newline="") as file:
            file.write(doc.text)
        lines = []
        for number, (label, parts) in enumerate(self._entities(doc), start=1):
            places = ";".join(f"{start} {end}" for start, end in parts)
            text = " ".join(doc.text[start:end] for start, end in parts)
            text = _LINE_END.sub(" ", text)  # if an entity has only line ends
            lines.append(f"T{number}\t{label} {places}\t{text}\n")
        stem.with_suffix(".ann").write_text("".join(lines), encoding="utf8")

    def _entities(self, doc: Doc) -> Iterator[Tuple[str, List[Tuple[int, int]]]]:
        """YIELDS: label and parts of each entity."""
        for span in doc.spans.get(self._key) or ():
            yield _check_label(span, "brat"), _lines_of(span)
        flagged: Dict[Tuple[str, str], List[Tuple[int, int]]] = {}
        for span in doc.spans.get(self._key + FLAGGED) or ():
            parts = flagged.setdefault((span.id_, _check_label(span, "brat")), [])
            parts += _lines_of(span)
        yield from ((label, parts) for (_, label), parts in flagged.items())

    def close(self) -> None:
        """Move all files to the folder, without those of a larger corpus there."""
        super().close()
        for ann in surplus_files(self._folder, "{:06}.ann", self._n_docs + 1):
            ann.unlink()
            ann.with_suffix(".txt").unlink(missing_ok=True)


def _lines_of(span: Span) -> List[Tuple[int, int]]:
    """RETURNS (List[Tuple[int, int]]): parts; brat splits entities at line ends."""
    parts = [
        (span.start_char + line.start(), span.start_char + line.end())
        for line in _LINE.finditer(span.text)
        if line.group().strip()
    ]
    return parts or [(span.start_char, span.end_char)]


class ColumnsWriter(Writer):
    """Write tab-separated columns: tokens, and as many layers of IOB2 tags as needed.

    Tokens of white space are skipped. Entities that cross a sentence boundary are lost.

    path (Path): the file.
    spans_key (str): the span group to write.
    lost (LostSpans): collects the entities that columns cannot represent.
    """

    def __init__(self, path: Path, spans_key: str, lost: LostSpans) -> None:
        super().__init__(Draft(path))
        self._path = path
        # The number of columns is known only at the end, so lines are written twice.
        folder = self._draft.path.parent
        self._file = TemporaryFile("w+", encoding="utf8", dir=folder)  # noqa: SIM115
        self._key = spans_key
        self._lost = lost
        self._n_layers = 1
        self._n_docs = 0

    def add(self, doc: Doc) -> None:
        """Write a `-DOCSTART-` line and a document."""
        self._n_docs += 1
        kept = [token.i for token in doc if token.text.strip()]
        starts = {0}
        if doc.has_annotation("SENT_START"):
            starts |= {bisect_left(kept, sent.start) for sent in doc.sents}
        layers = encode_layers(len(kept), self._entities(doc, kept, sorted(starts)))
        self._n_layers = max(self._n_layers, len(layers))
        self._file.write(f"{DOCSTART}\tO\n")
        for index, token in enumerate(kept):
            word = " ".join(doc[token].text.split())
            line = "\t".join([word, *(tags[index] for tags in layers)])
            self._file.write(f"\n{line}\n" if index in starts else f"{line}\n")
        self._file.write("\n")

    def _entities(
        self, doc: Doc, kept: List[int], starts: List[int]
    ) -> List[TokenSpan]:
        """RETURNS (List[TokenSpan]): entities, as indices of the kept tokens."""
        found: List[TokenSpan] = []
        for span in doc.spans.get(self._key) or ():
            start, end = bisect_left(kept, span.start), bisect_left(kept, span.end)
            row = start, end, _check_label(span, "columns")
            reason = EMPTY if start == end else ""
            if not reason and crosses(start, end, starts):
                reason = CROSSING
            if row in found:
                reason = DUPLICATE
            if reason:
                text = " ".join(span.text.split())
                place = self._path.name, self._n_docs
                self._lost.add([Lost(*place, text, span.label_, reason)])
            else:
                found.append(row)
        return found

    def close(self) -> None:
        """Write all lines with the same number of columns."""
        self._file.seek(0)
        with self._file, self._draft.path.open("w", encoding="utf8") as target:
            for line in self._file:
                missing = self._n_layers - line.count("\t")
                if line.strip():
                    line = line.rstrip("\n") + "\tO" * missing + "\n"
                target.write(line)
        super().close()

    def discard(self) -> None:
        """Delete what was written."""
        self._file.close()
        super().discard()
