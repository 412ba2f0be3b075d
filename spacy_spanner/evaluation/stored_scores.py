"""The scores in `meta.json` of a pipeline whose thresholds have changed."""

from typing import Any, Dict, List

from spacy.language import Language
from spacy.training import Example

from ..pipeline.annotations import raise_threshold
from ..pipeline.ensemble import SpanEnsemble
from .predicting import SpanSource, keeping_members, predict


def score_again(
    nlp: Language,
    source: SpanSource,
    examples: List[Example],
    predicted: List[Example],
) -> None:
    """Replace the scores in `meta` by those with the threshold in use.

    nlp (Language): the pipeline; its `performance` is updated.
    source (SpanSource): the component that is scored.
    examples (List[Example]): what it is scored on.
    predicted (List[Example]): the examples, predicted with a low threshold.
    """
    settings = source.pipe.settings
    if settings.label_thresholds:
        # Of two spans in conflict, the better one may be below its threshold.
        with keeping_members(nlp):
            predicted = predict(nlp, examples)
    else:
        for example in predicted:
            raise_threshold(example.predicted, source.key, settings.threshold)
    _update_performance(nlp, source.pipe.score(predicted))


def score_ensembles_again(
    nlp: Language, chosen: List[str], examples: List[Example]
) -> None:
    """Replace the scores in `meta` of ensembles whose own threshold has not changed:
    their members may have new ones.

    nlp (Language): the pipeline; its `performance` is updated.
    chosen (List[str]): the components that have a new threshold.
    examples (List[Example]): what the ensembles are scored on.
    """
    ensembles = [
        pipe
        for name, pipe in nlp.pipeline
        if isinstance(pipe, SpanEnsemble) and name not in chosen
    ]
    predicted = predict(nlp, examples) if ensembles else []
    for pipe in ensembles:
        _update_performance(nlp, pipe.score(predicted))


def _update_performance(nlp: Language, scores: Dict[str, Any]) -> None:
    """Replace scores that `performance` in `meta` has already."""
    performance = nlp.meta.setdefault("performance", {})
    performance.update({k: v for k, v in scores.items() if k in performance})
