"""Resume a run from its checkpoint, in spaCy's training loop.

spaCy's loop begins at step 0 with an evaluation. Here, its step 0 represents the last
evaluated step of the checkpoint: it gets an empty batch and the saved score, and
changes no weight, because a pipeline that was just loaded has no gradients. The state
of the optimizer is restored before this step, the rest of the checkpoint after it.
"""

import random
import sys
import warnings
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Dict, Iterator, NamedTuple, Optional, Tuple

from spacy.language import Language
from spacy.training.loop import DIR_MODEL_BEST
from spacy.util import load_config, load_model
from thinc.api import Config, set_gpu_allocator

from ...errors import Errors, Warnings
from ...pipeline.config_checks import warn_of_unevaluated_end
from ...training.callbacks import BeforeUpdate
from .checkpoint import (
    PIPELINE,
    Checkpoint,
    Run,
    last_checkpoint,
    read_checkpoint,
    storing_callbacks,
)
from .digests import data_digests, data_paths
from .optimizer_state import require_known, restore_optimizer
from .run_state import (
    OWN,
    PYTHON,
    plain_state,
    python_state,
    require_same_tensors,
    restore_random,
    restore_tensors,
    separate_order,
)
from .training_loop import (
    Batches,
    Evaluate,
    Info,
    Outcome,
    data_of,
    run_steps,
    save_pipeline,
    save_steps,
    training_settings,
)

# Settings that decide whether the last step is evaluated.
STEPS = {"training.max_steps", "training.eval_frequency"}


class Remainder(NamedTuple):
    """A run that is ready to be resumed.

    nlp (Language): the pipeline of the checkpoint.
    training (Dict[str, Any]): the block of the config, resolved.
    checkpoint (Checkpoint): the rest of the state.
    batches (Batches): of the remaining updates.
    evaluate (Callable): spaCy's evaluation.
    words (int): number of words in the batches so far.
    """

    nlp: Language
    training: Dict[str, Any]
    checkpoint: Checkpoint
    batches: Batches
    evaluate: Evaluate
    words: int

    @property
    def done(self) -> int:
        """The last completed step, which was evaluated."""
        return self.checkpoint.step - 1


def load_run(
    folder: Path, *, use_gpu: int = -1, overrides: Optional[Dict[str, Any]] = None
) -> Remainder:
    """Load a run, and skip the batches that it has already seen.

    folder (Path): the `path` of `spacy_spanner.checkpoint.v1`.
    use_gpu (int): number of the GPU, or -1.
    overrides (Optional[Dict[str, Any]]): settings in dot notation, such as another
        "paths.train".
    RETURNS (Remainder): for `continue_training`. New checkpoints replace the old one.
    RAISES (ValueError): SP110, SP112 to SP117 if something does not fit the run.
    """
    stored = last_checkpoint(folder)
    if stored is None:
        raise ValueError(Errors.SP112.format(folder=folder))
    checkpoint = read_checkpoint(stored)
    nlp = _load_pipeline(stored / PIPELINE, checkpoint, use_gpu, overrides or {})
    training = training_settings(nlp)
    batches, evaluate = data_of(nlp, training)
    words, rest = _pass_over(batches, checkpoint, training["seed"])
    scores = list(checkpoint.evaluations)
    optimizer = training["optimizer"]
    restore_optimizer(nlp, optimizer, checkpoint.records, checkpoint.tensors)
    own = random.Random()
    # Checkpoints of earlier versions have no other generator.
    own.setstate(python_state(checkpoint.random.get(OWN, checkpoint.random[PYTHON])))
    separate_order(nlp, own)
    run = Run(folder, training["eval_frequency"], checkpoint.data, own, scores)
    for callback in storing_callbacks(training["before_update"]):
        callback.run = run
    return Remainder(nlp, training, checkpoint, rest, evaluate, words)


def _load_pipeline(
    path: Path, checkpoint: Checkpoint, use_gpu: int, overrides: Dict[str, Any]
) -> Language:
    """Check the config of the pipeline, and load the pipeline.

    RAISES (ValueError): SP110, SP113, SP115, SP117.
    """
    config = load_config(path / "config.cfg", overrides=overrides, interpolate=True)
    require_known(config["training"]["optimizer"])
    done, frequency = checkpoint.step - 1, config["training"]["eval_frequency"]
    if done % frequency:
        raise ValueError(Errors.SP117.format(step=done, frequency=frequency))
    if not STEPS.isdisjoint(overrides):
        warn_of_unevaluated_end(config["training"])
    _require_same_data(config, checkpoint.data)
    if use_gpu >= 0 and config["training"]["gpu_allocator"]:
        set_gpu_allocator(config["training"]["gpu_allocator"])
    nlp = load_model(path, config=overrides)
    require_same_tensors(nlp, checkpoint.records)
    return nlp


