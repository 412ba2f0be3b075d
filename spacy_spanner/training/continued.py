"""The rest of a run as spaCy's `train` does it: printed, and saved in its output."""

import shutil
import sys
import warnings
from pathlib import Path
from typing import IO, Optional

from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    update_meta,
)

from ..errors import Warnings
from .resume import Remainder, continue_training


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
    frozen = run.training["frozen_components"]
    nlp = run.nlp
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        _keep_best(run, output)
    with nlp.select_pipes(disable=frozen):
        log_step, finalize_logger = run.training["logger"](nlp, stdout, stderr)
    n_steps = 0
    try:
        for info, is_best in continue_training(run):
            n_steps += 1
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(run.training, nlp, info)
                if output is not None:
                    info["output_path"] = str(_save(run, output / DIR_MODEL_LAST))
                    if is_best:
                        best = _emptied(output / DIR_MODEL_BEST)
                        shutil.copytree(output / DIR_MODEL_LAST, best)
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
        if output is not None and (n_steps or not (output / DIR_MODEL_LAST).exists()):
            _save(run, output / DIR_MODEL_LAST)
    return n_steps


def _keep_best(run: Remainder, output: Path) -> None:
    """See to the best model so far: the stored one, or what the first run has saved."""
    evaluations = run.checkpoint.evaluations
    best = max(evaluations)  # of equal scores the later one, as spaCy saves it
    if evaluations[-1].score == best.score:
        _save(run, output / DIR_MODEL_BEST)
    elif not (output / DIR_MODEL_BEST).exists():
        score = f"{best.score:.4f}"
        message = Warnings.SW110.format(step=best.step, score=score, folder=output)
        warnings.warn(message, stacklevel=3)


def _save(run: Remainder, folder: Path) -> Path:
    before_to_disk = create_before_to_disk_callback(run.training["before_to_disk"])
    before_to_disk(run.nlp).to_disk(_emptied(folder))
    return folder


def _emptied(folder: Path) -> Path:
    """Remove what an earlier pipeline has left there, which `to_disk` would keep."""
    if folder.exists():
        shutil.rmtree(folder)
    return folder
