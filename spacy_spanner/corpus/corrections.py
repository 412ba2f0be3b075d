"""Put reviewed annotation back into the documents that it was exported from.

Documents are recognised by their text, because not every tool keeps other fields. So a
reviewed document replaces the spans of every document with this text.
"""

from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from spacy.tokens import Doc, Span

from ..errors import Errors
from ..pipeline.annotations import annotated_spans
from .conversion import ignore_note, read_records
from .options import DocOptions
from .records import Note, Record

# Number of problems that a message lists.
N_SHOWN = 3
CharSpan = Tuple[int, int, str]


class Corrected(NamedTuple):
    """What a review has changed.

    reviewed (int): documents that were reviewed.
    changed (int): of these, documents whose spans differ now.
    added, removed (int): spans.
    """

    reviewed: int
    changed: int
    added: int
    removed: int


def read_reviewed(
    path: Path, *, format: Optional[str] = None, note: Note = ignore_note
) -> Dict[str, Set[CharSpan]]:
    """Read the file of an annotation tool.

    path (Path): file or folder in any format with texts.
    note (Note): called with messages about what was detected.
    RETURNS (Dict[str, Set[CharSpan]]): spans by text, without documents that are not
        annotated.
    RAISES (ValueError): SP182 for two different versions of a text, for incomplete
        annotation and for none, SP183 for spans that cannot be read; see `read_records`
        for broken files.
    """
    found: Dict[str, Set[CharSpan]] = {}
    for record in read_records(path, format=format, note=note):
        if record.text is None and record.doc is None:
            raise ValueError(Errors.SP182.format(path=path, problem=NO_TEXT))
        if record.lost or record.fragments:
            raise ValueError(_unreadable(record, path))
        if record.mentions is None:
            continue
        if record.incomplete:
            raise ValueError(Errors.SP182.format(path=path, problem=PARTLY))
        text, spans = _chars_of(record)
        if found.setdefault(text, spans) != spans:
            problem = f"there are two different versions of the text {text[:60]!r}"
            raise ValueError(Errors.SP182.format(path=path, problem=problem))
    if not found:
        raise ValueError(Errors.SP182.format(path=path, problem=NOT_REVIEWED))
    return found


NO_TEXT = "it has tokens, but no texts"
PARTLY = (
    "only some spans of a text were answered, so nothing is known about the others "
    "(`spanner convert` reads such answers as incomplete annotation)"
)
NOT_REVIEWED = (
    "no document in it is annotated (in Label Studio, submit the tasks before you "
    "export them)"
)


def _chars_of(record: Record) -> Tuple[str, Set[CharSpan]]:
    """RETURNS (Tuple[str, Set[CharSpan]]): a text, and its spans by characters."""
    doc, mentions = record.doc, record.mentions or ()
    if doc is None:
        return record.text or "", {(m.start, m.end, m.label) for m in mentions}
    spans = [doc[m.start : m.end] for m in mentions]
    rows = zip(spans, mentions)
    return doc.text, {(s.start_char, s.end_char, m.label) for s, m in rows}


def _unreadable(record: Record, path: Path) -> str:
    rows = [f"{one.text!r} ({one.label}): {one.reason}" for one in record.lost]
    rows += [f"{one.label}: discontinuous" for one in record.fragments]
    return Errors.SP183.format(path=path, spans="; ".join(rows[:N_SHOWN]))


def correct(
    docs: Sequence[Doc],
    reviewed: Dict[str, Set[CharSpan]],
    key: str,
    *,
    align: str = "strict",
) -> Corrected:
    """Replace the spans of reviewed documents. Either all are replaced or none.

    docs (Sequence[Doc]): the documents, which are changed.
    reviewed (Dict[str, Set[CharSpan]]): see `read_reviewed`.
    key (str): the span group; documents without it have their gold in `doc.ents`.
    align (str): how spans with boundaries inside tokens are read; see `DocOptions`.
    RETURNS (Corrected): the numbers of changes.
    RAISES (ValueError): SP183 for spans that do not fit the tokens, SP184 for texts
        that no document has.
    """
    align = DocOptions(align=align).align
    texts = {doc.text for doc in docs}
    unknown = [text for text in reviewed if text not in texts]
    if unknown or not reviewed:
        shown = "; ".join(repr(text[:60]) for text in unknown[:N_SHOWN]) or "no text"
        message = Errors.SP184.format(
            unknown=len(unknown), reviewed=len(reviewed), texts=shown
        )
        raise ValueError(message)
    chosen = [doc for doc in docs if doc.text in reviewed]
    replaced = [_place(doc, reviewed[doc.text], align) for doc in chosen]
    rows = [_replace(doc, spans, key) for doc, spans in zip(chosen, replaced)]
    added, removed = (sum(column) for column in zip(*rows))
    return Corrected(len(chosen), sum(any(row) for row in rows), added, removed)


def _place(doc: Doc, rows: Iterable[CharSpan], align: str) -> List[Span]:
    """RETURNS (List[Span]): the spans in document order, each once."""
    found: Dict[Tuple[int, int, str], Span] = {}
    wrong = []
    for start, end, label in sorted(rows):
        span = None
        if 0 <= start < end <= len(doc.text):
            span = doc.char_span(start, end, label=label, alignment_mode=align)
        if span is None:
            shown = doc.text[max(start, 0) : max(end, 0)]
            wrong.append(f"{shown!r} ({label}) in {doc.text[:60]!r}")
        else:
            found[span.start, -span.end, label] = span
    if wrong:
        shown = "; ".join(wrong[:N_SHOWN])
        raise ValueError(Errors.SP183.format(path="the reviewed file", spans=shown))
    return [found[place] for place in sorted(found)]


def _replace(doc: Doc, spans: List[Span], key: str) -> Tuple[int, int]:
    """Write the spans where they differ; ids of spans that stay are kept.

    RETURNS (Tuple[int, int]): numbers of added and removed spans.
    """
    present = {(s.start, s.end, s.label_): s for s in annotated_spans(doc, key) or []}
    wanted = {(s.start, s.end, s.label_): s for s in spans}
    added, removed = wanted.keys() - present.keys(), present.keys() - wanted.keys()
    if added or removed or key not in doc.spans:
        doc.spans[key] = [present.get(row, span) for row, span in wanted.items()]
    return len(added), len(removed)
