"""Move spans between the tokens of the two documents of an example.

The results are those of spaCy's `Example.get_aligned_spans_x2y` and
`get_aligned_spans_y2x` for one span at a time. Each call of these reads both documents,
and one call for all spans does not tell which of them were left out. Here, the
alignment is read once.
"""

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

Place = Tuple[int, int]  # start, and exclusive end


def on_predicted(example: Example, spans: Sequence[Span]) -> List[Optional[Place]]:
    """Find spans of the reference on the predicted tokens.

    RETURNS (List[Optional[Place]]): in the order of the spans; None for one that is
        empty or has a boundary inside a token.
    """
    if not spans or _same_tokens(example):
        return list(map(_own_place, spans))
    doc, tokens = example.predicted, example.alignment.y2x
    return [_aligned(span, doc, tokens) for span in spans]


def on_reference(example: Example, spans: Sequence[Span]) -> List[Optional[Place]]:
    """Find predicted spans on the tokens of the reference.

    RETURNS (List[Optional[Place]]): see `on_predicted`.
    """
    if not spans or _same_tokens(example):
        return list(map(_own_place, spans))
    doc, tokens = example.reference, example.alignment.x2y
    return [_aligned(span, doc, tokens) for span in spans]


def touched_in_predicted(
    example: Example, spans: Sequence[Span]
) -> List[Optional[Place]]:
    """Find the predicted tokens that spans of the reference touch.

    RETURNS (List[Optional[Place]]): in the order of the spans; None for one that
        touches no token.
    """
    if not spans or _same_tokens(example):
        return list(map(_own_place, spans))
    tokens = example.alignment.y2x
    return [_hull(tokens[span.start : span.end]) for span in spans]


def _same_tokens(example: Example) -> bool:
    """Spare the alignment, which costs more than the rest of reading gold."""
    predicted, reference = example.predicted, example.reference
    return len(predicted) == len(reference) and bool(
        np.array_equal(
            predicted.to_array(["ORTH", "SPACY"]), reference.to_array(["ORTH", "SPACY"])
        )
    )


def _own_place(span: Span) -> Optional[Place]:
    return (span.start, span.end) if len(span) else None


def _aligned(span: Span, doc: Doc, tokens: Any) -> Optional[Place]:
    """Find the same text on the tokens of another document.

    tokens (AlignmentArray): the tokens of the other document, by those of the span's.
    """
    place = _hull(tokens[span.start : span.end])
    if place is None or _letters(doc[slice(*place)]) != _letters(span):
        return None
    return place


def _hull(tokens: Any) -> Optional[Place]:
    """RETURNS (Optional[Place]): the ascending tokens, and all between them."""
    return (int(tokens[0]), int(tokens[-1]) + 1) if len(tokens) else None


def _letters(span: Span) -> str:
    """RETURNS (str): the text of a span, as spaCy compares it."""
    return span.text.lower().strip().replace(" ", "")
