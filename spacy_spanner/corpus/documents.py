"""Build documents from records: tokens, sentences and entities."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..pipeline.annotations import SCORE_OF_OTHERS, annotated_spans
from ..pipeline.marks import INCOMPLETE, NOT
from ..pipeline.span_scores import is_below
from .bare_language import AnyLanguage
from .options import DocOptions
from .records import (
    CROSSING,
    DUPLICATE,
    EMPTY,
    MISALIGNED,
    OUTSIDE,
    UNSURE,
    Lost,
    LostSpans,
    Mention,
    Record,
    by_characters,
)
from .sentences import (
    Part,
    copy_spans,
    crosses,
    keep_neighbours,
    lost_by_splitting,
    set_sentences,
    split_annotated,
    split_words,
)

# Suffix of the span group for the parts of discontinuous entities.
FLAGGED = "_discontinuous"


class Place(NamedTuple):
    """An entity on tokens; `end` is exclusive, `id` is empty for whole entities, and
    `score` is None if unknown.
    """

    start: int
    end: int
    label: str
    id: str
    score: Optional[float]


def to_docs(
    record: Record, nlp: AnyLanguage, options: DocOptions, lost: LostSpans
) -> Iterator[Doc]:
    """Build the document of a record, or a document for each of its sentences.

    record (Record): the record.
    nlp (AnyLanguage): provides the vocabulary, and the tokenizer if the record has no
        tokens.
    options (DocOptions): how to build documents.
    lost (LostSpans): collects the entities that cannot be represented.
    YIELDS (Doc): documents with entities in `doc.spans[spans_key]`, or without this
        group if the record is not annotated.
    RAISES (ValueError): SP063 for `characters` with an existing document.
    """
    lost.add(record.lost)
    if options.characters:
        record = by_characters(record)
    doc = make_doc(record, nlp)
    starts = set_sentences(doc, record, options.sentences)
    groups = _place_groups(record, doc, starts, options, lost)
    existing = _existing_spans(record, options.spans_key)
    for part in _parts(record, doc, starts, options, lost):
        for key, places in groups.items():
            _write_group(part, key, places, existing)
        if record.incomplete:
            part.doc.spans[options.spans_key + INCOMPLETE] = [part.doc[:]]
        if options.set_ents == "longest" and options.spans_key in groups:
            lost.add(_write_ents(part.doc, options.spans_key, record))
        yield part.doc


def make_doc(record: Record, nlp: AnyLanguage) -> Doc:
    """RETURNS (Doc): a document with the tokens of a record."""
    if record.doc is not None:
        return record.doc
    if record.words is None:
        return nlp.make_doc(record.text or "")
    spaces = record.spaces
    if spaces is None and not written_with_spaces(nlp):
        spaces = [False] * len(record.words)
    return Doc(nlp.vocab, words=record.words, spaces=spaces)


def written_with_spaces(nlp: AnyLanguage) -> bool:
    """RETURNS (bool): whether spaces separate words, unlike in Chinese and Japanese."""
    return bool(nlp.Defaults.writing_system["has_letters"])


def _place_groups(
    record: Record,
    doc: Doc,
    starts: Optional[List[int]],
    options: DocOptions,
    lost: LostSpans,
) -> Dict[str, List[Place]]:
    """RETURNS (Dict[str, List[Place]]): entities by span group, in document order and
    without exact duplicates; those that do not fit are lost.
    """
    limited = options.window == "sentence" or options.split_sentences
    groups: Dict[str, List[Place]] = {}
    by_suffix = {
        "": record.mentions,
        FLAGGED: record.fragments or None,
        NOT: record.negative or None,
    }
    for suffix, mentions in by_suffix.items():
        if mentions is None:
            continue
        found: Dict[Tuple[int, int, str, str], Place] = {}
        for mention in mentions:
            start, end, reason = _tokens_of(mention, record, doc, options.align)
            name = mention.id if suffix else ""
            place = Place(start, end, mention.label, name, mention.score)
            if _is_unsure(mention, options):
                reason = UNSURE  # whatever else is wrong: nobody wants it
            if not reason and limited and starts and crosses(start, end, starts):
                reason = CROSSING
            if not reason and place[:4] in found:
                reason = DUPLICATE
            if reason:
                lost.add([_lost(mention, reason, record, doc)])
            else:
                found[place[:4]] = place
        groups[options.spans_key + suffix] = sorted(
            found.values(), key=lambda place: (place.start, -place.end, *place[2:4])
        )
    return groups


def _is_unsure(mention: Mention, options: DocOptions) -> bool:
    if mention.score is None or options.min_score is None:
        return False
    return is_below(mention.score, options.min_score)


def _tokens_of(
    mention: Mention, record: Record, doc: Doc, align: str
) -> Tuple[int, int, str]:
    """RETURNS: start, exclusive end, and why the mention does not fit; empty if it
    does.
    """
    start, end = mention.start, mention.end
    size = len(doc) if record.text is None else len(doc.text)
    if start >= end:
        return start, end, EMPTY
    if start < 0 or end > size:
        return start, end, OUTSIDE
    if record.text is None:
        return start, end, ""
    span = doc.char_span(start, end, alignment_mode=align)
    return (span.start, span.end, "") if span else (0, 0, MISALIGNED)


def _lost(mention: Mention, reason: str, record: Record, doc: Doc) -> Lost:
    start, end = max(mention.start, 0), max(mention.end, 0)
    if record.text is not None:
        text = doc.text[start:end]
    else:
        text = doc[min(start, len(doc)) : min(max(start, end), len(doc))].text
    return Lost(record.source, mention.line, text, mention.label, reason)


def _parts(
    record: Record,
    doc: Doc,
    starts: Optional[List[int]],
    options: DocOptions,
    lost: LostSpans,
) -> Iterator[Part]:
    """YIELDS (Part): the document, or its sentences, with the annotation of an existing
    document.
    """
    if not options.split_sentences or not starts:
        yield Part(doc, 0)
        return
    if record.doc is None:
        parts = split_words(doc, starts)
    else:
        lost.add(lost_by_splitting(record, starts, options.spans_key))
        parts = split_annotated(doc, starts, options.spans_key)
    yield from keep_neighbours(parts, options.context) if options.context else parts


class _Existing(NamedTuple):
    """The entities of an existing document, and the attributes of their group."""

    spans: List[Span]
    attrs: Dict[str, Any]


def _existing_spans(record: Record, key: str) -> Optional[_Existing]:
    """RETURNS (Optional[_Existing]): None if the record is not an existing document."""
    if record.doc is None or record.mentions is None:
        return None
    attrs = dict(record.doc.spans[key].attrs) if key in record.doc.spans else {}
    spans = annotated_spans(record.doc, key) or []
    known = {m[:3]: m.score for m in record.mentions if m.score is not None}
    if known and "scores" not in attrs:
        scores = [known.get((s.start, s.end, s.label_)) for s in spans]
        attrs["scores"] = _filled(scores)
    return _Existing(spans, attrs)


def _filled(scores: Sequence[Optional[float]]) -> List[float]:
    """RETURNS (List[float]): the scores, with that of annotation by hand if unknown."""
    return [SCORE_OF_OTHERS if score is None else score for score in scores]


def _write_group(
    part: Part, key: str, places: Sequence[Place], existing: Optional[_Existing]
) -> None:
    """Write the entities of a document, or of a sentence."""
    inside = [place for place in places if part.holds(place.start, place.end)]
    if existing is not None:
        chosen = _first_of_each(existing.spans, inside)
        copy_spans(existing.spans, existing.attrs, chosen, part, key)
        return
    offset = part.offset
    part.doc.spans[key] = [
        Span(part.doc, start - offset, end - offset, label=label, span_id=name)
        for start, end, label, name, _ in inside
    ]
    scores = [place.score for place in inside]
    if any(score is not None for score in scores):
        part.doc.spans[key].attrs["scores"] = _filled(scores)


def _first_of_each(spans: Sequence[Span], places: Sequence[Place]) -> List[int]:
    """RETURNS (List[int]): the first span at each place, in the order of the spans."""
    wanted = {place[:3] for place in places}
    chosen = []
    for index, span in enumerate(spans):
        row = span.start, span.end, span.label_
        if row in wanted:
            wanted.remove(row)
            chosen.append(index)
    return chosen


def _write_ents(doc: Doc, key: str, record: Record) -> List[Lost]:
    """Write the longest entities that do not overlap to `doc.ents`.

    RETURNS (List[Lost]): the other entities.
    """
    spans = list(doc.spans[key])
    chosen = filter_spans(spans)
    doc.set_ents(chosen, default="outside")
    kept = {(span.start, span.end, span.label) for span in chosen}
    place, reason = (record.source, record.line), "overlaps an entity of doc.ents"
    return [
        Lost(*place, span.text, span.label_, reason)
        for span in spans
        if (span.start, span.end, span.label) not in kept
    ]
