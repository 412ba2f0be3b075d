"""What spaCy's `train` does around its loop: print, and save the pipelines.

Unlike there, a pipeline takes its place only when it is complete on the disk, so that
whatever ends the training leaves the one before.
"""

import shutil
from pathlib import Path
from typing import IO, Any, Dict, Iterable, NamedTuple, Optional, Tuple

from spacy.language import Language
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    update_meta,
)

from ...files import new_folder
from .steps import Info


class Outcome(NamedTuple):
    """What is trained, and where it goes.

    nlp (Language): the pipeline.
    training (Dict[str, Any]): the block of the config, resolved.
    output (Optional[Path]): gets model-last and model-best.
    """

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

    outcome (Outcome): what is trained, and where it goes.
    steps (Iterable): what spaCy tells its loggers, and whether it is the best.
    stdout, stderr (IO): for the logger.
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
    """Save a pipeline in place of what is there, at once.

    nlp (Language): the pipeline; moving averages of its weights are used where the
        optimizer has them.
    training (Dict[str, Any]): the block of the config, resolved.
    path (Path): the folder.
    """
    before_to_disk = create_before_to_disk_callback(training["before_to_disk"])
    averages = training["optimizer"].averages
    with new_folder(path, force=True) as folder, nlp.use_params(averages):
        before_to_disk(nlp).to_disk(folder)
