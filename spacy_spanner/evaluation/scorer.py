"""Score predicted spans: overall, by type, length and nesting, and calibration."""

from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import registry

from ..pipeline.alignment import on_reference
from ..pipeline.annotations import annotated_spans
from ..pipeline.marks import has_marks
from ..pipeline.span_scores import scores_of
from ..settings import DEFAULT_SPANS_KEY
from ..spans.table import Floats
from .counts import (
    Counts,
    Reading,
    by_length,
    by_nesting,
    by_type,
    count_groups,
    macro_average,
    shortest_length,
)
from .incomplete import judge_of

# As in Appendix B of "Boundary Smoothing for Named Entity Recognition" (ACL 2022).
N_CALIBRATION_BINS = 10


@registry.scorers("spacy_spanner.spans_scorer.v1")
def make_spans_scorer() -> Callable[..., Dict[str, Any]]:
    """RETURNS (Callable): scorer for a component with a `spans_key`."""
    return score_spans


def score_spans(
    examples: Iterable[Example], *, spans_key: str = DEFAULT_SPANS_KEY, **_: Any
) -> Dict[str, Any]:
    """Score the spans of a group. Labels and boundaries must be correct.

    examples (Iterable[Example]): documents; those without annotation are skipped. Where
        annotation is marked as incomplete, predicted spans that are neither annotated
        nor known to be no entities do not count.
    spans_key (str): the group to score. As in training, the `doc.ents` of a reference
        without such a group are the gold spans.
    RETURNS (Dict[str, Any]): `spans_<key>_p`, `_r`, `_f` and `_per_type`; `p`, `r`, `f`
        under `_macro_` (mean over types), `_flat_` (spans that overlap no other span of
        the same set) and `_nested_` (all others); `_by_length`; `_ece`, the expected
        calibration error, and `_reliability`, the table it is computed from. Scores
        without any span are None.

    >>> nlp = spacy.load("model")
    >>> examples = list(Corpus("dev.spacy")(nlp))
    >>> for example in examples:
    ...     example.predicted = nlp(example.predicted)
    >>> score_spans(examples)["spans_ents_f"]
    1.0
    """
    prefix = f"spans_{spans_key}"
    examples = annotated_examples(examples, spans_key)
    scores = Scorer.score_spans(
        examples,
        prefix,
        getter=_getter(examples, spans_key),
        allow_overlap=True,
    )
    readings = [read_example(example, spans_key) for example in examples]
    scores.update(_score_breakdown(readings, prefix))
    table = reliability_table(*collect_confidence(readings))
    error = calibration_error(table)
    scores[f"{prefix}_ece"] = error
    rows = [row._asdict() for row in table]
    scores[f"{prefix}_reliability"] = None if error is None else rows
    return scores


def annotated_examples(examples: Iterable[Example], key: str) -> List[Example]:
    """RETURNS (List[Example]): the examples with an annotated reference."""
    return [eg for eg in examples if annotated_spans(eg.reference, key) is not None]


def predicted_spans(doc: Doc, key: str) -> SpanGroup:
    """RETURNS (SpanGroup): the group, or an empty one; `doc.ents` are not used."""
    return doc.spans[key] if key in doc.spans else SpanGroup(doc)


def _getter(examples: List[Example], key: str) -> Callable[[Doc, str], List[Span]]:
    """RETURNS (Callable): gets gold spans of references, and predicted spans of others,
    without those that cannot be judged.
    """
    references = {id(example.reference) for example in examples}
    marked = {
        id(example.predicted): example
        for example in examples
        if has_marks(example.reference, key)
    }

    def get_spans(doc: Doc, _: str) -> List[Span]:
        if id(doc) in references:
            return _distinct(annotated_spans(doc, key) or [])
        spans = _distinct(predicted_spans(doc, key))
        return _judged(marked[id(doc)], spans, key) if id(doc) in marked else spans

    return get_spans


def _judged(example: Example, spans: Sequence[Span], key: str) -> List[Span]:
    """RETURNS (List[Span]): predicted spans that count, see `incomplete`."""
    is_judged = judge_of(example.reference, key)
    return [
        span
        for span, place in zip(spans, on_reference(example, spans))
        if place is None or is_judged((*place, span.label_))
    ]


def _distinct(spans: Iterable[Span]) -> List[Span]:
    return list({(span.start, span.end, span.label): span for span in spans}.values())


