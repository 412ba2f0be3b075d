"""Start the processes of a training on this machine, as torchrun does."""

import logging
import os
import sys
import uuid
from pathlib import Path
from typing import List, Optional

from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from ...errors import Errors

THREADS = "OMP_NUM_THREADS"


def launch_training(n_proc: int, arguments: List[str], output: Optional[Path]) -> None:
    """Train with several processes on this machine, and wait for them. They share the
    cores, unless the environment sets the number of threads.

    arguments (List[str]): of `python -m spacy_spanner.jobs.parallel train`.
    output (Optional[Path]): folder of the pipelines, for the message.
    RAISES (ChildProcessError): SP134 if one fails; the others are stopped.
    """
    os.environ.setdefault(THREADS, str(max(1, (os.cpu_count() or 1) // n_proc)))
    logging.getLogger("torch.distributed.elastic").setLevel(logging.ERROR)
    config = LaunchConfig(
        run_id=str(uuid.uuid4()),
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n_proc,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
    )
    command = ["-m", "spacy_spanner.jobs.parallel", "train", *arguments]
    try:
        elastic_launch(config, entrypoint=sys.executable)(*command)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise ChildProcessError(
            Errors.SP134.format(
                rank=rank, n_proc=n_proc, how=_how(failure), left=_left(output)
            )
        ) from error


def _how(failure: ProcessFailure) -> str:
    if failure.exitcode < 0:
        return f"by the signal {failure.signal_name()}"
    return f"with exit code {failure.exitcode}"


def _left(output: Optional[Path]) -> str:
    """RETURNS (str): the existing pipelines, in words."""
    paths = [] if output is None else sorted(output.glob("model-*"))
    return ", ".join(map(str, paths)) or "none"
