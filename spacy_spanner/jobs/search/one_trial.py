"""Train one variant of a config, and keep an account of the training.

`python -m spacy_spanner.jobs.search.one_trial FOLDER` trains a trial of a search.
"""

import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
)

from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config

from ...evaluation.landscape import find_component, mean_loss, prepare_examples
from ...evaluation.predicting import Track, predict, read_corpus, untracked
from ...evaluation.scorer import score_spans
from ...files import new_folder, read_json, write_json
from ...pipeline.config_checks import corpus_of
from ..run.checkpoint import storing_callbacks
from ..run.training_loop import data_of, run_steps, training_settings
from ..spacy_commands import import_code, setup_gpu
from .trials import CONFIG, LOG, MODEL, RESULT, TRIAL, Plan, Trial
from .variants import Variant

# Takes each row of the history of a training.
Watch = Callable[[Dict[str, Any]], None]
# Takes each trial that has ended, whether it is finished or has failed.
AfterEach = Callable[[Trial], None]
# Runs trials that are not finished.
Engine = Callable[[Sequence[Trial], AfterEach], None]


def unwatched(_: Any) -> None:
    """Ignore a row of the history, or a trial."""


def run_here(
    trials: Sequence[Trial],
    after_each: AfterEach = unwatched,
    *,
    track: Track = untracked,
) -> None:
    """Train trials in this process; an error ends the search.

    track (Track): shows the progress.
    """
    for trial in trials:
        if trial.result() is None:  # two variants may be the same training
            run_trial(trial.folder, track=track)
        after_each(trial)


def run_in_sequence(trials: Sequence[Trial], after_each: AfterEach) -> None:
    """Train trials, each in a process of its own; one that fails stops nothing."""
    for trial in trials:
        if trial.result() is None:
            command = [sys.executable, "-m", __name__, str(trial.folder)]
            with (trial.folder / LOG).open("w", encoding="utf8") as log:
                subprocess.run(command, stdout=log, stderr=log)
        after_each(trial)


def run_alone(folder: Path, *, watch: Watch = unwatched) -> None:
    """Train the trial of a folder in a process that does nothing else."""
    order = read_json(folder / TRIAL)
    folder = folder.absolute()
    os.chdir(order["folder"])
    setup_gpu(0 if order["gpu"] else -1, silent=True)
    import_code(order["code"])
    run_trial(folder, watch=watch)


def run_trial(
    folder: Path, *, track: Track = untracked, watch: Watch = unwatched
) -> None:
    """Train the trial of a folder; the result is written last."""
    order = read_json(folder / TRIAL)
    variant = Variant(order["name"], {}, order["later"])
    test = None if order["test"] is None else Path(order["test"])
    # The config of the trial contains all overrides.
    curves = order.get("curves", False)
    plan = Plan(folder / CONFIG, {}, test, order["component"], curves)
    keep = folder / MODEL if order["keep_model"] else None
    result = train_variant(plan, variant, track=track, watch=watch, keep=keep)
    result["overrides"] = order["overrides"]
    write_json(folder / RESULT, result)


def train_variant(
    plan: Plan,
    variant: Variant,
    *,
    track: Track = untracked,
    watch: Watch = unwatched,
    keep: Optional[Path] = None,
) -> Dict[str, Any]:
    """Train one variant from scratch.

    plan (Plan): settings that it shares with others.
    variant (Variant): how it differs from them.
    track (Track): shows the progress.
    watch (Watch): called with each row of the history at once.
    keep (Optional[Path]): folder for the best pipeline.
    RETURNS (Dict[str, Any]): the account of the training: its `name`, the `component`
        that was scored, the `overrides`, the `history` (see `train_recorded`), all
        `scores` of the best model on the development data ("dev") and on the "test"
        data, the same after "later" changes, and the `seconds`.
    """
    start = time.perf_counter()
    nlp = init_nlp(plan.config_of(variant))
    name = find_component(nlp, plan.component)
    history = []
    curves = plan.curves
    for row in train_recorded(nlp, name, variant.name, track=track, curves=curves):
        history.append(row)
        watch(row)
    if keep is not None:
        with new_folder(keep, force=True) as folder:
            nlp.to_disk(folder)
    return {
        "name": variant.name,
        "component": name,
        "overrides": variant.overrides,
        "history": history,
        "scores": score_parts(nlp, name, plan),
        "later": score_changes(nlp, name, plan, variant.later),
        "seconds": time.perf_counter() - start,
    }


