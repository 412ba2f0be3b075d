"""The only call of spaCy's training loop, with the logging and saving around it.

Unlike in `spacy train`, a saved pipeline replaces the previous one only when it is
complete on disk, however the training ends.
"""

import shutil
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    NamedTuple,
    Optional,
    Tuple,
)

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
    update_meta,
)
from spacy.util import fix_random_seed, registry, resolve_dot_names

from ...files import new_folder

Batch = Any
Batches = Iterator[Tuple[int, Batch]]  # with the epoch of each
Info = Dict[str, Any]
Evaluate = Callable[[], Tuple[float, Dict[str, Any]]]
# A batch, the values for spaCy's loggers after it, and whether the pipeline is the best
# so far (None if it was not evaluated).
Step = Tuple[Batch, Info, Optional[bool]]


def training_settings(nlp: Language) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): `[training]` of an initialized pipeline, resolved after
    its seed was set, as in `spacy train`.
    """
    config = nlp.config.interpolate()
    if config["training"]["seed"] is not None:
        fix_random_seed(config["training"]["seed"])
    return registry.resolve(config["training"], schema=ConfigSchemaTraining)


def data_of(nlp: Language, training: Dict[str, Any]) -> Tuple[Batches, Evaluate]:
    """Set up the training batches and the evaluation of a pipeline.

    training (Dict[str, Any]): the block of the config, resolved.
    RETURNS (Tuple[Batches, Evaluate]): the batches, and spaCy's evaluation.
    """
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(nlp.config.interpolate(), names)
    batches = create_train_batches(
        nlp, train_corpus, training["batcher"], training["max_epochs"]
    )
    return batches, create_evaluation_callback(
        nlp, dev_corpus, training["score_weights"]
    )


def run_steps(
    nlp: Language, training: Dict[str, Any], batches: Batches, evaluate: Evaluate
) -> Iterator[Step]:
    """Train until the end, as the settings define it.

    training (Dict[str, Any]): the block of the config, resolved.
    evaluate (Evaluate): called when `eval_frequency` divides the step.
    YIELDS (Step): one for each batch.
    """
    yield from train_while_improving(
        nlp,
        training["optimizer"],
        batches,
        evaluate,
        dropout=training["dropout"],
        accumulate_gradient=training["accumulate_gradient"],
        patience=training["patience"],
        max_steps=training["max_steps"],
        eval_frequency=training["eval_frequency"],
        exclude=training["frozen_components"],
        annotating_components=training["annotating_components"],
        before_update=training["before_update"],
    )


class Outcome(NamedTuple):
    """A pipeline, its resolved `[training]`, and the folder that both models go to."""

    nlp: Language
    training: Dict[str, Any]
    output: Optional[Path]


def save_steps(
    outcome: Outcome,
    steps: Iterable[Tuple[Info, Optional[bool]]],
    *,
    stdout: IO,
    stderr: IO,
) -> int:
    """Train, print with the logger of the config, and save after evaluations.

    steps (Iterable): the values for spaCy's loggers, and whether it is the best.
    RETURNS (int): the number of steps.
    """
    nlp, training, output = outcome
    frozen = training["frozen_components"]
    with nlp.select_pipes(disable=frozen):
        log_step, finalize_logger = training["logger"](nlp, stdout, stderr)
    n_steps = 0
    try:
        for info, is_best in steps:
            n_steps += 1
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(training, nlp, info)
                if output is not None:
                    _save(outcome, output, is_best)
                    info["output_path"] = str(output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
        if output is not None and (n_steps or not (output / DIR_MODEL_LAST).exists()):
            _save(outcome, output, is_best=False)
    return n_steps


def _save(outcome: Outcome, output: Path, is_best: bool) -> None:
    last, best = output / DIR_MODEL_LAST, output / DIR_MODEL_BEST
    save_pipeline(outcome.nlp, outcome.training, last)
    if is_best:
        with new_folder(best, force=True) as folder:
            shutil.copytree(last, folder, dirs_exist_ok=True)


def save_pipeline(nlp: Language, training: Dict[str, Any], path: Path) -> None:
    """Save a pipeline, replacing an existing one at once, with the moving averages of
    its weights if the optimizer has them.
    """
    before_to_disk = create_before_to_disk_callback(training["before_to_disk"])
    averages = training["optimizer"].averages
    with new_folder(path, force=True) as folder, nlp.use_params(averages):
        before_to_disk(nlp).to_disk(folder)
