"""The errors of a model, sentence by sentence, the most surprising first."""

from typing import Any, Dict, Iterable, List, Optional, Sequence

from spacy.training import Example

from .confusion import boundary_kind
from .excerpts import segments, sentence_bounds
from .matching import CORRECT, Match, match_reading
from .readings import Reading, SpanKey


def find_errors(
    examples: Sequence[Example],
    readings: Sequence[Reading],
    unfiltered: Optional[Sequence[Reading]] = None,
) -> List[Dict[str, Any]]:
    """List the sentences with errors.

    A wrong span surprises as much as the model was sure of it, a missed one as much as
    the model was sure that it is none; the surprise of a sentence is the sum.

    examples (Sequence[Example]): documents.
    readings (Sequence[Reading]): what was predicted for them.
    unfiltered (Optional[Sequence[Reading]]): the same with a low threshold: tells the
        scores of missed spans.
    RETURNS (List[Dict[str, Any]]): sentences as plain data: `doc` (its number),
        `start` (its first token), `words`, `spaces`, `spans`, `errors`, `surprise`.
    """
    found = []
    for number, (example, reading) in enumerate(zip(examples, readings)):
        hints = unfiltered[number].predicted if unfiltered is not None else {}
        matches = match_reading(reading)
        for start, end in segments(sentence_bounds(example), _all_spans(matches)):
            mine = [match for match in matches if _inside(match, start, end)]
            if any(match.kind != CORRECT for match in mine):
                item = _describe(example, reading, mine, hints, (start, end))
                found.append({"doc": number, "start": start, **item})
    return sorted(found, key=lambda item: (-item["surprise"], item["doc"]))


def _all_spans(matches: Iterable[Match]) -> List[SpanKey]:
    return [span for match in matches for span in match[:2] if span is not None]


def _inside(match: Match, start: int, end: int) -> bool:
    return any(start <= span[0] < end for span in match[:1] if span is not None) or (
        match.gold is None
        and match.predicted is not None
        and start <= match.predicted[0] < end
    )


def _describe(
    example: Example,
    reading: Reading,
    matches: Sequence[Match],
    hints: Dict[SpanKey, Optional[float]],
    bounds: tuple,
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a sentence with its spans and errors."""
    tokens = example.reference[slice(*bounds)]
    spans = []
    for match in matches:
        common = {"kind": match.kind}
        if match.gold is not None:
            score = reading.predicted.get(match.gold, hints.get(match.gold))
            spans.append(_span(match.gold, bounds, "gold", score, **common))
        if match.predicted is not None:
            score = reading.predicted[match.predicted]
            spans.append(_span(match.predicted, bounds, "predicted", score, **common))
    errors = [
        _explain(example, reading, match, hints)
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
    hints: Dict[SpanKey, Optional[float]],
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): an error as plain data, with its surprise."""
    doc = example.reference
    error: Dict[str, Any] = {"kind": match.kind, "gold": None, "predicted": None}
    error["boundary"] = None
    if match.gold is not None:
        start, end, label = match.gold
        error["gold"] = {"text": doc[start:end].text, "label": label}
        error["gold"]["score"] = hints.get(match.gold)
        surprise = 1.0 - (hints.get(match.gold) or 0.0)
    if match.predicted is not None:
        start, end, label = match.predicted
        score = reading.predicted[match.predicted]
        error["predicted"] = {"text": doc[start:end].text, "label": label}
        error["predicted"]["score"] = score
        surprise = 1.0 if score is None else score
    if match.gold is not None and match.predicted is not None:
        starts = match.predicted[0] - match.gold[0]
        ends = match.predicted[1] - match.gold[1]
        if starts or ends:
            error["boundary"] = boundary_kind(starts, ends)
    error["surprise"] = surprise
    return error
