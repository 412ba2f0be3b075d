"""The trials of a search on disk: each a folder, finished when its result is there.

trials/3f2a.../config.cfg     the whole config
trials/3f2a.../trial.json     what is to be done
trials/3f2a.../log.txt        what the training printed
trials/3f2a.../model          the best pipeline, while its settings may be chosen
trials/3f2a.../result.json    written last, at once
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import srsly
from spacy.util import load_config

from ...files import write_json
from ..run.run_state import data_digests
from .experiments import Plan
from .variants import SEED, Variant

CONFIG, TRIAL, LOG = "config.cfg", "trial.json", "log.txt"
MODEL, RESULT = "model", "result.json"
ID_LENGTH = 12


class Trial(NamedTuple):
    """One training of a search.

    variant (Variant): what is trained.
    folder (Path): where everything about it is.
    """

    variant: Variant
    folder: Path

    @property
    def title(self) -> str:
        """Settings and seed in words."""
        return f"{self.variant.name}, seed {self.variant.overrides[SEED]}"

    def result(self) -> Optional[Dict[str, Any]]:
        """RETURNS (Optional[Dict[str, Any]]): the account, if the trial is finished."""
        path = self.folder / RESULT
        return srsly.read_json(path) if path.exists() else None

    def take_result(self, result: Dict[str, Any]) -> None:
        """Finish the trial."""
        write_json(self.folder / RESULT, result)


class Machine(NamedTuple):
    """What a trial needs around it.

    gpu (bool): whether to train on a GPU.
    code (Optional[Path]): Python file to import first.
    """

    gpu: bool = False
    code: Optional[Path] = None


def make_trials(
    plan: Plan, variants: Sequence[Variant], output: Path, machine: Machine
) -> List[Trial]:
    """Prepare the folders of trials; those that are finished stay as they are.

    plan (Plan): what the trials share.
    variants (Sequence[Variant]): how they differ.
    output (Path): folder of the search.
    machine (Machine): what they need around them.
    RETURNS (List[Trial]): in the order of the variants. A trial is found again by its
        config and its data, whatever else the search contains.
    """
    trials = []
    digests: Dict[str, str] = {}
    for variant in variants:
        overrides = {**plan.overrides, **variant.overrides}
        config = load_config(plan.config, overrides=overrides, interpolate=True)
        digests = digests or data_digests(config)
        later = dict(variant.later)
        content = [config.to_str(), digests, later, plan.component]
        text = json.dumps(content, sort_keys=True)
        name = hashlib.sha256(text.encode("utf8")).hexdigest()[:ID_LENGTH]
        trial = Trial(variant, output / "trials" / name)
        if trial.result() is None:
            shutil.rmtree(trial.folder, ignore_errors=True)  # half a trial is none
            trial.folder.mkdir(parents=True)
            config.to_disk(trial.folder / CONFIG)
            order = {
                **variant._asdict(),
                "later": later,
                "component": plan.component,
                "folder": os.getcwd(),  # where paths of the config start from
                "gpu": machine.gpu,
                "code": None if machine.code is None else str(machine.code),
            }
            write_json(trial.folder / TRIAL, order)
        trials.append(trial)
    return trials
