"""Predicted spans that count neither as right nor as wrong, because the annotation is
incomplete where they are.
"""

from typing import Callable, Dict

from spacy.tokens import Doc

from ..pipeline.annotations import annotated_spans
from ..pipeline.marks import has_marks, marked_spans
from .counts import SpanKey


def judge_of(reference: Doc, key: str) -> Callable[[SpanKey], bool]:
    """Find out which predicted spans can be judged.

    reference (Doc): the annotated document.
    key (str): the span group.
    RETURNS (Callable): whether a span on the tokens of the reference counts: if it is
        annotated, known to be no entity, or outside of incomplete regions.
    """
    if not has_marks(reference, key):
        return lambda span: True
    regions, negative = marked_spans(reference, key)
    gold = annotated_spans(reference, key) or []
    known: Dict[SpanKey, None] = {
        (span.start, span.end, span.label_): None for span in [*gold, *negative]
    }

    def is_judged(span: SpanKey) -> bool:
        start, end, label = span
        if span in known or (start, end, "") in known:
            return True
        return not any(
            start < region.end and region.start < end and region.label_ in ("", label)
            for region in regions
        )

    return is_judged
