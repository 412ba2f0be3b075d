"""Sentences of documents: their boundaries, and splitting documents into them."""

import re
from bisect import bisect_left, bisect_right
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

import numpy as np
from spacy.attrs import LENGTH, SPACY
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, DocBin, Span, SpanGroup

from ..encoders.surroundings import NEIGHBOURS, set_neighbours
from ..pipeline.marks import INCOMPLETE
from .records import CROSSING, Lost, Record

_LINE = re.compile(r"^(?=.*\S)", flags=re.MULTILINE)


class Part(NamedTuple):
    """A sentence or a whole document, and its offset in the whole document."""

    doc: Doc
    offset: int

    def holds(self, start: int, end: int) -> bool:
        """RETURNS (bool): whether it contains tokens of the whole document."""
        return self.offset <= start and end <= self.offset + len(self.doc)

    def cut(self, span: Span) -> Span:
        """RETURNS (Span): what it contains of a span; the span itself if nothing."""
        start = max(span.start, self.offset)
        end = min(span.end, self.offset + len(self.doc))
        if start >= end or (start, end) == (span.start, span.end):
            return span
        names: Any = {"label": span.label, "kb_id": span.kb_id, "span_id": span.id}
        return Span(span.doc, start, end, **names)


def split_words(doc: Doc, starts: Sequence[int]) -> Iterator[Part]:
    """YIELDS (Part): the sentences of a document without annotation.

    starts (Sequence[int]): first tokens of the sentences.
    """
    for start, end in zip(starts, [*starts[1:], len(doc)]):
        tokens = doc[start:end]
        words = [token.text for token in tokens]
        spaces = [bool(token.whitespace_) for token in tokens]
        flags: List[Union[bool, int, None]] = [True, *[False] * (len(words) - 1)]
        part = Doc(doc.vocab, words=words, spaces=spaces, sent_starts=flags)
        part.has_unknown_spaces = doc.has_unknown_spaces
        yield Part(part, start)


def split_annotated(doc: Doc, starts: Sequence[int], without: str) -> Iterator[Part]:
    """Split a document with all its annotation.

    Each sentence gets the categories and other data of the whole document.

    starts (Sequence[int]): first tokens of the sentences.
    without (str): a span group to leave out.
    YIELDS (Part): the sentences.
    """
    # spaCy's hints lack the arguments that avoid an array per sentence.
    head: Any = [LENGTH, SPACY, *DocBin().attrs]  # all of the tokens
    array = doc.to_array(head)
    for start, end in zip(starts, [*starts[1:], len(doc)]):
        sentence: Any = doc[start:end]
        found = sentence.as_doc(copy_user_data=True, array_head=head, array=array)
        part = Part(found, start)
        set_sentence_starts(found, [0])
        found.has_unknown_spaces = doc.has_unknown_spaces
        found.cats = dict(doc.cats)
        found.user_data = _own_data(found)
        for key, group in doc.spans.items():
            if key != without:
                is_marked = key.endswith(INCOMPLETE)  # in every sentence it touches
                spans = [part.cut(s) if is_marked else s for s in group]
                rows = enumerate(spans)
                chosen = [index for index, s in rows if part.holds(s.start, s.end)]
                copy_spans(spans, group.attrs, chosen, part, key)
        yield part


def keep_neighbours(parts: Iterable[Part], context: int) -> Iterator[Part]:
    """Store the sentences around each sentence with it.

    parts (Iterable[Part]): the sentences of a document.
    context (int): number of sentences on each side, at least 1.
    YIELDS (Part): the sentences.
    """
    found = list(parts)
    words = [[token.text for token in part.doc] for part in found]
    for index, part in enumerate(found):
        before = words[max(index - context, 0) : index]
        set_neighbours(part.doc, before, words[index + 1 : index + 1 + context])
        yield part


def _own_data(doc: Doc) -> Dict[Any, Any]:
    """RETURNS (Dict[Any, Any]): the user data of a sentence, without that of tokens and
    spans of other sentences, and without the neighbours of the whole document.
    """

    def is_own(key: Any) -> bool:
        if key == NEIGHBOURS:
            return False
        if not (isinstance(key, tuple) and len(key) == 4 and key[0] == "._."):
            return True
        start, end = key[2:]
        if start is None:
            return True
        return 0 <= start < max(len(doc.text), 1) and (end or 0) <= len(doc.text)

    return {key: value for key, value in doc.user_data.items() if is_own(key)}


def set_sentence_starts(doc: Doc, starts: Sequence[int]) -> None:
    """Make exactly these tokens the first of sentences."""
    flags = np.full(len(doc), -1, dtype=np.int64)
    flags[list(starts)] = 1
    attrs: Any = ["SENT_START"]
    values: Any = flags.astype(np.uint64)  # spaCy's hint wants a column for each
    doc.from_array(attrs, values)


def copy_spans(
    spans: Sequence[Span], attrs: Dict[str, Any], chosen: List[int], to: Part, key: str
) -> None:
    """Copy spans of the whole document to a part, with their ids and scores.

    spans (Sequence[Span]): spans of the whole document.
    attrs (Dict[str, Any]): attributes of their group; there may be fewer `scores` than
        spans.
    chosen (List[int]): indices of the spans to copy.
    to (Part): the part.
    key (str): key of the group.
    """
    attrs = dict(attrs)
    scores = attrs.get("scores")
    if scores is not None:
        kept = [scores[index] for index in chosen if index < len(scores)]
        is_array = isinstance(scores, np.ndarray)
        attrs["scores"] = np.asarray(kept, scores.dtype) if is_array else kept
    written = []
    for span in (spans[index] for index in chosen):
        start, end = span.start - to.offset, span.end - to.offset
        names: Any = {"label": span.label, "kb_id": span.kb_id, "span_id": span.id}
        written.append(Span(to.doc, start, end, **names))
    to.doc.spans[key] = SpanGroup(to.doc, name=key, attrs=attrs, spans=written)


def lost_by_splitting(
    record: Record, starts: Sequence[int], without: str
) -> Iterator[Lost]:
    """List the spans that cross a sentence boundary.

    record (Record): the record of an existing document.
    starts (Sequence[int]): first tokens of the sentences.
    without (str): the span group to leave out; if it is missing, `doc.ents` are left
        out instead.
    YIELDS (Lost): spans of other groups, and entities of `doc.ents`. Incomplete regions
        are cut instead.
    """
    groups = record.doc.spans.items()
    others: Dict[str, Iterable[Span]] = {
        key: spans for key, spans in groups if not key.endswith(INCOMPLETE)
    }
    if without in others:
        others[without] = record.doc.ents
    for spans in others.values():
        for span in spans:
            if crosses(span.start, span.end, starts):
                text, label = span.text, span.label_
                yield Lost(record.source, record.line, text, label, CROSSING)


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
    if choice == "one":
        return [0]
    if choice == "lines":
        return _tokens_at(doc, [match.start() for match in _LINE.finditer(doc.text)])
    starts = record.sentence_starts
    if starts is not None and record.text is not None:
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


def crosses(start: int, end: int, sentences: Sequence[int]) -> bool:
    """RETURNS (bool): whether a span crosses the start of a sentence."""
    return bisect_right(sentences, start) != bisect_right(sentences, end - 1)
