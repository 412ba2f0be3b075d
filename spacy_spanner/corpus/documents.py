"""Records to documents: tokens, sentences and entities."""

import re
from bisect import bisect_left
from itertools import accumulate
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, cast

import numpy as np
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from .lost import LostSpans
from .options import DocOptions
from .placing import Place, place_mentions
from .records import CHARACTERS, Lost, Mention, Record

# Parts of discontinuous entities go to a group of this name behind the key.
FLAGGED = "_discontinuous"
_LINE = re.compile(r"^(?=.*\S)", flags=re.MULTILINE)


def to_docs(
    record: Record, nlp: Language, options: DocOptions, lost: LostSpans
) -> Iterator[Doc]:
    """Build the document of a record, or a document for each of its sentences.

    record (Record): what a reader has read.
    nlp (Language): vocabulary, and tokenizer where the record has no tokens.
    options (DocOptions): see there.
    lost (LostSpans): is told what cannot be represented.
    YIELDS (Doc): with entities in `doc.spans[spans_key]`; without such a group where
        the record is not annotated.
    """
    lost.add(record.lost)
    if options.characters and record.words is not None:
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
    parts = _split(doc, starts) if options.split_sentences and starts else [(doc, 0)]
    for part, offset in parts:
        for key, places in groups.items():
            _write_group(part, key, places, offset)
        if options.set_ents == "longest" and options.spans_key in groups:
            lost.add(_write_ents(part, options.spans_key, record))
        yield part


def make_doc(record: Record, nlp: Language) -> Doc:
    """RETURNS (Doc): the tokens of a record, nothing else."""
    if record.doc is not None:
        return record.doc
    if record.words is None:
        return nlp.make_doc(record.text)
    spaces = record.spaces
    if spaces is None and not written_with_spaces(nlp):
        spaces = [False] * len(record.words)
    return Doc(nlp.vocab, words=record.words, spaces=spaces)


def written_with_spaces(nlp: Language) -> bool:
    """RETURNS (bool): whether words stand apart; not in Chinese and Japanese."""
    return bool(nlp.Defaults.writing_system["has_letters"])


def by_characters(record: Record) -> Record:
    """RETURNS (Record): the same with a token for each character of the tokens."""
    words = record.words or []
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
        mentions=None if mentions is None else _move(mentions, first),
        fragments=_move(record.fragments, first),
        sentence_starts=None if starts is None else [first[i] for i in starts],
    )


def _move(mentions: Sequence[Mention], first: List[int]) -> List[Mention]:
    """Move mentions to the first characters of tokens; what is outside stays there."""
    size = len(first)

    def moved(token: int) -> int:
        if 0 <= token < size:
            return first[token]
        return -1 if token < 0 else first[-1] + 1

    return [m._replace(start=moved(m.start), end=moved(m.end)) for m in mentions]


def set_sentences(doc: Doc, record: Record, choice: str) -> Optional[List[int]]:
    """Set the sentence boundaries of a document.

    choice (str): see `DocOptions.sentences`.
    RETURNS (Optional[List[int]]): first tokens of sentences; None for unknown.
    """
    if record.doc is not None and choice == "given":
        known = doc.has_annotation("SENT_START")
        return [sent.start for sent in doc.sents] if known else None
    starts = _sentence_starts(doc, record, choice)
    if starts is None or not len(doc):
        return None
    starts = sorted({0, *starts})
    flags = np.full(len(doc), -1, dtype=np.int64)
    flags[starts] = 1
    # spaCy's hint wants a column for each attribute; one attribute has no columns.
    doc.from_array(["SENT_START"], cast(Any, flags.astype(np.uint64)))
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
    # By punctuation, and where the file has boundaries (those of paragraphs, say).
    (flags,) = Sentencizer().predict([doc])
    return [*(given or ()), *(index for index, flag in enumerate(flags) if flag)]


def _tokens_at(doc: Doc, characters: Sequence[int]) -> List[int]:
    """RETURNS (List[int]): the first tokens that begin there or behind."""
    begins = [token.idx for token in doc]
    found = (bisect_left(begins, character) for character in characters)
    return [index for index in found if index < len(begins)]


def _split(doc: Doc, starts: List[int]) -> Iterator[Tuple[Doc, int]]:
    """YIELDS (Tuple[Doc, int]): each sentence as a document, and its first token."""
    for start, end in zip(starts, [*starts[1:], len(doc)]):
        tokens = doc[start:end]
        words = [token.text for token in tokens]
        spaces = [bool(token.whitespace_) for token in tokens]
        flags: List[Union[bool, int, None]] = [True, *[False] * (len(words) - 1)]
        part = Doc(doc.vocab, words=words, spaces=spaces, sent_starts=flags)
        part.has_unknown_spaces = doc.has_unknown_spaces
        yield part, start


def _write_group(doc: Doc, key: str, places: Sequence[Place], offset: int) -> None:
    """Write the entities of a document, or of the sentence that begins at `offset`."""
    if key in doc.spans and len(doc.spans[key]) == len(places):
        return  # an existing group that has lost nothing keeps its order and scores
    end = offset + len(doc)
    doc.spans[key] = [
        Span(doc, p.start - offset, p.end - offset, label=p.label, span_id=p.id)
        for p in places
        if offset <= p.start and p.end <= end
    ]


def _write_ents(doc: Doc, key: str, record: Record) -> List[Lost]:
    """Write the longest entities that do not overlap to `doc.ents`.

    RETURNS (List[Lost]): the others.
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
