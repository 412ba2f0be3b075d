"""The trials of a search on disk: each a folder, finished when its result is there.

trials/3f2a.../config.cfg     the whole config
trials/3f2a.../trial.json     the order: what to train and to score
trials/3f2a.../log.txt        output of the training, where it had its own process
trials/3f2a.../model          the best pipeline, while its settings may be chosen
trials/3f2a.../result.json    written last, at once
"""

import hashlib
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from spacy.util import dict_to_dot, load_config, load_model_from_config
from thinc.api import Config

from ...errors import Errors
from ...files import locked, read_json, write_json
from ..run.digests import data_digests, digest
from .variants import SEED, Variant

TRIALS = "trials"
CONFIG, TRIAL, LOG = "config.cfg", "trial.json", "log.txt"
MODEL, RESULT = "model", "result.json"
ID_LENGTH = 12


class Plan(NamedTuple):
    """Common settings of several trainings.

    config (Path): the config.
    overrides (Dict[str, Any]): settings that differ from it in all trainings.
    test (Optional[Path]): documents to score the best model on, once.
    component (str): whose loss and scores are kept; not needed where there is one.
    curves (bool): whether loss and scores on the training data, and the loss on
        smoothed targets, are measured at each evaluation, too.
    """

    config: Path
    overrides: Dict[str, Any]
    test: Optional[Path] = None
    component: str = ""
    curves: bool = False

    def config_of(self, variant: Variant) -> Config:
        """RETURNS (Config): the whole config of a training."""
        overrides = {**self.overrides, **variant.overrides}
        return load_config(self.config, overrides=overrides, interpolate=True)


class Trial(NamedTuple):
    """One training of a search, and the folder with everything about it."""

    variant: Variant
    folder: Path

    @property
    def title(self) -> str:
        """Settings and seed in words."""
        seed = self.variant.overrides.get(SEED)
        return (
            self.variant.name if seed is None else f"{self.variant.name}, seed {seed}"
        )

    def result(self) -> Optional[Dict[str, Any]]:
        """RETURNS (Optional[Dict[str, Any]]): see `one_trial.train_variant`."""
        path = self.folder / RESULT
        if not path.exists():
            return None
        # Another search may have trained the same under another name.
        own = {"name": self.variant.name, "overrides": self.variant.overrides}
        return {**read_json(path), **own}

    def take_result(self, result: Dict[str, Any]) -> None:
        """Finish the trial."""
        write_json(self.folder / RESULT, result)


class Machine(NamedTuple):
    """Whether processes train on a GPU, and the Python file that they import first."""

    gpu: bool = False
    code: Optional[Path] = None


CPU = Machine()


@contextmanager
def opened_trials(
    plan: Plan,
    variants: Sequence[Variant],
    output: Path,
    machine: Machine = CPU,
    *,
    keep_models: bool = False,
) -> Iterator[List[Trial]]:
    """Prepare the folders of trials, and keep other searches away.

    keep_models (bool): whether trials store their pipelines.
    YIELDS (List[Trial]): in the order of the variants; finished ones stay as they are.
        A trial is found again by its config and its data, whatever else is searched.
    RAISES (ValueError): SP125 while another process uses the folder, SP136 for settings
        that the config does not have.
    """
    require_settings(plan, variants)
    configs = [plan.config_of(variant) for variant in variants]
    data: List[Any] = [data_digests(config) for config in configs[:1]]
    scored = [] if plan.test is None else [digest(plan.test)]
    trials = []
    with locked(output / TRIALS / ".lock", output):
        for variant, config in zip(variants, configs):
            order = _order(plan, variant, machine, keep_models)
            content = [config.to_str(), *data, order["later"], plan.component, *scored]
            content += ["curves"] * plan.curves
            text = json.dumps(content, sort_keys=True)
            name = hashlib.sha256(text.encode("utf8")).hexdigest()[:ID_LENGTH]
            trial = Trial(variant, output / TRIALS / name)
            if trial.result() is None:
                shutil.rmtree(trial.folder, ignore_errors=True)  # half a trial is none
                trial.folder.mkdir(parents=True)
                config.to_disk(trial.folder / CONFIG)
                write_json(trial.folder / TRIAL, order)
            trials.append(trial)
        yield trials


def _order(
    plan: Plan, variant: Variant, machine: Machine, keep_model: bool
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what a process has to know besides the config."""
    return {
        **variant._asdict(),
        "later": dict(variant.later),
        "component": plan.component,
        "curves": plan.curves,
        "test": None if plan.test is None else str(plan.test),
        "keep_model": keep_model,
        "folder": os.getcwd(),  # where relative paths start from
        "gpu": machine.gpu,
        "code": None if machine.code is None else str(machine.code),
    }


def unfinished(trials: Sequence[Trial]) -> List[Trial]:
    """RETURNS (List[Trial]): those without a result."""
    return [trial for trial in trials if trial.result() is None]


def results_of(trials: Sequence[Trial]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): accounts of those that are finished."""
    found = (trial.result() for trial in trials)
    return [result for result in found if result is not None]


def require_settings(plan: Plan, variants: Sequence[Variant]) -> None:
    """Refuse settings that a config does not have, before anything is trained.

    RAISES (ValueError): SP136.
    """
    config = load_config(plan.config, overrides=plan.overrides, interpolate=True)
    known = set(dict_to_dot(config))
    named = {name for variant in variants for name in variant.overrides}
    if named - known:  # a config may leave out what has a default
        nlp = load_model_from_config(config, auto_fill=True)
        known |= set(dict_to_dot(nlp.config.interpolate()))
    unknown = sorted(named - known)
    if unknown:
        existing = sorted({other for name in unknown for other in _beside(name, known)})
        message = Errors.SP136.format(
            config=plan.config,
            settings=", ".join(unknown),
            existing=", ".join(existing),
        )
        raise ValueError(message)


def _beside(name: str, known: Set[str]) -> List[str]:
    """RETURNS (List[str]): settings in the innermost block of a name that exists."""
    block = name
    while block:
        block = block.rpartition(".")[0]
        start = f"{block}." if block else ""
        found = {
            start + other[len(start) :].split(".")[0]
            for other in known
            if other.startswith(start)
        }
        if found:
            return sorted(found)
    return []
