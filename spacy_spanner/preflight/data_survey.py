"""Count a corpus: sizes, labels, span lengths and overlaps."""

from collections import Counter
from itertools import islice
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Set

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..evaluation.counts import SpanKey, crossing_spans, nested_spans
from ..pipeline.annotations import spans_to_learn
from ..pipeline.marks import marked_spans

# Shorter sentences can be equal by chance.
MIN_LEAKING_TOKENS = 5
QUANTILES = (0.5, 0.9, 0.99, 1.0)
# Words to show of a sentence.
N_WORDS = 5


class SplitSurvey(NamedTuple):
    """Counts of one part of a corpus.

    n_docs, n_annotated, n_tokens, n_spans (int): sizes.
    labels (Dict[str, int]): number of spans by label.
    lengths (List[int]): number of tokens of each span.
    overlaps (Dict[str, int]): see `count_overlaps`.
    edges (int): number of spans that begin or end with punctuation.
    texts (Set[str]): texts of the documents and long sentences, to find leaks.
    doc_texts (List[str]): texts of the documents.
    n_incomplete (int): number of documents with regions that are marked as incomplete.
    n_negative (int): number of spans that are marked as no entities.
    """

    n_docs: int
    n_annotated: int
    n_tokens: int
    n_spans: int
    labels: Dict[str, int]
    lengths: List[int]
    overlaps: Dict[str, int]
    edges: int
    texts: Set[str]
    doc_texts: List[str]
    n_incomplete: int = 0
    n_negative: int = 0

    def as_dict(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): the counts as plain data."""
        lengths = {
            f"{share:.0%}": float(np.quantile(self.lengths, share))
            for share in (QUANTILES if self.lengths else ())
        }
        return {
            "documents": self.n_docs,
            "annotated": self.n_annotated,
            "tokens": self.n_tokens,
            "spans": self.n_spans,
            "labels": self.labels,
            "lengths": lengths,
            "overlaps": self.overlaps,
            "incomplete": self.n_incomplete,
            "not entities": self.n_negative,
        }


def survey_split(examples: Sequence[Example], key: str) -> SplitSurvey:
    """RETURNS (SplitSurvey): the counts of the documents of one part.

    key (str): see `annotations.spans_to_learn`.
    """
    labels: Counter = Counter()
    overlaps: Counter = Counter(flat=0, nested=0, crossing=0, same=0)
    lengths: List[int] = []
    n_annotated = n_incomplete = n_negative = edges = 0
    texts: Set[str] = set()
    for example in examples:
        doc = example.reference
        texts.update(_texts(doc))
        spans = spans_to_learn(doc, key)
        if spans is None:
            continue
        n_annotated += 1
        regions, negative = marked_spans(doc, key)
        n_incomplete += bool(regions)
        n_negative += len(negative)
        keys = {(span.start, span.end, span.label_) for span in spans}
        labels.update(label for _, _, label in keys)
        lengths += [end - start for start, end, _ in keys]
        overlaps.update(count_overlaps(keys))
        edges += sum(
            doc[start].is_punct or doc[end - 1].is_punct for start, end, _ in keys
        )
    return SplitSurvey(
        len(examples),
        n_annotated,
        sum(len(example.reference) for example in examples),
        len(lengths),
        dict(sorted(labels.items())),
        lengths,
        dict(overlaps),
        edges,
        texts,
        [normal_text(example.reference.text) for example in examples],
        n_incomplete,
        n_negative,
    )


def count_overlaps(spans: Set[SpanKey]) -> Dict[str, int]:
    """Count how the spans of a document overlap.

    RETURNS (Dict[str, int]): number of spans that are "flat" (share no token with
        another span) or "nested" (share one), and among the nested those that are
        "crossing" (overlap another span and neither contains the other) or have the
        "same" boundaries as another span.
    """
    nested = nested_spans(spans)
    boundaries = Counter(span[:2] for span in nested)
    return {
        "flat": len(spans) - len(nested),
        "nested": len(nested),
        "crossing": len(crossing_spans(nested)),
        "same": sum(boundaries[span[:2]] > 1 for span in nested),
    }


def _texts(doc: Doc) -> Iterable[str]:
    """YIELDS (str): the text of the document and of its long sentences."""
    yield normal_text(doc.text)
    if doc.has_annotation("SENT_START"):
        for sentence in doc.sents:
            if len(sentence) >= MIN_LEAKING_TOKENS:
                yield normal_text(sentence.text)


def normal_text(text: str) -> str:
    """RETURNS (str): the text in lower case with single spaces."""
    return " ".join(text.casefold().split())


def cut_sentences(examples: Iterable[Example]) -> List[str]:
    """Find documents of one sentence whose predicted document has several.

    RETURNS (List[str]): the first words of the second sentence of each.
    """
    found = []
    for reference, predicted in ((eg.reference, eg.predicted) for eg in examples):
        known = all(doc.has_annotation("SENT_START") for doc in (reference, predicted))
        if known and len(list(islice(reference.sents, 2))) == 1:
            further = islice(predicted.sents, 1, 2)
            found += [sent[:N_WORDS].text for sent in further]
    return found


def shared_texts(one: SplitSurvey, other: SplitSurvey) -> List[str]:
    """RETURNS (List[str]): documents and sentences that occur in both parts."""
    return sorted(filter(None, one.texts & other.texts))
