"""Analyse errors: confused labels, wrong boundaries, and the sentences they are in."""

from collections import Counter
from itertools import pairwise
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np
from spacy.training import Example

from .counts import Reading, SpanKey
from .matching import CORRECT, Match, match_reading

NONE = "(none)"
BOUNDARY_KINDS = {
    "longer": "the predicted span contains the gold span",
    "shorter": "the predicted span lies inside the gold span",
    "shifted": "the spans cross",
}
# Larger offsets are clipped to this one.
MAX_OFFSET = 3
# Maximum number of tokens shown at once, if sentences are long or unknown.
MAX_SEGMENT = 60


def label_confusion(matches: Iterable[Match]) -> Dict[str, Any]:
    """Compute the confusion matrix of labels.

    RETURNS (Dict[str, Any]): `labels`, and `counts` with gold labels as rows and
        predicted labels as columns. The last row and column, "(none)", count spurious
        and missed spans.
    """
    pairs = Counter(
        tuple(NONE if span is None else span[2] for span in match[:2])
        for match in matches
    )
    labels = sorted({label for pair in pairs for label in pair} - {NONE})
    labels.append(NONE)
    counts = [[pairs[gold, predicted] for predicted in labels] for gold in labels]
    return {"labels": labels, "counts": counts}


def frequent_confusions(confusion: Dict[str, Any], limit: int) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): the most frequent confusions of `label_confusion`
    (`gold`, `predicted`, `spans`), without missed and spurious spans.
    """
    labels = confusion["labels"][:-1]
    rows = [
        {"gold": gold, "predicted": predicted, "spans": confusion["counts"][i][j]}
        for i, gold in enumerate(labels)
        for j, predicted in enumerate(labels)
        if i != j and confusion["counts"][i][j]
    ]
    return sorted(rows, key=lambda row: -row["spans"])[:limit]


def boundary_errors(matches: Iterable[Match]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): number of wrong boundaries, by kind of error."""
    wrong = [offsets for offsets in _offsets(matches) if any(offsets)]
    counts = Counter(boundary_kind(*offsets) for offsets in wrong)
    return {kind: counts[kind] for kind in BOUNDARY_KINDS}


def boundary_kind(start: int, end: int) -> str:
    """RETURNS (str): one of `BOUNDARY_KINDS`, by the offsets of the predicted span from
    the gold span.
    """
    if start <= 0 and end >= 0:
        return "longer"
    return "shorter" if start >= 0 and end <= 0 else "shifted"


def offset_table(matches: Iterable[Match], limit: int = MAX_OFFSET) -> Dict[str, Any]:
    """Count the offsets of the boundaries of overlapping spans.

    limit (int): larger offsets are clipped to this one.
    RETURNS (Dict[str, Any]): `offsets`, from -limit to limit, and `counts` with offsets
        of the start as rows and of the end as columns. An offset is the predicted
        boundary minus the gold one.
    """
    offsets = list(range(-limit, limit + 1))
    counts = np.zeros((len(offsets), len(offsets)), dtype=int)
    for start, end in np.clip(_offsets(matches), -limit, limit):
        counts[start + limit, end + limit] += 1
    return {"offsets": offsets, "counts": counts.tolist()}


def _offsets(matches: Iterable[Match]) -> List[Tuple[int, int]]:
    return [
        (predicted[0] - gold[0], predicted[1] - gold[1])
        for gold, predicted, _ in matches
        if gold is not None and predicted is not None
    ]


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
        spans = [span for match in matches for span in match[:2] if span is not None]
        for start, end in segments(sentence_bounds(example), spans):
            mine = [match for match in matches if _inside(match, start, end)]
            if any(match.kind != CORRECT for match in mine):
                item = _describe(example, reading, mine, low_scores, (start, end))
                found.append({"doc": number, "start": start, **item})
    return sorted(found, key=lambda item: (-item["surprise"], item["doc"]))


def _inside(match: Match, start: int, end: int) -> bool:
    """RETURNS (bool): whether the gold span, or else the predicted one, is inside."""
    span = match.gold or match.predicted
    return span is not None and start <= span[0] < end


def _describe(
    example: Example,
    reading: Reading,
    matches: Sequence[Match],
    low_scores: Dict[SpanKey, Optional[float]],
    bounds: Tuple[int, int],
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a sentence with its spans and errors."""
    tokens = example.reference[slice(*bounds)]
    spans = []
    for gold, predicted, kind in matches:
        if gold is not None:
            score = reading.predicted.get(gold, low_scores.get(gold))
            spans.append(describe_span(gold, bounds[0], "gold", score, kind))
        if predicted is not None:
            score = reading.predicted[predicted]
            spans.append(describe_span(predicted, bounds[0], "predicted", score, kind))
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


def describe_span(
    span: SpanKey, offset: int, side: str, score: Optional[float], kind: str
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a span of a sentence that begins at `offset`, for
    `report.displacy`.
    """
    start, end, label = span
    place = {"start": start - offset, "end": end - offset, "label": label}
    return {**place, "side": side, "score": score, "kind": kind}


def _explain(
    example: Example,
    reading: Reading,
    match: Match,
    low_scores: Dict[SpanKey, Optional[float]],
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): an error as plain data, with its surprise."""
    error: Dict[str, Any] = {"kind": match.kind}
    scores = {"gold": low_scores, "predicted": reading.predicted}
    for side, span in zip(scores, match[:2]):
        error[side] = None
        if span is not None:
            start, end, label = span
            text, score = example.reference[start:end].text, scores[side].get(span)
            error[side] = {"text": text, "label": label, "score": score}
    moved = [offsets for offsets in _offsets([match]) if any(offsets)]
    error["boundary"] = boundary_kind(*moved[0]) if moved else None
    if error["predicted"] is None:
        error["surprise"] = 1.0 - (error["gold"]["score"] or 0.0)
    else:
        score = error["predicted"]["score"]
        error["surprise"] = 1.0 if score is None else score
    return error


def sentence_bounds(example: Example) -> List[int]:
    """RETURNS (List[int]): starts of sentences on the tokens of the reference, of which
    its own are preferred to predicted ones; and the number of tokens.
    """
    doc = example.reference
    starts = {0, len(doc)}
    if doc.has_annotation("SENT_START"):
        starts.update(sent.start for sent in doc.sents)
    elif example.predicted.has_annotation("SENT_START"):
        offsets = {sent.start_char for sent in example.predicted.sents}
        starts.update(token.i for token in doc if token.idx in offsets)
    return sorted(starts)


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
