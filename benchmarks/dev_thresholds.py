"""What thresholds that are chosen on dev gain on data that they were not chosen on."""

from typing import Any, Dict, List

from common import SPANS_KEY
from spacy.language import Language
from spacy.training import Example

from spacy_spanner.evaluation.counts import Reading
from spacy_spanner.evaluation.predicting import (
    SpanSource,
    find_source,
    read_predictions,
    read_unfiltered,
)
from spacy_spanner.evaluation.thresholds import scored_spans, threshold_curve
from spacy_spanner.evaluation.tuning import Goal, choose_thresholds


def score_tuned(
    nlp: Language, examples: Dict[str, List[Example]], goal: Goal
) -> Dict[str, float]:
    """Choose thresholds as `spanner tune` does.

    RETURNS (Dict[str, float]): F1 on "dev", each half with thresholds of the other one,
        and on "test" with those of all of dev.
    """
    source, dev = find_source(nlp, SPANS_KEY), examples["dev"]
    halves = dev[::2], dev[1::2]
    readings: List[Reading] = []
    for chosen_on, scored in (halves, halves[::-1]):
        choose(nlp, source, chosen_on, goal)
        readings += read_predictions(nlp, scored, SPANS_KEY)
    choose(nlp, source, dev, goal)
    test = read_predictions(nlp, examples["test"], SPANS_KEY)
    return {"dev": f_of_all(readings), "test": f_of_all(test)}


def choose(
    nlp: Language, source: SpanSource, examples: List[Example], goal: Goal
) -> None:
    """Set the thresholds of a component to the best on some examples."""
    found: Dict[str, Any] = choose_thresholds(
        read_unfiltered(nlp, examples, source), goal
    )
    source.pipe.cfg.update(found)


def f_of_all(readings: List[Reading]) -> float:
    """RETURNS (float): F1 of what was predicted."""
    return threshold_curve(scored_spans(readings), [0.0])[0].f