def _require_same_data(config: Config, stored: Dict[str, str]) -> None:
    """RAISES (ValueError): SP115 if files of the corpora have changed."""
    present, paths = data_digests(config), dict(data_paths(config))
    for name, digest in stored.items():
        if present.get(name) != digest:
            raise ValueError(Errors.SP115.format(corpus=name, path=paths.get(name)))


def _pass_over(
    batches: Batches, checkpoint: Checkpoint, seed: Optional[int]
) -> Tuple[int, Batches]:
    """Draw the batches of the completed updates again.

    RETURNS (Tuple[int, Batches]): words in them, and the remaining batches.
    RAISES (ValueError): SP114 if they are in a different order.
    """
    words = sum(sum(map(len, batch)) for _, batch in islice(batches, checkpoint.step))
    # The checkpoint is written after the next batch was drawn, perhaps after shuffling.
    following = list(islice(batches, 1))
    if following and plain_state(random.getstate()) != checkpoint.random[PYTHON]:
        raise ValueError(Errors.SP114.format(step=checkpoint.step, seed=seed))
    return words, chain(following, batches)


def continue_training(run: Remainder) -> Iterator[Tuple[Info, Optional[bool]]]:
    """Train for the remaining steps; a run can be used once.

    YIELDS (Tuple[Dict[str, Any], Optional[bool]]): after each step, the values for
        spaCy's loggers, and whether it is the best (None if it was not evaluated).
    """
    training, done = run.training, run.done
    if training["max_steps"] and done >= training["max_steps"]:
        return
    *earlier, last = run.checkpoint.evaluations
    remaining = {
        "max_steps": training["max_steps"] and training["max_steps"] - done,
        "before_update": _counted_from(done, training["before_update"]),
    }
    steps = run_steps(
        run.nlp,
        {**training, **remaining},
        chain([(run.checkpoint.epoch, [])], run.batches),
        _given_first((last.score, {}), run.evaluate),
    )
    _, info, _ = next(steps)
    # The loop looks for the best evaluation in this list.
    info["checkpoints"][:0] = [(score, step - done) for score, step in earlier]
    _restore(run)
    for _, info, is_best in steps:
        results = [(score, step + done) for score, step in info["checkpoints"]]
        whole = {"step": info["step"] + done, "words": info["words"] + run.words}
        yield {**info, **whole, "checkpoints": results}, is_best


def _given_first(given: Tuple[float, Dict[str, Any]], evaluate: Evaluate) -> Evaluate:
    """RETURNS (Callable): returns known scores once, then evaluates."""
    known = [given]
    return lambda: known.pop() if known else evaluate()


def _counted_from(done: int, before_update: Optional[BeforeUpdate]) -> BeforeUpdate:
    """RETURNS (Callable): a callback that counts the steps of the whole run."""

    def call(nlp: Language, info: Info) -> None:
        if before_update is not None and info["step"] > 0:
            before_update(nlp, {**info, "step": info["step"] + done})

    return call


def _restore(run: Remainder) -> None:
    """Restore what the first step of the loop would have changed."""
    checkpoint = run.checkpoint
    restore_tensors(run.nlp, checkpoint.records)
    for _ in range(checkpoint.schedule_steps - 1):  # the first step was one
        run.training["optimizer"].step_schedules()
    restore_random(run.nlp, checkpoint.random, checkpoint.tensors)


def finish_run(
    run: Remainder,
    output: Optional[Path] = None,
    *,
    stdout: IO = sys.stdout,
    stderr: IO = sys.stderr,
) -> int:
    """Train for the remaining steps, with the logger of the config.

    run (Remainder): the result of `load_run`.
    output (Optional[Path]): folder for model-last and model-best. An existing
        model-best stays until there is a better one.
    RETURNS (int): number of trained steps; 0 if the run was complete.
    """
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        _keep_best(run, output)
    outcome = Outcome(run.nlp, run.training, output)
    return save_steps(outcome, continue_training(run), stdout=stdout, stderr=stderr)


def _keep_best(run: Remainder, output: Path) -> None:
    """Keep the best model so far: that of the checkpoint, or of the first run."""
    evaluations = run.checkpoint.evaluations
    best = max(evaluations)  # with equal scores the later one, as in spaCy
    if evaluations[-1].score == best.score:
        save_pipeline(run.nlp, run.training, output / DIR_MODEL_BEST)
    elif not (output / DIR_MODEL_BEST).exists():
        score = f"{best.score:.4f}"
        message = Warnings.SW110.format(step=best.step, score=score, folder=output)
        warnings.warn(message, stacklevel=3)
