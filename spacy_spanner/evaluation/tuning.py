"""Choose thresholds and a temperature on one corpus, see what they do on another."""

from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..pipeline.temperature import fit_temperature
from .counts import by_type, count_groups
from .predicting import (
    SpanSource,
    Track,
    find_source,
    lowered_threshold,
    predict,
    read_corpus,
    read_predictions,
    untracked,
)
from .readings import Reading
from .scorer import score_spans
from .thresholds import (
    CURVE_FLOOR,
    CurvePoint,
    Objective,
    best_point,
    f_objective,
    recall_at_precision,
    scored_spans,
    threshold_curve,
)

# A label with less gold keeps the common threshold: its own would be chance.
MIN_GOLD = 10
SCORES = ("p", "r", "f", "ece")


class Goal(NamedTuple):
    """What thresholds shall achieve.

    beta (float): F-beta is maximised; above 1, recall counts more.
    precision (Optional[float]): if given, the recall at this precision is maximised.
    per_label (bool): whether labels get thresholds of their own.
    temperature (bool): whether scores are calibrated.
    """

    beta: float = 1.0
    precision: Optional[float] = None
    per_label: bool = False
    temperature: bool = True

    @property
    def objective(self) -> Objective:
        """The goal as a function of a point of the curve."""
        if self.precision is not None:
            return recall_at_precision(self.precision)
        return f_objective(self.beta)


BALANCED = Goal()


def tune(
    nlp: Language,
    dev: Path,
    *,
    test: Optional[Path] = None,
    key: Optional[str] = None,
    goal: Goal = BALANCED,
    track: Track = untracked,
) -> Dict[str, Any]:
    """Set the thresholds and the temperature of a pipeline.

    nlp (Language): the pipeline; the settings of its component are changed.
    dev (Path): documents to choose on.
    test (Optional[Path]): other documents, to see what the choice is worth.
    key (Optional[str]): the group; see `predicting.find_source`.
    goal (Goal): what the thresholds shall achieve.
    track (Track): shows the progress.
    RETURNS (Dict[str, Any]): the `settings` before and after, and `scores` on "dev" and
        "test" before and after.
    RAISES (ValueError): SP075 where there are no scores or no threshold, SP161 where
        there are no spans.
    """
    source = find_source(nlp, key)
    if source.threshold is None:
        raise ValueError(Errors.SP075.format(component=source.name, key=source.key))
    corpora = {"dev": read_corpus(dev, nlp, source.key)}
    if test is not None:
        corpora["test"] = read_corpus(test, nlp, source.key)
    before = read_settings(source)
    measure = _measure(nlp, source, corpora, track)
    scores = {"before": measure()}
    _choose_settings(nlp, source, corpora["dev"], goal, track)
    scores["after"] = measure()
    return {
        "component": source.name,
        "spans_key": source.key,
        "goal": goal._asdict(),
        "settings": {"before": before, "after": read_settings(source)},
        "scores": scores,
    }


def _choose_settings(
    nlp: Language, source: SpanSource, dev: List[Example], goal: Goal, track: Track
) -> None:
    """Set the temperature, and then the thresholds on the new scale."""
    cfg = source.pipe.cfg
    if goal.temperature and "temperature" in cfg:
        cfg["temperature"] = 1.0
        spans = scored_spans(_unfiltered(nlp, source, dev, track))
        cfg["temperature"] = fit_temperature(spans.score, spans.right)
    chosen = choose_thresholds(_unfiltered(nlp, source, dev, track), goal)
    cfg["threshold"] = chosen["threshold"]
    if "label_thresholds" in cfg:
        cfg["label_thresholds"] = chosen["label_thresholds"]


def read_settings(source: SpanSource) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what `tune` may change, of those that there are."""
    names = ("threshold", "label_thresholds", "temperature")
    return {name: source.pipe.cfg[name] for name in names if name in source.pipe.cfg}


def choose_thresholds(readings: Sequence[Reading], goal: Goal) -> Dict[str, Any]:
    """Choose the thresholds that serve a goal best.

    readings (Sequence[Reading]): documents, predicted with a low threshold.
    goal (Goal): what to maximise.
    RETURNS (Dict[str, Any]): the common `threshold`, and `label_thresholds`.
    """
    common = _best(readings, None, goal.objective)
    by_label: Dict[str, float] = {}
    if goal.per_label:
        for label, counts in sorted(count_groups(readings, by_type).items()):
            if counts.gold >= MIN_GOLD:
                by_label[label] = _best(readings, label, goal.objective).threshold
    return {"threshold": common.threshold, "label_thresholds": by_label}


def _best(
    readings: Sequence[Reading], label: Optional[str], objective: Objective
) -> CurvePoint:
    return best_point(threshold_curve(scored_spans(readings, label)), objective)


def _unfiltered(
    nlp: Language, source: SpanSource, examples: List[Example], track: Track
) -> List[Reading]:
    """Predict with a low threshold.

    RAISES (ValueError): SP161 without any span, SP075 for spans without scores.
    """
    with lowered_threshold(source, CURVE_FLOOR):
        readings = read_predictions(nlp, examples, source.key, track=track)
    scores = [score for one in readings for score in one.predicted.values()]
    if not scores:
        message = Errors.SP161.format(
            component=source.name, key=source.key, floor=CURVE_FLOOR, docs=len(examples)
        )
        raise ValueError(message)
    if None in scores:
        raise ValueError(Errors.SP075.format(component=source.name, key=source.key))
    return readings


def _measure(
    nlp: Language, source: SpanSource, corpora: Dict[str, List[Example]], track: Track
) -> Callable[[], Dict[str, Dict[str, Any]]]:
    """RETURNS (Callable): gives P, R, F1 and ECE of each corpus at that moment."""

    def measure() -> Dict[str, Dict[str, Any]]:
        result = {}
        for name, examples in corpora.items():
            found = predict(nlp, examples, track=track)
            scores = score_spans(found, spans_key=source.key)
            result[name] = {s: scores[f"spans_{source.key}_{s}"] for s in SCORES}
        return result

    return measure
