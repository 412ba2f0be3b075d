"""The texts of the benchmarks: sentences, short sentences and long documents."""

from itertools import chain, cycle, islice
from typing import Callable, Iterator, List, Sequence

from common import SPANS_KEY
from spacy.tokens import Doc, Span

TEXTS = ("sentences", "short", "documents")
SHORT_SENTENCE = 12
LONG_DOCUMENT = 1_000


def choose_texts(docs: Sequence[Doc], kind: str, n_words: int) -> List[Doc]:
    """Take the first texts of a kind, until there are enough words.

    docs (Sequence[Doc]): annotated documents of one sentence each.
    kind (str): "sentences"; "short" for sentences of up to 12 tokens; "documents" for
        documents of about 1,000 tokens without sentence boundaries.
    n_words (int): approximate number of words to take.
    RETURNS (List[Doc]): annotated documents.
    """
    if kind == "short":
        docs = [doc for doc in docs if len(doc) <= SHORT_SENTENCE]
    if kind == "documents":
        docs = list(_join(docs))
    chosen: List[Doc] = []
    for doc in docs:
        if sum(map(len, chosen)) >= n_words:
            break
        chosen.append(doc)
    return chosen


def _join(docs: Sequence[Doc]) -> Iterator[Doc]:
    """Yield documents made of consecutive sentences."""
    group: List[Doc] = []
    for doc in docs:
        group.append(doc)
        if sum(map(len, group)) >= LONG_DOCUMENT:
            yield join_docs(group)
            group = []
    if group:
        yield join_docs(group)


def join_docs(docs: Sequence[Doc]) -> Doc:
    """RETURNS (Doc): the joined tokens and spans, without sentence boundaries."""
    words = [token.text for doc in docs for token in doc]
    joined = Doc(docs[0].vocab, words=words)
    spans, offset = [], 0
    for doc in docs:
        for span in doc.spans[SPANS_KEY]:
            bounds = span.start + offset, span.end + offset
            spans.append(Span(joined, *bounds, label=span.label_))
        offset += len(doc)
    joined.spans[SPANS_KEY] = spans
    return joined


def bare(doc: Doc) -> Doc:
    """RETURNS (Doc): the same tokens without annotation."""
    return Doc(doc.vocab, words=[token.text for token in doc])


def keep_spans(doc: Doc, wanted: Callable[[Span], bool]) -> Doc:
    """RETURNS (Doc): a copy with only these spans, of which each is asked for once."""
    copy = doc.copy()
    copy.spans[SPANS_KEY] = [
        Span(copy, span.start, span.end, label=span.label_)
        for span in doc.spans[SPANS_KEY]
        if wanted(span)
    ]
    return copy


def long_words(docs: Sequence[Doc], n_tokens: int) -> List[str]:
    """RETURNS (List[str]): the words of a text of that length, repeating if needed."""
    words = chain.from_iterable(doc for doc in cycle(docs))
    return [token.text for token in islice(words, n_tokens)]


def relabel(docs: Sequence[Doc], n_labels: int) -> None:
    """Assign that many labels to the spans of documents in turn."""
    number = 0
    for doc in docs:
        spans = []
        for span in doc.spans[SPANS_KEY]:
            spans.append(Span(doc, span.start, span.end, label=f"L{number % n_labels}"))
            number += 1
        doc.spans[SPANS_KEY] = spans
