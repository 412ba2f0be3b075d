"""Run the trials of a search one after the other, each in a process of its own."""

import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, List, Sequence

from .trials import LOG, MODEL, Trial

# Is told of each trial that has ended, whether it is finished or has failed.
AfterEach = Callable[[Trial], None]
# Runs trials that are not finished.
Engine = Callable[[Sequence[Trial], AfterEach], None]


def run_in_sequence(trials: Sequence[Trial], after_each: AfterEach) -> None:
    """Train trials in the order given; one that fails stops nothing.

    trials (Sequence[Trial]): those that are not finished.
    after_each (AfterEach): called after each.
    """
    for trial in trials:
        command = [sys.executable, "-m", "spacy_spanner.jobs.search", str(trial.folder)]
        with (trial.folder / LOG).open("w", encoding="utf8") as log:
            subprocess.run(command, stdout=log, stderr=log)
        after_each(trial)


def results_of(trials: Sequence[Trial]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): accounts of those that are finished."""
    found = (trial.result() for trial in trials)
    return [result for result in found if result is not None]


def drop_models(trials: Sequence[Trial], best: str) -> None:
    """Remove the pipelines of settings that lost.

    trials (Sequence[Trial]): all.
    best (str): name of the variant that is the best so far.
    """
    groups: Dict[str, List[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.variant.name, []).append(trial)
    for name, group in groups.items():
        if name != best and len(results_of(group)) == len(group):
            for trial in group:
                shutil.rmtree(trial.folder / MODEL, ignore_errors=True)