def read_example(
    example: Example, key: str, *, gold_key: Optional[str] = None
) -> Reading:
    """RETURNS (Reading): gold and predicted spans of an example.

    key (str): the group of the predicted spans.
    gold_key (Optional[str]): the group of the gold spans, and of the marks of where
        they are incomplete; the same if None.
    """
    gold_key = key if gold_key is None else gold_key
    gold = {
        (span.start, span.end, span.label_)
        for span in annotated_spans(example.reference, gold_key) or []
    }
    reading = Reading(gold, {}, [])
    doc, is_judged = example.predicted, judge_of(example.reference, gold_key)
    spans = list(predicted_spans(doc, key))
    places = on_reference(example, spans)
    for span, place, score in zip(spans, places, scores_of(doc, key)):
        if place is None:
            reading.unplaced.append(score)
        elif is_judged((*place, span.label_)):
            reading.predicted[(*place, span.label_)] = score
    return reading


def _score_breakdown(readings: List[Reading], prefix: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): macro scores, and those by nesting and by length."""
    scores: Dict[str, Any] = {}
    nesting = count_groups(readings, by_nesting)
    parts = {
        "macro": macro_average(count_groups(readings, by_type)),
        "flat": nesting.get("flat", Counts()).prf,
        "nested": nesting.get("nested", Counts()).prf,
    }
    for part, values in parts.items():
        scores.update({f"{prefix}_{part}_{letter}": values[letter] for letter in "prf"})
    lengths = count_groups(readings, by_length)
    ordered = sorted(lengths, key=shortest_length)
    by_class = {name: lengths[name].as_dict() for name in ordered}
    scores[f"{prefix}_by_length"] = by_class or None
    return scores


class ReliabilityBin(NamedTuple):
    """The spans with a score between two limits.

    low, high (float): limits; `low` is exclusive, except in the first bin, as in the
        paper on boundary smoothing.
    n_spans (int): number of spans.
    confidence (Optional[float]): mean score; None for an empty bin.
    accuracy (Optional[float]): share of correct spans; None for an empty bin.
    """

    low: float
    high: float
    n_spans: int
    confidence: Optional[float]
    accuracy: Optional[float]


def collect_confidence(readings: Iterable[Reading]) -> Tuple[Floats, Floats]:
    """Collect the scores of predicted spans. Misaligned spans do not count for
    precision, as in spaCy, but count as wrong here.

    RETURNS (Tuple[Floats, Floats]): scores, and 1 for correct spans. (span,)
    """
    confidence: List[float] = []
    correct: List[bool] = []
    for gold, predicted, unplaced in readings:
        for span, score in predicted.items():
            if score is not None:
                confidence.append(score)
                correct.append(span in gold)
        wrong = [score for score in unplaced if score is not None]
        confidence += wrong
        correct += [False] * len(wrong)
    return np.asarray(confidence, dtype="f"), np.asarray(correct, dtype="f")


def reliability_table(confidence: Floats, correct: Floats) -> List[ReliabilityBin]:
    """RETURNS (List[ReliabilityBin]): spans in bins of equal width by their score.

    confidence (Floats): scores in [0, 1]. Shape: (span,)
    correct (Floats): 1 for correct spans. Shape: (span,)
    """
    limits = [place / N_CALIBRATION_BINS for place in range(N_CALIBRATION_BINS + 1)]
    inner = np.asarray(limits[1:-1], dtype=np.float32)
    index = np.searchsorted(inner, confidence, side="left")
    columns = [
        np.bincount(index, weights=weights, minlength=N_CALIBRATION_BINS).tolist()
        for weights in (None, confidence, correct)
    ]
    return [
        ReliabilityBin(low, high, n, *((total / n, right / n) if n else (None, None)))
        for low, high, n, total, right in zip(limits, limits[1:], *columns)
    ]


def calibration_error(table: Sequence[ReliabilityBin]) -> Optional[float]:
    """RETURNS (Optional[float]): the expected calibration error, Σ_bins share of spans
    × |mean score - share of correct spans|; None if the table is empty.
    """
    total = sum(row.n_spans for row in table)
    gaps = [
        row.n_spans * abs(row.confidence - row.accuracy)
        for row in table
        if row.confidence is not None and row.accuracy is not None
    ]
    return sum(gaps) / total if total else None
