"""Train with variations of a config, and keep what training tells."""

import time
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
)

from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config, resolve_dot_names

from ...evaluation.analyses.dev_loss import find_component, mean_loss, prepare_examples
from ...evaluation.predicting import Track, predict, read_corpus, untracked
from ...evaluation.scorer import score_spans
from ...files import new_folder
from ..run.training_loop import data_of, run_steps, training_settings
from .variants import Variant


class Plan(NamedTuple):
    """What all trainings share.

    config (Path): the config.
    overrides (Dict[str, Any]): settings that differ in all trainings.
    test (Optional[Path]): documents to score the best model on, once.
    component (str): whose loss and scores are kept; found where there is one.
    """

    config: Path
    overrides: Dict[str, Any]
    test: Optional[Path] = None
    component: str = ""


def run_variants(
    plan: Plan, variants: Sequence[Variant], *, track: Track = untracked
) -> List[Dict[str, Any]]:
    """Train every variant from scratch.

    plan (Plan): what they share.
    variants (Sequence[Variant]): how they differ.
    track (Track): shows the progress.
    RETURNS (List[Dict[str, Any]]): for each the `name`, the `component` that was looked
        at, the `overrides`, the `history`
        (`step`, `epoch`, `loss`, `p`, `r`, `f` on the development data), all `scores`
        of the best model there ("dev") and on the "test" data, the same after "later"
        changes, and the `seconds`.
    """
    return [train_variant(plan, variant, track=track) for variant in variants]


def unwatched(row: Dict[str, Any]) -> None:
    """Take no notice of a row."""


def train_variant(
    plan: Plan,
    variant: Variant,
    *,
    track: Track = untracked,
    watch: Callable[[Dict[str, Any]], None] = unwatched,
    keep: Optional[Path] = None,
) -> Dict[str, Any]:
    """Train one variant from scratch.

    plan, variant, track: see `run_variants`.
    watch (Callable): is told each row of the history at once.
    keep (Optional[Path]): folder for the best pipeline.
    RETURNS (Dict[str, Any]): the account of the training; see `run_variants`.
    """
    start = time.perf_counter()
    overrides = {**plan.overrides, **variant.overrides}
    config = load_config(plan.config, overrides=overrides, interpolate=True)
    nlp = init_nlp(config)
    name = find_component(nlp, plan.component)
    history = []
    for row in train_recorded(nlp, name, what=variant.name, track=track):
        history.append(row)
        watch(row)
    if keep is not None:
        with new_folder(keep, force=True) as folder:
            nlp.to_disk(folder)
    scores = score_parts(nlp, name, plan)
    pipe: Any = nlp.get_pipe(name)
    later = {}
    for changed, settings in variant.later.items():
        saved = dict(pipe.cfg)
        pipe.cfg.update(settings)
        later[changed] = score_parts(nlp, name, plan)
        pipe.cfg.update(saved)
    return {
        "name": variant.name,
        "component": name,
        "overrides": variant.overrides,
        "history": history,
        "scores": scores,
        "later": later,
        "seconds": time.perf_counter() - start,
    }


def score_parts(nlp: Language, name: str, plan: Plan) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): scores on "dev", and on "test" if given."""
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    scores = {"dev": scores_of(nlp, read_dev(nlp), key)}
    if plan.test is not None:
        scores["test"] = scores_of(nlp, read_corpus(plan.test, nlp, key), key)
    return scores


def train_recorded(
    nlp: Language, name: str, *, what: str, track: Track
) -> Iterator[Dict[str, Any]]:
    """Train as `spacy train` does; in the end the pipeline is the best one seen.

    nlp (Language): an initialized pipeline with its config.
    name (str): the component whose loss is measured.
    what (str): the training, for the display of progress.
    YIELDS (Dict[str, Any]): one row for each look at the development data.
    """
    settings = training_settings(nlp)
    pipe: Any = nlp.get_pipe(name)
    key, dev = pipe.cfg["spans_key"], read_dev(nlp)
    steps = run_steps(nlp, settings, *data_of(nlp, settings))
    best = b""
    for _, info, is_best in track(steps, total=settings["max_steps"] + 1, what=what):
        if is_best is None:
            continue
        if is_best:
            best = nlp.to_bytes()
        scores = info["other_scores"]
        yield {
            "step": info["step"],
            "epoch": info["epoch"],
            "loss": mean_loss(pipe, prepare_examples(nlp, name, dev)),
            **{x: scores.get(f"spans_{key}_{x}") or 0.0 for x in "prf"},
        }
    nlp.from_bytes(best)


def count_documents(plan: Plan) -> int:
    """RETURNS (int): documents in the training data of a plan."""
    config = load_config(plan.config, overrides=plan.overrides, interpolate=True)
    (corpus,) = resolve_dot_names(config, [config["training"]["train_corpus"]])
    return sum(1 for _ in corpus(load_model_from_config(config, auto_fill=True)))


def read_dev(nlp: Language) -> List[Example]:
    """RETURNS (List[Example]): the development data of a pipeline's config."""
    config = nlp.config.interpolate()
    (corpus,) = resolve_dot_names(config, [config["training"]["dev_corpus"]])
    return list(corpus(nlp))


def scores_of(nlp: Language, examples: Sequence[Example], key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): all scores of the group, without their prefix."""
    prefix = f"spans_{key}_"
    scores = score_spans(predict(nlp, examples), spans_key=key)
    return {name[len(prefix) :]: value for name, value in scores.items()}