def score_changes(
    nlp: Language, name: str, plan: Plan, later: Mapping[str, Dict[str, Any]]
) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): scores after each change of settings."""
    pipe: Any = nlp.get_pipe(name)
    saved = dict(pipe.cfg)
    found = {}
    for changed, settings in later.items():
        pipe.cfg.update(settings)
        found[changed] = score_parts(nlp, name, plan)
        pipe.cfg.update(saved)
    return found


def score_parts(nlp: Language, name: str, plan: Plan) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): scores on "dev", and on "test" if given."""
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    scores = {"dev": scores_of(nlp, read_dev(nlp), key)}
    if plan.test is not None:
        scores["test"] = scores_of(nlp, read_corpus(plan.test, nlp, key), key)
    return scores


def train_recorded(
    nlp: Language, name: str, what: str, *, track: Track, curves: bool = False
) -> Iterator[Dict[str, Any]]:
    """Train as `spacy train` does; in the end the pipeline is the best one seen.

    name (str): the component whose loss is measured.
    what (str): the training, for the display of progress.
    curves (bool): see `Plan`.
    YIELDS (Dict[str, Any]): one row for each look at the development data: `step`,
        `epoch`, `loss` on hard targets, `p`, `r`, `f`; and what `train_curves` returns.
    """
    settings = training_settings(nlp)
    for callback in storing_callbacks(settings["before_update"]):
        callback.writes = False  # all trainings of a search have the same folder
    pipe: Any = nlp.get_pipe(name)
    key, dev = pipe.cfg["spans_key"], read_dev(nlp)
    sample = read_train(nlp, limit=len(dev)) if curves else []
    steps = run_steps(nlp, settings, *data_of(nlp, settings))
    best = b""
    for _, info, is_best in track(steps, total=settings["max_steps"] + 1, what=what):
        if is_best is None:
            continue
        scores = info["other_scores"]
        # With moving averages, these were evaluated, and not the weights.
        with nlp.use_params(settings["optimizer"].averages):
            if is_best:
                best = nlp.to_bytes()
            prepared = prepare_examples(nlp, name, dev)
            row = {
                "step": info["step"],
                "epoch": info["epoch"],
                "loss": mean_loss(pipe, prepared),
                **{x: scores.get(f"spans_{key}_{x}") or 0.0 for x in "prf"},
                **(train_curves(nlp, name, prepared, sample) if curves else {}),
            }
        yield row
    nlp.from_bytes(best)


def train_curves(
    nlp: Language, name: str, dev: Sequence[Example], sample: Sequence[Example]
) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): `smoothed_loss` on the development data with the
    targets of training; `train_loss` on hard targets and `train_f` on training data.

    dev (Sequence[Example]): as the component `name` gets them.
    sample (Sequence[Example]): training data.
    """
    pipe: Any = nlp.get_pipe(name)
    return {
        "smoothed_loss": mean_loss(pipe, dev, hard=False),
        "train_loss": mean_loss(pipe, prepare_examples(nlp, name, sample)),
        "train_f": scores_of(nlp, sample, pipe.cfg["spans_key"])["f"] or 0.0,
    }


def count_documents(plan: Plan) -> int:
    """RETURNS (int): documents in the training data of a plan."""
    config = load_config(plan.config, overrides=plan.overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    return sum(1 for _ in corpus_of(nlp, "train_corpus")(nlp))


def read_dev(nlp: Language) -> List[Example]:
    """RETURNS (List[Example]): the development data of a pipeline's config."""
    return list(corpus_of(nlp, "dev_corpus")(nlp))


def read_train(nlp: Language, *, limit: int) -> List[Example]:
    """RETURNS (List[Example]): the first documents of the training data of a config."""
    return list(islice(corpus_of(nlp, "train_corpus")(nlp), limit))


def scores_of(nlp: Language, examples: Sequence[Example], key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): all scores of the group, without their prefix."""
    prefix = f"spans_{key}_"
    scores = score_spans(predict(nlp, examples), spans_key=key)
    return {name[len(prefix) :]: value for name, value in scores.items()}


if __name__ == "__main__":
    run_alone(Path(sys.argv[1]))
