"""Align the mentions of a record with tokens; mentions that do not fit are lost."""

from bisect import bisect_right
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

from spacy.tokens import Doc

from .lost import DUPLICATE, LostSpans
from .records import CHARACTERS, MISALIGNED, OUTSIDE, Lost, Mention, Record

EMPTY = "empty"
CROSSING = "crosses a sentence boundary"


class Place(NamedTuple):
    """An entity on tokens; `end` is exclusive, `id` is empty for whole entities."""

    start: int
    end: int
    label: str
    id: str


def place_mentions(
    mentions: Sequence[Mention],
    record: Record,
    doc: Doc,
    *,
    align: str,
    sentences: Optional[Sequence[int]],
    lost: LostSpans,
    with_id: bool = False,
) -> List[Place]:
    """Find the tokens of mentions.

    mentions (Sequence[Mention]): mentions of the record.
    record (Record): the record.
    doc (Doc): the document of the record.
    align (str): see `DocOptions`.
    sentences (Optional[Sequence[int]]): first tokens of sentences, whose boundaries no
        entity may cross; None for no such limits.
    lost (LostSpans): collects the mentions that do not fit.
    with_id (bool): whether mentions with different ids are different.
    RETURNS (List[Place]): in document order, without exact duplicates.
    """
    found: Set[Place] = set()
    for mention in mentions:
        start, end, reason = mention.start, mention.end, _problem(mention, record, doc)
        if not reason and record.unit == CHARACTERS:
            start, end = _align(mention, doc, align)
            reason = MISALIGNED if start == end else ""
        place = Place(start, end, mention.label, mention.id if with_id else "")
        if not reason and sentences and crosses(start, end, sentences):
            reason = CROSSING
        if not reason and place in found:
            reason = DUPLICATE
        if reason:
            lost.add([_lost(mention, reason, record, doc)])
        else:
            found.add(place)
    return sorted(found, key=lambda place: (place.start, -place.end, *place[2:]))


def _problem(mention: Mention, record: Record, doc: Doc) -> str:
    """RETURNS (str): what is wrong with the offsets of a mention; empty if nothing."""
    size = len(doc) if record.unit != CHARACTERS else len(doc.text)
    if mention.start >= mention.end:
        return EMPTY
    return "" if mention.start >= 0 and mention.end <= size else OUTSIDE


def _align(mention: Mention, doc: Doc, align: str) -> Tuple[int, int]:
    """RETURNS (Tuple[int, int]): tokens; (0, 0) if the boundaries do not fit."""
    span = doc.char_span(mention.start, mention.end, alignment_mode=align)
    return (span.start, span.end) if span is not None else (0, 0)


def crosses(start: int, end: int, sentences: Sequence[int]) -> bool:
    """RETURNS (bool): whether a span crosses the start of a sentence."""
    return bisect_right(sentences, start) != bisect_right(sentences, end - 1)


def _lost(mention: Mention, reason: str, record: Record, doc: Doc) -> Lost:
    start, end = max(mention.start, 0), max(mention.end, 0)
    if record.unit == CHARACTERS:
        text = doc.text[start:end]
    else:
        text = doc[min(start, len(doc)) : min(max(start, end), len(doc))].text
    return Lost(record.source, mention.line, text, mention.label, reason)
