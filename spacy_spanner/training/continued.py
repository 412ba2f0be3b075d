"""The rest of a run as spaCy's `train` does it: printed, and saved in its output."""

import shutil
import sys
from pathlib import Path
from typing import IO, Optional

from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    update_meta,
)
from spacy.util import logger

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
    before_to_disk = create_before_to_disk_callback(run.training["before_to_disk"])
    frozen = run.training["frozen_components"]
    nlp = run.nlp

    def save(is_best: Optional[bool]) -> None:
        if output is not None:
            before_to_disk(nlp).to_disk(_emptied(output / DIR_MODEL_LAST))
            if is_best:
                best = _emptied(output / DIR_MODEL_BEST)
                shutil.copytree(output / DIR_MODEL_LAST, best)

    save(_last_is_best(run))
    _tell_missing_best(run, output)
    with nlp.select_pipes(disable=frozen):
        log_step, finalize_logger = run.training["logger"](nlp, stdout, stderr)
    n_steps = 0
    try:
        for info, is_best in continue_training(run):
            n_steps += 1
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(run.training, nlp, info)
                save(is_best)
                if output is not None:
                    info["output_path"] = str(output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    finally:
        finalize_logger()
        save(False)
    return n_steps


def _emptied(folder: Path) -> Path:
    """Remove what an earlier pipeline has left there, which `to_disk` would keep."""
    if folder.exists():
        shutil.rmtree(folder)
    return folder


def _last_is_best(run: Remainder) -> bool:
    """RETURNS (bool): whether the stored pipeline itself is the best so far."""
    evaluations = run.checkpoint.evaluations
    return evaluations[-1].score == max(evaluations).score


def _tell_missing_best(run: Remainder, output: Optional[Path]) -> None:
    """Warn when the best model so far is only where the run was stopped."""
    if output is None or (output / DIR_MODEL_BEST).exists():
        return
    best = max(run.checkpoint.evaluations)
    message = Warnings.SW110.format(step=best.step, score=best.score, folder=output)
    logger.warning(message)
