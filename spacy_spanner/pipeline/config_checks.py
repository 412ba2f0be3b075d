"""Check before training whether evaluations with this config can find the best model:
there are scores with a weight, there is gold to score on, and the last step is scored.
"""

import warnings
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Set, Tuple

from spacy.language import DEFAULT_CONFIG, Language
from spacy.training import Example
from spacy.util import resolve_dot_names

from ..errors import Errors, Warnings
from ..settings import AUTO
from .annotations import annotated_spans
from .score_weights import check_score_weights

# Steps from one evaluation to the next: a tenth of short trainings, and about this many
# in long ones.
USUAL_STEPS, SHARE = 200, 10
# The callback that chooses thresholds.
CHOOSER = "spacy_spanner.auto_threshold.v1"
KINDS = ("", "macro_", "flat_", "nested_")


class DevData(NamedTuple):
    """The development data of a config, up to the first gold span.

    n_docs (int): number of documents.
    keys (Set[str]): span groups in them.
    has_gold (bool): whether there is a gold span.
    """

    n_docs: int
    keys: Set[str]
    has_gold: bool


def check_config(
    nlp: Language, pipe: Any, get_examples: Callable[[], Iterable[Example]]
) -> None:
    """Check the evaluations of a training config, if the pipeline comes with one.

    nlp (Language): the pipeline, with the config.
    pipe (SpanRecognizer): the component that asks; named in messages.
    get_examples (Callable): examples to score.
    RAISES (ValueError): SP005 if a weight above 0 has no score, SP083 if the scores of
        the component have a weight, but the dev corpus has no gold to compare with.
    """
    if has_training_config(nlp):
        check_score_weights(nlp, pipe, get_examples)
        training = nlp.config.interpolate()["training"]
        warn_of_unevaluated_end(training)
        warn_of_no_choice(nlp, pipe)
        require_dev_data(nlp, pipe, training["score_weights"])


def has_training_config(nlp: Language) -> bool:
    """RETURNS (bool): whether the pipeline came with a config of its own to train."""
    # Without one, its settings are defaults that are not used.
    config = nlp.config
    given = any(path is not None for path in config["paths"].values())
    return given or config["corpora"] != DEFAULT_CONFIG["corpora"]


def corpus_of(nlp: Language, name: str) -> Callable[[Language], Iterable[Example]]:
    """RETURNS (Callable): the corpus that a pipeline's config has for a setting of
    `[training]`: "train_corpus" or "dev_corpus".
    """
    config = nlp.config.interpolate()
    (corpus,) = resolve_dot_names(config, [config["training"][name]])
    found: Callable[[Language], Iterable[Example]] = corpus
    return found


def warn_of_no_choice(nlp: Language, pipe: Any) -> None:
    """Warn (SW062) of the threshold "auto" in a training config without the callback
    that chooses it: the default would stay, and nothing would say so.

    pipe (Any): a component with a threshold.
    """
    if pipe.cfg.get("threshold") != AUTO or not has_training_config(nlp):
        return
    if CHOOSER not in _callback_names(nlp.config["training"]["before_to_disk"]):
        threshold = pipe.settings.threshold
        message = Warnings.SW062.format(component=pipe.name, threshold=threshold)
        warnings.warn(message, stacklevel=3)


def _callback_names(block: Any) -> Set[str]:
    """RETURNS (Set[str]): the registered names in a block of a config."""
    if not isinstance(block, dict):
        return set()
    inner = [_callback_names(value) for value in block.values()]
    return {block.get("@callbacks", "")}.union(*inner)


def require_dev_data(nlp: Language, pipe: Any, weights: Mapping[str, Any]) -> None:
    """RAISES (ValueError): SP083 if the scores of a component have a weight, but the
    dev corpus has no gold to compare with.
    """
    key = pipe.settings.spans_key
    names = [f"spans_{key}_{kind}{letter}" for kind in KINDS for letter in "prf"]
    if not any(weights.get(name) for name in names):
        return
    found = read_dev_data(nlp, key)
    if found is not None and not found.has_gold:
        existing = ", ".join(map(repr, sorted(found.keys))) or "none"
        raise ValueError(
            Errors.SP083.format(
                component=pipe.name, docs=found.n_docs, key=key, existing=existing
            )
        )


def read_dev_data(nlp: Language, key: str) -> Optional[DevData]:
    """RETURNS (Optional[DevData]): the data up to the first gold span of a key; None if
    they cannot be read, which spaCy reports when it trains.
    """
    n_docs = 0
    keys: Set[str] = set()
    try:
        for example in corpus_of(nlp, "dev_corpus")(nlp):
            n_docs += 1
            keys.update(example.reference.spans)
            if annotated_spans(example.reference, key):
                return DevData(n_docs, keys, True)
    except Exception:  # unset paths and users' readers raise errors of many types
        return None
    return DevData(n_docs, keys, False)


def warn_of_unevaluated_end(training: Mapping[str, Any]) -> None:
    """Warn (SW071) if spaCy, which evaluates when `eval_frequency` divides the step,
    will not evaluate the last one.

    training (Mapping[str, Any]): the block of the config, interpolated.
    """
    steps, frequency = training.get("max_steps"), training.get("eval_frequency")
    if steps and frequency and steps % frequency:
        better, suggestion = plan_evaluations(steps)
        message = Warnings.SW071.format(
            steps=steps,
            frequency=frequency,
            last=steps - steps % frequency,
            better=better,
            suggestion=suggestion,
        )
        warnings.warn(message, stacklevel=3)


def plan_evaluations(steps: int) -> Tuple[int, int]:
    """Choose how often to evaluate, so that the last step is evaluated.

    steps (int): number of steps to train.
    RETURNS (Tuple[int, int]): the steps, a few more if they cannot be divided evenly,
        and the number of steps from one evaluation to the next.
    """
    least = max(1, min(USUAL_STEPS, steps // SHARE))
    frequency = min(range(least, 2 * least), key=lambda size: -steps % size)
    return steps + -steps % frequency, frequency
