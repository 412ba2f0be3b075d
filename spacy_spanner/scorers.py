"""Scores of predicted spans: strict, by type, flat and nested, and calibration."""

from itertools import zip_longest
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

import numpy as np
from spacy.scorer import PRFScore, Scorer
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import registry

from .annotations import annotated_spans, scores_of
from .settings import DEFAULT_SPANS_KEY
from .types import Floats

N_CALIBRATION_BINS = 10
SpanKey = Tuple[int, int, str]


@registry.scorers("spacy_spanner.spans_scorer.v1")
def make_spans_scorer() -> Callable[..., Dict[str, Any]]:
    """RETURNS (Callable): scorer for a component with a `spans_key`."""
    return score_spans


def score_spans(
    examples: Iterable[Example], *, spans_key: str = DEFAULT_SPANS_KEY, **_: Any
) -> Dict[str, Any]:
    """Compare the spans under a key with gold; labels and boundaries must be right.

    examples (Iterable[Example]): documents without annotation are left out.
    spans_key (str): the group to score, by the same rules as in training: where a
        reference has no such group, its `doc.ents` are the gold.
    RETURNS (Dict[str, Any]): `spans_<key>_p`, `_r`, `_f` and `_per_type`; the same
        `p`, `r`, `f` under `_flat_` (spans apart from all others) and `_nested_`
        (spans that share tokens with another); and `_ece`, the expected calibration
        error of the scores. What has nothing to score is None.
    """
    prefix = f"spans_{spans_key}"
    examples = [
        example
        for example in examples
        if annotated_spans(example.reference, spans_key) is not None
    ]
    scores = Scorer.score_spans(
        examples,
        prefix,
        getter=_getter(examples, spans_key),
        allow_overlap=True,
    )
    readings = [read_example(example, spans_key) for example in examples]
    scores.update(_score_by_nesting(readings, prefix))
    scores[f"{prefix}_ece"] = calibration_error(*collect_confidence(readings))
    return scores


def predicted_spans(doc: Doc, key: str) -> SpanGroup:
    """RETURNS (SpanGroup): the group; never entities, which others have predicted."""
    return doc.spans[key] if key in doc.spans else SpanGroup(doc)


def _getter(examples: List[Example], key: str) -> Callable[[Doc, str], List[Span]]:
    """Tell references, to which the rules of gold apply, from predictions."""
    references = {id(example.reference) for example in examples}

    def get_spans(doc: Doc, _: str) -> List[Span]:
        if id(doc) in references:
            return _distinct(annotated_spans(doc, key) or [])
        return _distinct(predicted_spans(doc, key))

    return get_spans


def _distinct(spans: Iterable[Span]) -> List[Span]:
    return list({(span.start, span.end, span.label): span for span in spans}.values())


class Reading(NamedTuple):
    """Gold and predicted spans of one document, on the tokens of the reference.

    gold, predicted (Set[SpanKey]): spans without duplicates.
    confidence (List[float]): the score of each predicted span that has one.
    correct (List[bool]): whether that span is in the gold.
    """

    gold: Set[SpanKey]
    predicted: Set[SpanKey]
    confidence: List[float]
    correct: List[bool]


def read_example(example: Example, key: str) -> Reading:
    """RETURNS (Reading): what the scores are computed from."""
    gold = {
        (span.start, span.end, span.label_)
        for span in annotated_spans(example.reference, key) or []
    }
    group = predicted_spans(example.predicted, key)
    reading = Reading(gold, set(), [], [])
    for span, score in zip_longest(group, scores_of(group)):
        # What has no place on the reference's tokens is left out of precision, as spaCy
        # does, but its confidence was wrong.
        aligned = [
            (found.start, found.end, found.label_)
            for found in example.get_aligned_spans_x2y([span], allow_overlap=True)
        ]
        reading.predicted.update(aligned)
        if score is not None:
            reading.confidence.append(score)
            reading.correct.append(bool(aligned) and aligned[0] in gold)
    return reading


def _score_by_nesting(readings: List[Reading], prefix: str) -> Dict[str, Any]:
    """Score apart the spans that do, and do not, share tokens with their own side.

    A predicted span is right if it is anywhere in the gold, and a gold span is found
    if it is anywhere in the prediction: only who is counted depends on nesting.
    """
    claims = {"flat": PRFScore(), "nested": PRFScore()}  # precision of predicted spans
    wants = {"flat": PRFScore(), "nested": PRFScore()}  # recall of gold spans
    for gold, predicted, _, _ in readings:
        for name, spans in _by_nesting(predicted).items():
            claims[name] += PRFScore(tp=len(spans & gold), fp=len(spans - gold))
        for name, spans in _by_nesting(gold).items():
            wants[name] += PRFScore(
                tp=len(spans & predicted), fn=len(spans - predicted)
            )
    scores: Dict[str, Any] = {}
    for name in claims:
        values: Tuple[Optional[float], ...] = (None, None, None)
        if len(claims[name]) or len(wants[name]):
            precision, recall = claims[name].precision, wants[name].recall
            f_score = 2 * precision * recall / (precision + recall + 1e-100)
            values = (precision, recall, f_score)
        scores.update(zip((f"{prefix}_{name}_{letter}" for letter in "prf"), values))
    return scores


def _by_nesting(spans: Set[SpanKey]) -> Dict[str, Set[SpanKey]]:
    nested = nested_spans(spans)
    return {"flat": spans - nested, "nested": nested}


def nested_spans(spans: Set[SpanKey]) -> Set[SpanKey]:
    """RETURNS (Set[SpanKey]): those that share a token with another of them."""
    ordered = sorted(spans)
    found: Set[SpanKey] = set()
    widest: Optional[SpanKey] = None  # the one that reaches furthest so far
    for span in ordered:
        if widest is not None and span[0] < widest[1]:
            found.update((span, widest))
        if widest is None or span[1] > widest[1]:
            widest = span
    return found


def collect_confidence(readings: Iterable[Reading]) -> Tuple[Floats, Floats]:
    """RETURNS (Tuple[Floats, Floats]): scores of spans, and 1 where right. (span,)"""
    readings = list(readings)
    confidence = [score for reading in readings for score in reading.confidence]
    correct = [right for reading in readings for right in reading.correct]
    return np.asarray(confidence, dtype="f"), np.asarray(correct, dtype="f")


def calibration_error(confidence: Floats, correct: Floats) -> Optional[float]:
    """Compute the expected calibration error over ten bins of equal width.

    Σ_bins share of spans × |mean score - share of right spans|, as in Appendix B of
    the boundary-smoothing paper.

    confidence (Floats): scores in [0, 1]. Shape: (span,)
    correct (Floats): 1 where the span is right. Shape: (span,)
    RETURNS (Optional[float]): None without spans.
    """
    if not len(confidence):
        return None
    bins = np.minimum(
        (confidence * N_CALIBRATION_BINS).astype(int), N_CALIBRATION_BINS - 1
    )
    gap = np.bincount(bins, weights=confidence - correct, minlength=N_CALIBRATION_BINS)
    return float(np.abs(gap).sum() / len(confidence))
