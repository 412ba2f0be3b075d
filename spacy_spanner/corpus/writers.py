"""Documents out to brat, JSON Lines and CoNLL layers; the readers read them back."""

import json
import re
from bisect import bisect_left
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Dict, Iterator, List, Protocol, Tuple

from spacy.tokens import Doc, Span

from ..errors import Errors
from ..files import Draft, DraftFolder
from .documents import FLAGGED
from .formats.columns import DOCSTART
from .lost import DUPLICATE, LostSpans
from .placing import CROSSING, EMPTY, crosses
from .records import Lost
from .tags import TokenSpan, encode_layers

# A line of a text, whose ends may be those of any system.
_LINE, _LINE_END = re.compile(r"[^\r\n]+"), re.compile(r"[\r\n]+")


class Writer(Protocol):
    """What takes documents one at a time."""

    def add(self, doc: Doc) -> None:
        """Write a document."""

    def close(self) -> None:
        """Finish; only now what was there before is replaced."""

    def discard(self) -> None:
        """Give up; what was there before stays."""


def _check_label(span: Span, target: str) -> str:
    """RETURNS (str): the label.

    RAISES (ValueError): SP059 where a format of columns would tear it apart.
    """
    if span.label_.split() != [span.label_]:
        raise ValueError(Errors.SP059.format(label=span.label_, format=target))
    return span.label_


class JsonlWriter:
    """One object a line: text, tokens, spans and first characters of sentences.

    The form is that of Prodigy. Documents without annotation have no `spans`.

    path (Path): the file.
    spans_key (str): the group to write.
    """

    def __init__(self, path: Path, spans_key: str) -> None:
        self._draft = Draft(path)
        self._file = self._draft.path.open("w", encoding="utf8")
        self._key = spans_key

    def add(self, doc: Doc) -> None:
        """Write a document as one line."""
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
        if self._key in doc.spans:
            value["spans"] = [json_span(span) for span in doc.spans[self._key]]
        if doc.has_annotation("SENT_START"):
            value["sentences"] = [sent.start_char for sent in doc.sents]
        self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
        self._draft.finish()

    def discard(self) -> None:
        """Delete what was written."""
        self._file.close()
        self._draft.discard()


def json_span(span: Span) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a span in the form of Prodigy."""
    return {
        "start": span.start_char,
        "end": span.end_char,
        "token_start": span.start,
        "token_end": span.end - 1,  # Prodigy counts the last token
        "label": span.label_,
    }


class BratWriter:
    """A pair of files for each document, numbered from 1.

    Parts that the readers have flagged as discontinuous become one entity again.

    folder (Path): where to write.
    spans_key (str): the group to write.
    """

    def __init__(self, folder: Path, spans_key: str) -> None:
        self._folder = folder
        self._draft = DraftFolder(folder)
        self._key = spans_key
        self._n_docs = 0

    def add(self, doc: Doc) -> None:
        """Write text and annotations."""
        self._n_docs += 1
        stem = self._draft.path / self._name(self._n_docs)
        with stem.with_suffix(".txt").open("w", encoding="utf8", newline="") as file:
            file.write(doc.text)
        lines = []
        for number, (label, parts) in enumerate(self._entities(doc), start=1):
            places = ";".join(f"{start} {end}" for start, end in parts)
            text = " ".join(doc.text[start:end] for start, end in parts)
            text = _LINE_END.sub(" ", text)  # of an entity that is nothing else
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

    def _name(self, number: int) -> str:
        return f"{number:06}"

    def close(self) -> None:
        """Move all to the folder, and delete further files of a larger corpus that was
        written there before.
        """
        self._draft.finish()
        further = self._n_docs + 1
        while (ann := self._folder / f"{self._name(further)}.ann").exists():
            ann.unlink()
            ann.with_suffix(".txt").unlink(missing_ok=True)
            further += 1

    def discard(self) -> None:
        """Delete what was written."""
        self._draft.discard()


def _lines_of(span: Span) -> List[Tuple[int, int]]:
    """RETURNS (List[Tuple[int, int]]): characters; brat parts entities at line ends."""
    parts = [
        (span.start_char + line.start(), span.start_char + line.end())
        for line in _LINE.finditer(span.text)
        if line.group().strip()
    ]
    return parts or [(span.start_char, span.end_char)]


class ColumnsWriter:
    """Tokens and as many layers of IOB2 tags as the file needs, apart by tabs.

    Tokens of white space have no place in columns and are left out; no entity leaves
    its sentence.

    path (Path): the file.
    spans_key (str): the group to write.
    lost (LostSpans): is told of entities that columns cannot hold.
    """

    def __init__(self, path: Path, spans_key: str, lost: LostSpans) -> None:
        self._path = path
        self._draft = Draft(path)
        # How many columns all lines need is known at the end: they are written twice.
        folder = self._draft.path.parent
        self._file = TemporaryFile("w+", encoding="utf8", dir=folder)  # noqa: SIM115
        self._key = spans_key
        self._lost = lost
        self._n_layers = 1
        self._n_docs = 0

    def add(self, doc: Doc) -> None:
        """Write a document behind a `-DOCSTART-` line."""
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
        """RETURNS (List[TokenSpan]): entities on the tokens that are kept."""
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
        """Give all lines the same number of columns."""
        self._file.seek(0)
        with self._file, self._draft.path.open("w", encoding="utf8") as target:
            for line in self._file:
                missing = self._n_layers - line.count("\t")
                if line.strip():
                    line = line.rstrip("\n") + "\tO" * missing + "\n"
                target.write(line)
        self._draft.finish()

    def discard(self) -> None:
        """Delete what was written."""
        self._file.close()
        self._draft.discard()
