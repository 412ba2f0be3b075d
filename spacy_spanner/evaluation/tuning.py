"""Choose thresholds and a calibration on one corpus, and test them on another."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..pipeline.annotations import annotated_spans
from ..pipeline.calibration import Calibration, fit_calibration
from ..pipeline.ensemble import SpanEnsemble
from ..pipeline.overrides import record_settings
from ..pipeline.state import CHOSEN_THRESHOLD
from . import predicting
from .counts import Reading, by_type, count_groups
from .ensemble_tuning import tune_members
from .scorer import score_spans
from .thresholds import (
    CURVE_FLOOR,
    Objective,
    best_threshold,
    f_objective,
    recall_at_precision,
    scored_spans,
)

# Labels with fewer gold spans get no threshold of their own: it would be random.
MIN_GOLD = 10
SCORES = ("p", "r", "f", "ece")


class Goal(NamedTuple):
    """The goal of tuning.

    beta (float): maximise F-beta; above 1, recall counts more.
    precision (Optional[float]): maximise recall at this precision instead.
    per_label (bool): choose a threshold for each label.
    calibrate (bool): calibrate the scores first, and those of the members of an
        ensemble; otherwise temperatures and biases stay as they are.
    """

    beta: float = 1.0
    precision: Optional[float] = None
    per_label: bool = False
    calibrate: bool = True

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
    track: predicting.Track = predicting.untracked,
) -> Dict[str, Any]:
    """Tune the thresholds and the calibration of a pipeline.

    nlp (Language): the pipeline; the settings of its component are changed, and with
        them its config.
    dev (Path): documents to tune on.
    test (Optional[Path]): other documents, to measure the effect.
    key (Optional[str]): the group; see `predicting.find_source`.
    goal (Goal): what to optimise.
    RETURNS (Dict[str, Any]): `settings` before and after, and `scores` on "dev" and
        "test" before and after.
    RAISES (ValueError): SP075 without scores or threshold, SP086 without gold spans,
        SP161 without predicted ones.

    >>> tune(spacy.load("model"), Path("dev.spacy"))["settings"]["before"]["threshold"]
    0.35
    """
    source = predicting.find_source(nlp, key)
    if source.name is None or source.threshold is None:
        raise ValueError(Errors.SP075.format(component=source.name, key=source.key))
    corpora = {"dev": predicting.read_corpus(dev, nlp, source.key)}
    if not any(annotated_spans(eg.reference, source.key) for eg in corpora["dev"]):
        docs = len(corpora["dev"])
        raise ValueError(Errors.SP086.format(path=dev, key=source.key, docs=docs))
    if test is not None:
        corpora["test"] = predicting.read_corpus(test, nlp, source.key)
    before = read_settings(source)
    scores = {"before": _measure(nlp, source, corpora, track)}
    choose_settings(nlp, source, corpora["dev"], goal, track=track)
    after = read_settings(source)
    record_settings(nlp, source.name, after)
    scores["after"] = _measure(nlp, source, corpora, track)
    return {
        "component": source.name,
        "spans_key": source.key,
        "goal": goal._asdict(),
        "settings": {"before": before, "after": after},
        "scores": scores,
    }


def choose_settings(
    nlp: Language,
    source: predicting.SpanSource,
    dev: List[Example],
    goal: Goal = BALANCED,
    *,
    track: predicting.Track = predicting.untracked,
) -> None:
    """Set the weights of an ensemble, the calibration, and then the thresholds for
    calibrated scores, on annotated examples; see `tune`. After an error, the settings
    are those of before.
    """
    cfg = source.pipe.cfg
    with restored_after_errors(cfg):
        if isinstance(source.pipe, SpanEnsemble):
            tune_members(nlp, source.pipe, dev, calibrate=goal.calibrate, track=track)
        if goal.calibrate and "temperature" in cfg:
            cfg.update(Calibration()._asdict())
            spans = scored_spans(_unfiltered(nlp, source, dev, track))
            cfg.update(fit_calibration(spans.score, spans.right)._asdict())
        chosen = choose_thresholds(_unfiltered(nlp, source, dev, track), goal)
        cfg["threshold"] = chosen["threshold"]
        cfg.pop(CHOSEN_THRESHOLD, None)
        if "label_thresholds" in cfg:
            cfg["label_thresholds"] = chosen["label_thresholds"]


@contextmanager
def restored_after_errors(cfg: Dict[str, Any]) -> Iterator[None]:
    """Put all settings of a component back if they could not be chosen.

    cfg (Dict[str, Any]): the settings.
    """
    saved = dict(cfg)
    try:
        yield
    except BaseException:  # Ctrl-C, too
        for name in cfg.keys() - saved.keys():
            del cfg[name]
        cfg.update(saved)
        raise


def read_settings(source: predicting.SpanSource) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the component's settings that `tune` may change; the
    threshold is a number.
    """
    names = ["label_thresholds", "temperature", "bias"]
    names += ["weights", "temperatures", "biases"]
    found = {name: source.pipe.cfg[name] for name in names if name in source.pipe.cfg}
    return {"threshold": source.threshold, **found}


def choose_thresholds(readings: Sequence[Reading], goal: Goal) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the best common `threshold`, and `label_thresholds`.

    readings (Sequence[Reading]): documents, predicted with a low threshold.
    """
    common = best_threshold(readings, goal.objective)
    by_label: Dict[str, float] = {}
    if goal.per_label:
        for label, counts in sorted(count_groups(readings, by_type).items()):
            if counts.gold >= MIN_GOLD:
                best = best_threshold(readings, goal.objective, label)
                by_label[label] = best.threshold
    return {"threshold": common.threshold, "label_thresholds": by_label}


def _unfiltered(
    nlp: Language,
    source: predicting.SpanSource,
    examples: List[Example],
    track: predicting.Track,
) -> List[Reading]:
    """RETURNS (List[Reading]): spans that are predicted with a low threshold.

    RAISES (ValueError): SP161 without spans, SP075 for spans without scores.
    """
    readings = predicting.read_unfiltered(nlp, examples, source, track=track)
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
    nlp: Language,
    source: predicting.SpanSource,
    corpora: Dict[str, List[Example]],
    track: predicting.Track,
) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): P, R, F1 and ECE of each corpus."""
    result = {}
    for name, examples in corpora.items():
        found = predicting.predict(nlp, examples, track=track)
        scores = score_spans(found, spans_key=source.key)
        result[name] = {s: scores[f"spans_{source.key}_{s}"] for s in SCORES}
    return result
