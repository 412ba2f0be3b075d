"""Existing `.spacy` files: `doc.ents` become spans, other annotation is kept."""

import os
import zlib
from itertools import zip_longest
from numbers import Real
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

from spacy.lang.lex_attrs import LEX_ATTRS
from spacy.tokens import Doc, DocBin, Span, SpanGroup
from spacy.vocab import Vocab

from ...errors import Errors
from ...evaluation.tables import amount
from ...pipeline.annotations import annotated_spans, mark_if_unannotated
from ...pipeline.marks import INCOMPLETE, NOT
from ...pipeline.soft_labels import SOFT
from ...pipeline.span_scores import scores_of
from ..options import ReadOptions
from ..records import Lost, Mention, Note, Record

BLOCK = 2**20
# Zeros take 1,000 times the bytes of their file.
LARGEST_RATIO = 200
ANY_SIZE = 2**28


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file.

    options (ReadOptions): uses `from_key` and `spans_key`.
    note (Note): called with the number of documents without both.
    YIELDS (Record): documents, with the number of the document as line.
    RAISES (ValueError): SP056 if spaCy did not write the file, SP087 if no document has
        the group to read.
    """
    missing = number = 0
    groups: Set[str] = set()
    # Sentence boundaries by rules need `is_punct`, which a bare vocabulary lacks.
    vocab = Vocab(lex_attr_getters=LEX_ATTRS)
    for number, doc in enumerate(load_docs(path, vocab), start=1):
        groups.update(doc.spans)
        if options.from_key:
            spans = _take_group(doc, options.from_key, options.spans_key)
        else:
            mark_if_unannotated(doc, options.spans_key)
            spans = annotated_spans(doc, options.spans_key)
        if spans is None:
            missing += 1
            yield Record(path.name, number, None, doc=doc)
            continue
        scores = _scores(doc, spans, options.spans_key)
        mentions = [
            Mention(span.start, span.end, span.label_, number, score=score)
            for span, score in zip(spans, scores)
            if span.label
        ]
        lost = [
            Lost(path.name, number, span.text, "", "without a label")
            for span in spans
            if not span.label
        ]
        yield Record(path.name, number, mentions, lost=lost, doc=doc)
    if options.from_key and 0 < missing == number:
        raise ValueError(_no_such_group(path, options.from_key, groups))
    if missing:
        without = amount(missing, "document has", "documents have")
        note(f"{path.name}: {without} neither spans nor entities")


def _no_such_group(path: Path, key: str, existing: Set[str]) -> str:
    """RETURNS (str): the message of SP087."""
    names = ", ".join(sorted(existing)) or "none"
    return Errors.SP087.format(source=path.name, key=key, existing=names)


def _take_group(doc: Doc, source: str, key: str) -> Optional[List[Span]]:
    """Replace a span group by a copy of another one, with what is marked about it.

    RETURNS (Optional[List[Span]]): the spans; None if there is nothing to copy.
    """
    for ending in (INCOMPLETE, NOT, SOFT):
        _copy_group(doc, source + ending, key + ending)
    return _copy_group(doc, source, key)


def _copy_group(doc: Doc, source: str, key: str) -> Optional[List[Span]]:
    if source not in doc.spans:
        doc.spans.pop(key, None)
        return None
    spans, attrs = list(doc.spans[source]), dict(doc.spans[source].attrs)
    doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)
    return spans


def _scores(doc: Doc, spans: Sequence[Span], key: str) -> Iterator[Optional[float]]:
    """YIELDS (Optional[float]): the score of each span in its group, or `span._.score`,
    where gliner-spacy writes it; None if unknown.
    """
    known = scores_of(doc, key)
    for span, score in zip_longest(spans, known):
        if score is None:
            place = span.start_char, span.end_char
            data: Dict[Any, Any] = doc.user_data
            score = data.get(("._.", "score", *place))
        yield float(score) if isinstance(score, Real) else None


def load_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """YIELDS (Doc): the documents of a file.

    RAISES (ValueError): SP056 if spaCy did not write the file.
    """
    docs: Iterator[Doc] = iter(())
    number = 0
    while True:
        try:
            if not number:
                require_size(path)
                docs = DocBin().from_disk(path).get_docs(vocab)
            number += 1
            doc = next(docs)
        except StopIteration:
            return
        except Exception as error:
            # Decompressing, unpacking and building documents fail in many ways.
            problem = f"{type(error).__name__}: {error}"
            message = Errors.SP056.format(
                source=path.name, number=max(number, 1), problem=problem
            )
            raise ValueError(message) from None
        yield doc


def require_size(path: Path) -> None:
    """Find out how large a file is uncompressed, without keeping it in memory.

    RAISES (ValueError): if it is huge although the file is small, which no documents
        are.
    """
    with path.open("rb") as file:
        limit = max(os.fstat(file.fileno()).st_size * LARGEST_RATIO, ANY_SIZE)
        expand, size = zlib.decompressobj(), 0
        while block := expand.unconsumed_tail or file.read(BLOCK):
            size += len(expand.decompress(block, BLOCK))
            if size > limit:
                raise ValueError(f"it expands to more than {limit:,} bytes")
