"""Choose the threshold of components with `threshold = "auto"` on the dev data.

`spacy train` calls the callback before each pipeline that it stores, with the weights
that are stored. What it chooses is in the stored pipeline alone: the one in training
keeps its threshold, so that its evaluations can be compared with each other.
"""

import warnings
from contextlib import ExitStack
from copy import copy, deepcopy
from itertools import islice
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
)

from spacy.language import Language
from spacy.training import Example
from spacy.util import registry
from wasabi import msg

from ..errors import Warnings
from ..pipeline.annotations import annotated_spans
from ..pipeline.component import SpanRecognizer
from ..pipeline.config_checks import corpus_of
from ..pipeline.ensemble import SpanEnsemble
from ..pipeline.prediction import Doubt
from ..pipeline.shared_keys import group_written_by
from ..pipeline.span_scores import is_below
from ..pipeline.state import CHOSEN_THRESHOLD, threshold_of
from ..settings import AUTO, at_least, require
from .counts import Reading
from .predicting import (
    SpanSource,
    keeping_members,
    lowered_threshold,
    predict,
    unchanged_random_numbers,
)
from .scorer import annotated_examples, read_example
from .stored_scores import score_again, score_ensembles_again
from .thresholds import (
    CURVE_FLOOR,
    CurvePoint,
    f_objective,
    near_best,
    scored_spans,
    threshold_curve,
)

# With fewer gold spans, thresholds are no better than the default, or worse.
MIN_GOLD = 50


class Choice(NamedTuple):
    """The threshold that was chosen for a component.

    before (CurvePoint): strict scores with the threshold that it had.
    after (CurvePoint): those with the chosen one.
    """

    before: CurvePoint
    after: CurvePoint


@registry.callbacks("spacy_spanner.auto_threshold.v1")
def make_auto_threshold(
    *, limit: int = 0, min_gold: int = MIN_GOLD
) -> Callable[[Language], Language]:
    """Choose the threshold of every component with `threshold = "auto"` on the dev
    data of the config, for `[training.before_to_disk]`. Frozen components keep theirs,
    and all do if choosing fails (SW063): the pipeline is stored all the same.

    limit (int): number of dev documents to choose on; 0 for all. The scores in
        `meta.json` are those with the chosen threshold only if it is 0.
    min_gold (int): with fewer gold spans, a component keeps its threshold.
    RETURNS (Callable): the callback, which returns a pipeline to store.
    """
    require(at_least(0), limit=limit, min_gold=min_gold)
    shown: Dict[str, float] = {}

    def choose(nlp: Language) -> Language:
        names = automatic_components(nlp)
        if not names:
            return nlp
        try:
            stored, choices = _with_choices(nlp, names, limit, min_gold)
        except Exception as error:  # a failed training has to be stored, too
            _warn_of_failure(nlp, names, error)
            return nlp
        _show_new(choices, shown)
        return stored

    return choose


def _with_choices(
    nlp: Language, names: List[str], limit: int, min_gold: int
) -> Tuple[Language, Dict[str, Choice]]:
    """RETURNS (Tuple[Language, Dict[str, Choice]]): the pipeline to store, and what was
    chosen for the named components; see `make_auto_threshold`.
    """
    stored = _with_copies(nlp, names)
    choices: Dict[str, Choice] = {}
    with unchanged_random_numbers():
        examples = list(islice(corpus_of(nlp, "dev_corpus")(nlp), limit or None))
        for some in _in_rounds(stored, names):
            found = set_thresholds(stored, some, examples, min_gold, rescore=not limit)
            choices.update(found)
        if choices and not limit:
            score_ensembles_again(stored, list(choices), examples)
    return stored, choices


def _warn_of_failure(nlp: Language, names: List[str], error: Exception) -> None:
    """Warn (SW063) that the named components keep their thresholds."""
    in_use = [f"{threshold_of(nlp.get_pipe(name))} for '{name}'" for name in names]
    problem = f"{type(error).__name__}: {str(error)[:200]}"
    message = Warnings.SW063.format(error=problem, thresholds=", ".join(in_use))
    warnings.warn(message, stacklevel=3)


def _show_new(choices: Dict[str, Choice], shown: Dict[str, float]) -> None:
    """Print thresholds between the rows of spaCy's table, unless they are still those
    that were printed last: a pipeline is stored after every evaluation.

    shown (Dict[str, float]): what was printed last for each component; updated.
    """
    for name, (before, after) in choices.items():
        if shown.get(name) == after.threshold:
            continue
        shown[name] = after.threshold
        if after.threshold == before.threshold:
            msg.info(f"{name}: threshold stays {before.threshold:.2f}")
        else:
            msg.info(
                f"{name}: threshold {before.threshold:.2f} -> {after.threshold:.2f}, "
                f"F1 on dev {100 * before.f:.1f} -> {100 * after.f:.1f}"
            )


