"""Score predicted spans: overall, by type, length and nesting, and calibration."""

from itertools import zip_longest
from typing import Any, Callable, Dict, Iterable, List

from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import registry

from ..pipeline.annotations import annotated_spans, scores_of
from ..settings import DEFAULT_SPANS_KEY
from .calibration import calibration_error, collect_confidence, reliability_table
from .counts import (
    Counts,
    by_length,
    by_nesting,
    by_type,
    count_groups,
    macro_average,
    shortest_length,
)
from .readings import Reading


@registry.scorers("spacy_spanner.spans_scorer.v1")
def make_spans_scorer() -> Callable[..., Dict[str, Any]]:
    """RETURNS (Callable): scorer for a component with a `spans_key`."""
    return score_spans


def score_spans(
    examples: Iterable[Example], *, spans_key: str = DEFAULT_SPANS_KEY, **_: Any
) -> Dict[str, Any]:
    """Score the spans of a group. Labels and boundaries must be correct.

    examples (Iterable[Example]): documents; those without annotation are skipped.
    spans_key (str): the group to score. As in training, the `doc.ents` of a reference
        without such a group are the gold spans.
    RETURNS (Dict[str, Any]): `spans_<key>_p`, `_r`, `_f` and `_per_type`; `p`, `r`, `f`
        under `_macro_` (mean over types), `_flat_` (spans that overlap no other span of
        the same set) and `_nested_` (all others); `_by_length`; `_ece`, the expected
        calibration error, and `_reliability`, the table it is computed from. Scores
        without any span are None.
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
    """RETURNS (Callable): gets gold spans of references, predicted spans of others."""
    references = {id(example.reference) for example in examples}

    def get_spans(doc: Doc, _: str) -> List[Span]:
        if id(doc) in references:
            return _distinct(annotated_spans(doc, key) or [])
        return _distinct(predicted_spans(doc, key))

    return get_spans


def _distinct(spans: Iterable[Span]) -> List[Span]:
    return list({(span.start, span.end, span.label): span for span in spans}.values())


def read_example(example: Example, key: str) -> Reading:
    """RETURNS (Reading): gold and predicted spans of an example."""
    gold = {
        (span.start, span.end, span.label_)
        for span in annotated_spans(example.reference, key) or []
    }
    group = predicted_spans(example.predicted, key)
    reading = Reading(gold, {}, [])
    for span, score in zip_longest(group, scores_of(group)):
        # One at a time, as the result does not refer to the input spans.
        aligned = example.get_aligned_spans_x2y([span], allow_overlap=True)
        if aligned:
            place = aligned[0].start, aligned[0].end, aligned[0].label_
            reading.predicted[place] = score
        else:
            reading.unplaced.append(score)
    return reading


def _score_breakdown(readings: List[Reading], prefix: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): macro scores, and those by nesting and by length."""
    scores: Dict[str, Any] = {}
    nesting = count_groups(readings, by_nesting)
    parts = {
        "macro": macro_average(count_groups(readings, by_type)),
        "flat": nesting.get("flat", Counts()).as_dict(),
        "nested": nesting.get("nested", Counts()).as_dict(),
    }
    for part, values in parts.items():
        scores.update({f"{prefix}_{part}_{letter}": values[letter] for letter in "prf"})
    lengths = count_groups(readings, by_length)
    ordered = sorted(lengths, key=shortest_length)
    by_class = {name: lengths[name].as_dict() for name in ordered}
    scores[f"{prefix}_by_length"] = by_class or None
    return scores
