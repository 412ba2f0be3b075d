"""What each process of a training does, from the config to the saved pipeline."""

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Dict, Optional

import torch
from spacy.cli._util import setup_gpu, show_validation_error
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from wasabi import msg

from ...errors import Errors
from .team import Team
from .training import keep_quiet, train_shared


def work(
    config_path: Path,
    output: Optional[Path],
    overrides: Dict[str, Any],
    *,
    local_rank: int,
    gpu: bool,
) -> None:
    """Train as one of the processes that torchrun has started.

    config_path (Path): the config, as for `spacy train`.
    output (Optional[Path]): for model-last and model-best.
    overrides (Dict[str, Any]): settings of the config that differ.
    local_rank (int): number of this process on its machine.
    gpu (bool): whether to learn on the GPU of this number.
    RAISES (ValueError): SP130 without torchrun, SP131 without GPUs for all.
    """
    signal.signal(signal.SIGTERM, _end)
    use_gpu = local_rank if gpu else -1
    if gpu and local_rank >= torch.cuda.device_count():
        raise ValueError(
            Errors.SP131.format(rank=local_rank, gpus=torch.cuda.device_count())
        )
    setup_gpu(use_gpu, silent=True)
    team = Team()
    if team.rank:
        keep_quiet()
    with show_validation_error(config_path):
        config = load_config(config_path, overrides=overrides, interpolate=False)
    with show_validation_error(config_path, hint_fill=False):
        nlp = init_nlp(config, use_gpu=use_gpu)
    if output is not None and not team.rank:
        output.mkdir(parents=True, exist_ok=True)
    train_shared(nlp, team, output, use_gpu=use_gpu)
    if output is not None and not team.rank:
        msg.good("Saved pipeline to output directory", output / "model-last")
    team.leave()


def _end(number: int, frame: Optional[FrameType]) -> None:
    """End by an exception, so that half-written folders are removed."""
    sys.exit(128 + number)
