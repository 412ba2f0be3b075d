"""Pieces of documents that errors are shown in: sentences, or what is near a span."""

from itertools import pairwise
from typing import Iterable, List, Tuple

from spacy.tokens import Doc
from spacy.training import Example

from .readings import SpanKey

# Without sentence boundaries, or in very long sentences: tokens shown at once.
MAX_SEGMENT = 60


def sentence_bounds(example: Example) -> List[int]:
    """Find where sentences start, on the tokens of the reference.

    example (Example): boundaries of the reference are preferred to predicted ones.
    RETURNS (List[int]): starts, with 0 first and the number of tokens last.
    """
    doc = example.reference
    starts = {0, len(doc)}
    if doc.has_annotation("SENT_START"):
        starts.update(sent.start for sent in doc.sents)
    elif example.predicted.has_annotation("SENT_START"):
        starts.update(_moved_starts(example.predicted, doc))
    return sorted(starts)


def _moved_starts(predicted: Doc, reference: Doc) -> Iterable[int]:
    """RETURNS (Iterable[int]): sentence starts of another tokenisation of the text."""
    offsets = {predicted[sent.start].idx for sent in predicted.sents}
    return [token.i for token in reference if token.idx in offsets]


def segments(bounds: List[int], spans: Iterable[SpanKey]) -> List[Tuple[int, int]]:
    """Cut a document so that no span is cut.

    bounds (List[int]): starts of sentences, and the end of the document.
    spans (Iterable[SpanKey]): gold and predicted spans.
    RETURNS (List[Tuple[int, int]]): start and end of each piece.
    """
    inside = {position for start, end, _ in spans for position in range(start + 1, end)}
    kept = [bound for bound in bounds if bound not in inside]
    pieces = []
    for start, end in pairwise(kept):
        while end - start > MAX_SEGMENT:
            cut = start + MAX_SEGMENT
            while cut in inside and cut < end:
                cut += 1
            pieces.append((start, cut))
            start = cut
        if start < end:
            pieces.append((start, end))
    return pieces
