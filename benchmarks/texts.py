"""What is read in the benchmarks: the sentences of a corpus, short ones, documents."""

from itertools import chain, cycle, islice
from typing import Iterator, List, Sequence

from common import SPANS_KEY
from spacy.tokens import Doc, Span

TEXTS = ("sentences", "short", "documents")
SHORT_SENTENCE = 12
LONG_DOCUMENT = 1_000


def choose_texts(docs: Sequence[Doc], kind: str, n_words: int) -> List[Doc]:
    """Take texts of a kind, from the beginning on, until there are enough words.

    docs (Sequence[Doc]): annotated documents of one sentence each.
    kind (str): "sentences"; "short" for those of up to 12 tokens; "documents" for
        documents of about 1,000 tokens, with no sentence boundaries.
    n_words (int): about how many words to take.
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
    """Yield documents of consecutive sentences."""
    group: List[Doc] = []
    for doc in docs:
        group.append(doc)
        if sum(map(len, group)) >= LONG_DOCUMENT:
            yield join_docs(group)
            group = []
    if group:
        yield join_docs(group)


def join_docs(docs: Sequence[Doc]) -> Doc:
    """RETURNS (Doc): the tokens and spans of all, without sentence boundaries."""
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
    """RETURNS (Doc): the same tokens and nothing else."""
    return Doc(doc.vocab, words=[token.text for token in doc])


def long_words(docs: Sequence[Doc], n_tokens: int) -> List[str]:
    """RETURNS (List[str]): the words of a text of that length; it may repeat itself."""
    words = chain.from_iterable(doc for doc in cycle(docs))
    return [token.text for token in islice(words, n_tokens)]


def relabel(docs: Sequence[Doc], n_labels: int) -> None:
    """Give the spans of documents that many labels in turns."""
    number = 0
    for doc in docs:
        spans = []
        for span in doc.spans[SPANS_KEY]:
            spans.append(Span(doc, span.start, span.end, label=f"L{number % n_labels}"))
            number += 1
        doc.spans[SPANS_KEY] = spans
