"""Evaluate a model on a corpus, as plain data for JSON and reports."""

from functools import partial
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

import spacy
from spacy.language import Language
from spacy.training import Example

from .. import __version__
from ..errors import Errors
from ..pipeline.state import NO_SETTINGS
from .bootstrap import N_SAMPLES, compare_pairs, intervals
from .counts import Reading, by_type, count_groups
from .error_analysis import (
    boundary_errors,
    find_errors,
    label_confusion,
    offset_table,
)
from .matching import count_kinds, match_reading, partial_scores
from .predicting import (
    SpanSource,
    Track,
    find_source,
    predict,
    read_corpus,
    read_unfiltered,
    untracked,
)
from .scorer import read_example, score_spans
from .thresholds import CURVE_FLOOR, best_threshold, curves_by_label, f_objective


class Evaluation(NamedTuple):
    """The evaluation of a model on a corpus.

    name (str): name of the model in tables.
    examples (List[Example]): references with predicted documents.
    readings (List[Reading]): gold and predicted spans.
    unfiltered (Optional[List[Reading]]): the same with a low threshold; None if the
        spans have no scores or the component has no threshold.
    metrics (Dict[str, Any]): all scores, as plain data.
    errors (List[Dict[str, Any]]): see `error_analysis.find_errors`.
    """

    name: str
    examples: List[Example]
    readings: List[Reading]
    unfiltered: Optional[List[Reading]]
    metrics: Dict[str, Any]
    errors: List[Dict[str, Any]]


def evaluate_pipeline(
    nlp: Language,
    data: Path,
    *,
    name: str,
    key: Optional[str] = None,
    seed: int = 0,
    n_samples: int = N_SAMPLES,
    track: Track = untracked,
) -> Evaluation:
    """Evaluate any pipeline that writes a span group.

    nlp (Language): the pipeline.
    data (Path): annotated documents; see `predicting.read_corpus`.
    name (str): name of the model in tables.
    key (Optional[str]): the group; see `predicting.find_source`.
    seed, n_samples (int): see `bootstrap.intervals`.
    RETURNS (Evaluation): scores and errors.
    RAISES (ValueError): SP071, SP072, SP073.

    >>> found = evaluate_pipeline(spacy.load("model"), Path("dev.spacy"), name="me")
    >>> found.metrics["scores"]["f"]
    1.0
    """
    source = find_source(nlp, key)
    gold = read_corpus(data, nlp, source.key)
    examples = predict(nlp, gold, track=track)
    readings = [read_example(example, source.key) for example in examples]
    unfiltered = None
    if source.threshold is not None and has_scores(readings):
        floor = min(CURVE_FLOOR, source.threshold)
        unfiltered = read_unfiltered(nlp, gold, source, threshold=floor, track=track)
    metrics = {
        "model": describe_model(nlp, source, name),
        "data": describe_data(data, examples, readings),
        **measure(examples, readings, source, seed=seed, n_samples=n_samples),
        "thresholds": describe_thresholds(readings, unfiltered, source),
    }
    errors = find_errors(examples, readings, unfiltered)
    return Evaluation(name, examples, readings, unfiltered, metrics, errors)


def has_scores(readings: Iterable[Reading]) -> bool:
    """RETURNS (bool): whether all predicted spans have scores."""
    return all(None not in reading.predicted.values() for reading in readings)


def describe_model(nlp: Language, source: SpanSource, name: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): component, settings and versions of the model."""
    settings = getattr(source.pipe, "cfg", None) or {}
    return {
        "name": name,
        "pipeline": list(nlp.pipe_names),
        "component": source.name,
        "factory": nlp.get_pipe_meta(source.name).factory if source.name else None,
        "spans_key": source.key,
        "settings": {k: v for k, v in settings.items() if k not in NO_SETTINGS},
        "version": nlp.meta.get("version"),
        "spacy": spacy.__version__,
        "spacy_spanner": __version__,
    }


def describe_data(
    path: Path, examples: Sequence[Example], readings: Sequence[Reading]
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): size of the data, and number of spans by label."""
    by_label = count_groups(readings, by_type)
    return {
        "name": path.name,
        "documents": len(examples),
        "tokens": sum(len(example.reference) for example in examples),
        "gold": sum(len(reading.gold) for reading in readings),
        "predicted": sum(len(reading.predicted) for reading in readings),
        "without_place": sum(len(reading.unplaced) for reading in readings),
        "labels": {
            label: {"gold": counts.gold, "predicted": counts.predicted}
            for label, counts in sorted(by_label.items())
        },
    }


def measure(
    examples: Sequence[Example],
    readings: Sequence[Reading],
    source: SpanSource,
    *,
    seed: int,
    n_samples: int,
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): all scores at the current threshold."""
    prefix = f"spans_{source.key}_"
    scores = score_spans(examples, spans_key=source.key)
    labels = sorted(count_groups(readings, by_type))
    matches = [match for reading in readings for match in match_reading(reading)]
    resampled = partial(intervals, readings, seed=seed, n_samples=n_samples)
    overall, by_label = resampled(), resampled(group=by_type, names=labels)
    return {
        "scores": {name[len(prefix) :]: value for name, value in scores.items()},
        "intervals": overall and overall["all"],
        "intervals_by_type": by_label,
        "samples": n_samples,
        "partial": partial_scores(readings),
        "kinds": count_kinds(matches),
        "boundaries": boundary_errors(matches),
        "confusion": label_confusion(matches),
        "offsets": offset_table(matches),
    }


def describe_thresholds(
    readings: Sequence[Reading],
    unfiltered: Optional[Sequence[Reading]],
    source: SpanSource,
) -> Optional[Dict[str, Any]]:
    """RETURNS (Optional[Dict[str, Any]]): curves, and the best threshold on this data;
    None without spans or scores.
    """
    if unfiltered is None or not any(reading.predicted for reading in unfiltered):
        return None
    by_label = sorted(count_groups(unfiltered, by_type).items())
    labels = [label for label, counts in by_label if counts.gold]
    return {
        "current": source.threshold,
        "by_label": dict(source.pipe.cfg.get("label_thresholds") or {}),
        "best": best_threshold(unfiltered, f_objective())._asdict(),
        "curves": curves_by_label(unfiltered, labels),
    }


def compare(first: Evaluation, second: Evaluation, **draws: int) -> Dict[str, Any]:
    """Compare two models on the same documents.

    first, second (Evaluation): evaluations on the same corpus.
    **draws (int): `seed` and `n_samples`; see `bootstrap.compare_pairs`.
    RETURNS (Dict[str, Any]): see `bootstrap.compare_pairs`, and F1 of both by type.
    RAISES (ValueError): SP082 if they have different gold spans.
    """
    gold = [[reading.gold for reading in side.readings] for side in (first, second)]
    if gold[0] != gold[1]:
        names = [side.metrics["model"]["spans_key"] for side in (first, second)]
        raise ValueError(Errors.SP082.format(first=names[0], second=names[1]))
    result = compare_pairs(first.readings, second.readings, **draws)
    sides = [count_groups(side.readings, by_type) for side in (first, second)]
    result["by_type"] = {
        label: [side[label].f_score if label in side else 0.0 for side in sides]
        for label in sorted({*sides[0], *sides[1]})
    }
    result["names"] = [first.name, second.name]
    return result
