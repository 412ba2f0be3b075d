"""Reading which annotation is incomplete, and which spans are known to be no entities.

`doc.spans["ents:incomplete"]` has regions, `doc.spans["ents:not"]` has spans, where
"ents" is the key of the entities. A span without a label concerns every label.
"""

from typing import Dict, List, Sequence, Tuple

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..spans.missing import EVERY_LABEL, Marks
from ..spans.table import SpanTable
from .alignment import touched_in_predicted
from .soft_labels import has_soft_labels

INCOMPLETE, NOT = ":incomplete", ":not"


def has_marks(doc: Doc, key: str) -> bool:
    """RETURNS (bool): whether a document has regions or spans of these groups."""
    return key + INCOMPLETE in doc.spans or key + NOT in doc.spans


def marked_spans(doc: Doc, key: str) -> Tuple[List[Span], List[Span]]:
    """RETURNS (Tuple[List[Span], List[Span]]): the incomplete regions, and the spans
    that are no entities. A document with these groups, but without annotation under the
    key or in `doc.ents`, is incomplete as a whole.
    """
    regions = [span for span in doc.spans.get(key + INCOMPLETE, ()) if len(span)]
    negative = [span for span in doc.spans.get(key + NOT, ()) if len(span)]
    if has_only_marks(doc, key):
        regions = [doc[:]]
    return regions, negative


def has_only_marks(doc: Doc, key: str) -> bool:
    """RETURNS (bool): whether marks are all that is known about a document."""
    annotated = key in doc.spans or doc.has_annotation("ENT_IOB")
    annotated = annotated or has_soft_labels(doc, key)
    return bool(len(doc)) and not annotated and has_marks(doc, key)


def read_marks(
    example: Example, key: str, label_ids: Dict[str, int], rate: float
) -> Marks:
    """Move the marks of a reference onto the predicted tokens.

    label_ids (Dict[str, int]): ids of the labels; marks of others are left out.
    rate (float): the share of entities that are missing in incomplete regions.
    RETURNS (Marks): what the reference says besides its entities.
    """
    if not has_marks(example.reference, key):
        return Marks.none()
    regions, negative = marked_spans(example.reference, key)
    return Marks(
        _table(example, regions, label_ids, rate),
        _table(example, negative, label_ids, 1.0),
    )


def _table(
    example: Example, spans: Sequence[Span], label_ids: Dict[str, int], score: float
) -> SpanTable:
    """RETURNS (SpanTable): the spans on the predicted tokens that they touch."""
    ids = {"": EVERY_LABEL, **label_ids}
    known = [span for span in spans if span.label_ in ids]
    rows = [
        (*place, ids[span.label_], score)
        for span, place in zip(known, touched_in_predicted(example, known))
        if place is not None
    ]
    return SpanTable.of(rows)
