"""List the sentences with errors, the most surprising first."""

from itertools import pairwise
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from spacy.tokens import Doc
from spacy.training import Example

from .confusion import boundary_kind
from .matching import CORRECT, Match, match_reading
from .readings import Reading, SpanKey

# Maximum number of tokens shown at once, if sentences are long or unknown.
MAX_SEGMENT = 60


def find_errors(
    examples: Sequence[Example],
    readings: Sequence[Reading],
    unfiltered: Optional[Sequence[Reading]] = None,
) -> List[Dict[str, Any]]:
    """List the sentences with errors.

    The surprise of a wrong span is its score, that of a missed span 1 minus its score.
    The surprise of a sentence is the sum.

    examples (Sequence[Example]): documents.
    readings (Sequence[Reading]): gold and predicted spans of the documents.
    unfiltered (Optional[Sequence[Reading]]): the same with a low threshold, for the
        scores of missed spans.
    RETURNS (List[Dict[str, Any]]): sentences as plain data: `doc` (its number),
        `start` (its first token), `words`, `spaces`, `spans`, `errors`, `surprise`.
    """
    found = []
    for number, (example, reading) in enumerate(zip(examples, readings)):
        low_scores = unfiltered[number].predicted if unfiltered is not None else {}
        matches = match_reading(reading)
        for start, end in segments(sentence_bounds(example), _all_spans(matches)):
            mine = [match for match in matches if _inside(match, start, end)]
            if any(match.kind != CORRECT for match in mine):
                item = _describe(example, reading, mine, low_scores, (start, end))
                found.append({"doc": number, "start": start, **item})
    return sorted(found, key=lambda item: (-item["surprise"], item["doc"]))


def _all_spans(matches: Iterable[Match]) -> List[SpanKey]:
    return [span for match in matches for span in match[:2] if span is not None]


def _inside(match: Match, start: int, end: int) -> bool:
    """RETURNS (bool): whether the gold span, or else the predicted one, is inside."""
    span = match.gold or match.predicted
    return span is not None and start <= span[0] < end


def _describe(
    example: Example,
    reading: Reading,
    matches: Sequence[Match],
    low_scores: Dict[SpanKey, Optional[float]],
    bounds: tuple,
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a sentence with its spans and errors."""
    tokens = example.reference[slice(*bounds)]
    spans = []
    for match in matches:
        common = {"kind": match.kind}
        if match.gold is not None:
            score = reading.predicted.get(match.gold, low_scores.get(match.gold))
            spans.append(_span(match.gold, bounds, "gold", score, **common))
        if match.predicted is not None:
            score = reading.predicted[match.predicted]
            spans.append(_span(match.predicted, bounds, "predicted", score, **common))
    errors = [
        _explain(example, reading, match, low_scores)
        for match in matches
        if match.kind != CORRECT
    ]
    return {
        "words": [token.text for token in tokens],
        "spaces": [bool(token.whitespace_) for token in tokens],
        "spans": spans,
        "errors": errors,
        "surprise": sum(error["surprise"] for error in errors),
    }


def _span(
    span: SpanKey, bounds: tuple, side: str, score: Optional[float], kind: str
) -> Dict[str, Any]:
    start, end, label = span
    place = {"start": start - bounds[0], "end": end - bounds[0], "label": label}
    return {**place, "side": side, "score": score, "kind": kind}


def _explain(
    example: Example,
    reading: Reading,
    match: Match,
    low_scores: Dict[SpanKey, Optional[float]],
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): an error as plain data, with its surprise."""
    doc = example.reference
    error: Dict[str, Any] = {"kind": match.kind, "gold": None, "predicted": None}
    error["boundary"] = None
    if match.gold is not None:
        start, end, label = match.gold
        score = low_scores.get(match.gold)
        error["gold"] = {"text": doc[start:end].text, "label": label, "score": score}
        surprise = 1.0 - (score or 0.0)
    if match.predicted is not None:
        start, end, label = match.predicted
        score, text = reading.predicted[match.predicted], doc[start:end].text
        error["predicted"] = {"text": text, "label": label, "score": score}
        surprise = 1.0 if score is None else score
    if match.gold is not None and match.predicted is not None:
        starts = match.predicted[0] - match.gold[0]
        ends = match.predicted[1] - match.gold[1]
        if starts or ends:
            error["boundary"] = boundary_kind(starts, ends)
    error["surprise"] = surprise
    return error


def sentence_bounds(example: Example) -> List[int]:
    """Find the sentence boundaries on the tokens of the reference.

    example (Example): boundaries of the reference are preferred to predicted ones.
    RETURNS (List[int]): starts of sentences, followed by the number of tokens.
    """
    doc = example.reference
    starts = {0, len(doc)}
    if doc.has_annotation("SENT_START"):
        starts.update(sent.start for sent in doc.sents)
    elif example.predicted.has_annotation("SENT_START"):
        starts.update(_aligned_starts(example.predicted, doc))
    return sorted(starts)


def _aligned_starts(predicted: Doc, reference: Doc) -> Iterable[int]:
    """RETURNS (Iterable[int]): predicted starts of sentences, on reference tokens."""
    offsets = {predicted[sent.start].idx for sent in predicted.sents}
    return [token.i for token in reference if token.idx in offsets]


def segments(bounds: List[int], spans: Iterable[SpanKey]) -> List[Tuple[int, int]]:
    """Split a document without splitting any span.

    bounds (List[int]): starts of sentences, and the end of the document.
    spans (Iterable[SpanKey]): gold and predicted spans.
    RETURNS (List[Tuple[int, int]]): start and end of each segment.
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