def automatic_components(nlp: Language) -> List[str]:
    """RETURNS (List[str]): the components whose threshold is to be chosen, in order."""
    frozen = nlp.config.interpolate()["training"]["frozen_components"]
    return [
        name
        for name, pipe in nlp.pipeline
        if (getattr(pipe, "cfg", None) or {}).get("threshold") == AUTO
        and group_written_by(pipe) is not None
        and name not in frozen
    ]


def _with_copies(nlp: Language, names: List[str]) -> Language:
    """RETURNS (Language): the same pipeline and weights, but the named components have
    settings of their own, and it has its own `meta`.
    """
    copied = copy(nlp)
    components = []
    for name, component in nlp.components:
        pipe: Any = component
        if name in names:
            pipe = copy(component)
            pipe.cfg = dict(pipe.cfg)
            if isinstance(pipe, SpanRecognizer):
                pipe.doubt = Doubt(name)
                pipe.doubt.reported = True  # at the start, every span is likely
        components.append((name, pipe))
    # There is no documented way to replace a component and keep all else.
    vars(copied).update(_components=components, _meta=deepcopy(nlp.meta))
    return copied


def _in_rounds(nlp: Language, names: List[str]) -> Iterator[List[str]]:
    """YIELDS (List[str]): components that can predict at once with low thresholds:
    they write different groups. An ensemble reads the groups of others, so it waits
    until their thresholds are chosen.
    """
    group: List[str] = []
    keys: List[Optional[str]] = []
    for name in names:
        pipe = nlp.get_pipe(name)
        key = group_written_by(pipe)
        if group and (key in keys or isinstance(pipe, SpanEnsemble)):
            yield group
            group, keys = [], []
        group, keys = [*group, name], [*keys, key]
    yield group


def set_thresholds(
    nlp: Language,
    names: List[str],
    examples: List[Example],
    min_gold: int = MIN_GOLD,
    *,
    rescore: bool = False,
) -> Dict[str, Choice]:
    """Choose the thresholds of components with one prediction.

    nlp (Language): the pipeline, whose components are changed.
    names (List[str]): components with `threshold = "auto"`, which write different
        groups.
    examples (List[Example]): the documents to choose on.
    min_gold (int): see `make_auto_threshold`; warns (SW061) of fewer.
    rescore (bool): whether `performance` in `meta` gets the new scores.
    RETURNS (Dict[str, Choice]): by component; none for those that keep theirs.
    """
    sources = [
        SpanSource(key, name, pipe)
        for name in names
        for pipe in [nlp.get_pipe(name)]
        for key in [group_written_by(pipe)]
        if key is not None and _has_enough(name, pipe, key, examples, min_gold)
    ]
    if not sources:
        return {}
    with ExitStack() as stack:
        stack.enter_context(keeping_members(nlp))
        for source in sources:
            stack.enter_context(lowered_threshold(source, CURVE_FLOOR))
        predicted = predict(nlp, examples)
    choices: Dict[str, Choice] = {}
    for source in sources:
        annotated = annotated_examples(predicted, source.key)
        choice = choose_threshold(source, annotated)
        choices[source.name or source.key] = choice
        source.pipe.cfg[CHOSEN_THRESHOLD] = choice.after.threshold
        if rescore:
            score_again(nlp, source, examples, predicted)
    return choices


def _has_enough(
    name: str, pipe: Any, key: str, examples: List[Example], min_gold: int
) -> bool:
    """RETURNS (bool): whether there are enough gold spans; warns (SW061) if not."""
    n_gold = sum(len(annotated_spans(eg.reference, key) or ()) for eg in examples)
    if n_gold >= max(min_gold, 1):
        return True
    threshold = pipe.settings.threshold
    warnings.warn(
        Warnings.SW061.format(
            component=name, threshold=threshold, gold=n_gold, key=key, least=min_gold
        )
    )
    return False


def choose_threshold(source: SpanSource, examples: List[Example]) -> Choice:
    """Choose the threshold for strict F1, with the nearest one to the threshold in use
    out of nearly equal ones; labels with thresholds of their own keep them.

    examples (List[Example]): predicted with a low threshold.
    RETURNS (Choice): the scores before and after.
    """
    special = source.pipe.cfg.get("label_thresholds") or {}
    readings = [read_example(eg, source.key) for eg in examples]
    spans = scored_spans(_decided(one, special) for one in readings)
    in_use = float(source.pipe.settings.threshold)
    (before,) = threshold_curve(spans, [in_use])
    return Choice(before, near_best(threshold_curve(spans), before, f_objective()))


def _decided(reading: Reading, special: Any) -> Reading:
    """RETURNS (Reading): without the spans that do not reach the threshold of their
    label; those that do have no score, and so reach every threshold.
    """
    kept = {
        span: None if span[2] in special else score
        for span, score in reading.predicted.items()
        if score is None or not is_below(score, special.get(span[2], 0.0))
    }
    return reading._replace(predicted=kept)
