"""Build documents from records: tokens, sentences and entities."""

import re
from bisect import bisect_left
from itertools import accumulate
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..errors import Errors
from ..pipeline.annotations import annotated_spans
from .lost import LostSpans
from .options import DocOptions
from .parts import (
    Part,
    copy_spans,
    lost_by_splitting,
    set_sentence_starts,
    split_annotated,
    split_words,
)
from .placing import Place, place_mentions
from .records import CHARACTERS, Lost, Mention, Record

# Suffix of the span group for the parts of discontinuous entities.
FLAGGED = "_discontinuous"
_LINE = re.compile(r"^(?=.*\S)", flags=re.MULTILINE)


def to_docs(
    record: Record, nlp: Language, options: DocOptions, lost: LostSpans
) -> Iterator[Doc]:
    """Build the document of a record, or a document for each of its sentences.

    record (Record): the record.
    nlp (Language): provides the vocabulary, and the tokenizer if the record has no
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
    bounds = starts if options.window == "sentence" or options.split_sentences else None
    groups: Dict[str, List[Place]] = {}
    for suffix, mentions in ("", record.mentions), (FLAGGED, record.fragments or None):
        if mentions is not None:
            groups[options.spans_key + suffix] = place_mentions(
                mentions,
                record,
                doc,
                align=options.align,
                sentences=bounds,
                lost=lost,
                with_id=bool(suffix),
            )
    existing = _existing_spans(record, options.spans_key)
    for part in _parts(record, doc, starts, options, lost):
        for key, places in groups.items():
            _write_group(part, key, places, existing)
        if options.set_ents == "longest" and options.spans_key in groups:
            lost.add(_write_ents(part.doc, options.spans_key, record))
        yield part.doc


def make_doc(record: Record, nlp: Language) -> Doc:
    """RETURNS (Doc): a document with the tokens of a record."""
    if record.doc is not None:
        return record.doc
    if record.words is None:
        return nlp.make_doc(record.text)
    spaces = record.spaces
    if spaces is None and not written_with_spaces(nlp):
        spaces = [False] * len(record.words)
    return Doc(nlp.vocab, words=record.words, spaces=spaces)


def written_with_spaces(nlp: Language) -> bool:
    """RETURNS (bool): whether spaces separate words, unlike in Chinese and Japanese."""
    return bool(nlp.Defaults.writing_system["has_letters"])


def by_characters(record: Record) -> Record:
    """RETURNS (Record): the record with one token per character.

    RAISES (ValueError): SP063 if the record is an existing document.
    """
    if record.doc is not None:
        raise ValueError(Errors.SP063.format(source=record.source, number=record.line))
    if record.words is None:
        return _by_characters_of_text(record)
    words = record.words
    first = [0, *accumulate(map(len, words))]
    spaces: Optional[List[bool]] = None
    if record.spaces is not None:
        spaces = [False] * first[-1]
        for end, space in zip(first[1:], record.spaces):
            spaces[end - 1] = space
    record = record._replace(words=list("".join(words)), spaces=spaces)
    if record.unit == CHARACTERS:
        return record
    starts, mentions = record.sentence_starts, record.mentions
    return record._replace(
        mentions=None if mentions is None else _to_characters(mentions, first),
        fragments=_to_characters(record.fragments, first),
        sentence_starts=None if starts is None else [first[i] for i in starts],
    )


def _by_characters_of_text(record: Record) -> Record:
    """RETURNS (Record): one token per character; a following space is no token."""
    words: List[str] = []
    spaces: List[bool] = []
    for character in record.text:
        if character == " " and words and not spaces[-1]:
            spaces[-1] = True
        else:
            words.append(character)
            spaces.append(False)
    return record._replace(words=words, spaces=spaces)


def _to_characters(mentions: Sequence[Mention], first: List[int]) -> List[Mention]:
    """Convert token offsets to character offsets.

    first (List[int]): the first character of each token, and the number of characters.
    RETURNS (List[Mention]): mentions; offsets outside of the text stay outside.
    """
    size = len(first)

    def convert(token: int) -> int:
        if 0 <= token < size:
            return first[token]
        return -1 if token < 0 else first[-1] + 1

    return [m._replace(start=convert(m.start), end=convert(m.end)) for m in mentions]


def set_sentences(doc: Doc, record: Record, choice: str) -> Optional[List[int]]:
    """Set the sentence boundaries of a document.

    choice (str): see `DocOptions.sentences`.
    RETURNS (Optional[List[int]]): first tokens of sentences; None if unknown.
    """
    if record.doc is not None and choice == "given":
        known = doc.has_annotation("SENT_START")
        return [sent.start for sent in doc.sents] if known else None
    starts = _sentence_starts(doc, record, choice)
    if starts is None or not len(doc):
        return None
    starts = sorted({0, *starts})
    set_sentence_starts(doc, starts)
    return starts


def _sentence_starts(doc: Doc, record: Record, choice: str) -> Optional[List[int]]:
    if choice == "none":
        return None
    if choice == "lines":
        return _tokens_at(doc, [match.start() for match in _LINE.finditer(doc.text)])
    starts = record.sentence_starts
    if starts is not None and record.unit == CHARACTERS:
        starts = _tokens_at(doc, starts)
    given = None if starts is None else [s for s in starts if 0 <= s < len(doc)]
    if choice == "given":
        return given
    # By punctuation, and at the boundaries of the file, such as those of paragraphs.
    (flags,) = Sentencizer().predict([doc])
    return [*(given or ()), *(index for index, flag in enumerate(flags) if flag)]


def _tokens_at(doc: Doc, characters: Sequence[int]) -> List[int]:
    """RETURNS (List[int]): the first tokens at or after each of the characters."""
    begins = [token.idx for token in doc]
    found = (bisect_left(begins, character) for character in characters)
    return [index for index in found if index < len(begins)]


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
    elif record.doc is None:
        yield from split_words(doc, starts)
    else:
        lost.add(lost_by_splitting(record, starts, options.spans_key))
        yield from split_annotated(doc, starts, options.spans_key)


class _Existing(NamedTuple):
    """The entities of an existing document, and the attributes of their group."""

    spans: List[Span]
    attrs: Dict[str, Any]


def _existing_spans(record: Record, key: str) -> Optional[_Existing]:
    """RETURNS (Optional[_Existing]): None if the record is not an existing document."""
    if record.doc is None or record.mentions is None:
        return None
    attrs = record.doc.spans[key].attrs if key in record.doc.spans else {}
    return _Existing(annotated_spans(record.doc, key) or [], attrs)


def _write_group(
    part: Part, key: str, places: Sequence[Place], existing: Optional[_Existing]
) -> None:
    """Write the entities of a document, or of a sentence."""
    inside = [place for place in places if part.holds(place.start, place.end)]
    if existing is not None:
        chosen = _first_of_each(existing.spans, inside)
        copy_spans(existing.spans, existing.attrs, chosen, part, key)
        return
    part.doc.spans[key] = [
        Span(
            part.doc,
            place.start - part.offset,
            place.end - part.offset,
            label=place.label,
            span_id=place.id,
        )
        for place in inside
    ]


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
    return [
        Lost(
            record.source,
            record.line,
            span.text,
            span.label_,
            "overlaps an entity of doc.ents",
        )
        for span in spans
        if (span.start, span.end, span.label) not in kept
    ]
