"""The rest of a run as spaCy's `train` does it: printed, and saved in its output."""

import sys
import warnings
from pathlib import Path
from typing import IO, Optional

from spacy.training.loop import DIR_MODEL_BEST

from ...errors import Warnings
from .resuming import Remainder, continue_training
from .saving import Outcome, save_pipeline, save_steps


def finish_run(
    run: Remainder,
    output: Optional[Path] = None,
    *,
    stdout: IO = sys.stdout,
    stderr: IO = sys.stderr,
) -> int:
    """Train for the steps that remain, with the logger of the config.

    run (Remainder): what `load_run` gives.
    output (Optional[Path]): gets model-last and model-best. A model-best that is there
        stays until a better one comes.
    stdout, stderr (IO): for the logger.
    RETURNS (int): steps that were trained; 0 if the run was complete.
    """
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        _keep_best(run, output)
    outcome = Outcome(run.nlp, run.training, output)
    return save_steps(outcome, continue_training(run), stdout=stdout, stderr=stderr)


def _keep_best(run: Remainder, output: Path) -> None:
    """See to the best model so far: the stored one, or what the first run has saved."""
    evaluations = run.checkpoint.evaluations
    best = max(evaluations)  # of equal scores the later one, as spaCy saves it
    if evaluations[-1].score == best.score:
        save_pipeline(run.nlp, run.training, output / DIR_MODEL_BEST)
    elif not (output / DIR_MODEL_BEST).exists():
        score = f"{best.score:.4f}"
        message = Warnings.SW110.format(step=best.step, score=score, folder=output)
        warnings.warn(message, stacklevel=3)
