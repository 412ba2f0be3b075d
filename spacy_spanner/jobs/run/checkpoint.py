"""`spacy_spanner.checkpoint.v1`: a callback that saves a run so that it can be resumed.

A checkpoint is written completely or not at all, and read without pickle. The folder of
a run holds one folder, for the last saved step:

    step-101/pipeline    what `nlp.to_disk` writes
    step-101/state.json  step, evaluations, random numbers, one record for each tensor
    step-101/tensors.pt  moments of the optimizer, random states of torch
"""

import json
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import torch
from spacy.language import Language
from spacy.util import registry
from torch import Tensor

from ...errors import Errors
from ...files import flush_names, flush_to_disk
from ...settings import at_least, require, text
from ...training.callbacks import BeforeUpdate, single_callbacks
from .digests import data_digests
from .optimizer_state import find_optimizer, moments_of, require_known
from .run_state import random_numbers, random_tensors, separate_order, tensor_records

FORMAT = 1
PIPELINE, STATE, TENSORS = "pipeline", "state.json", "tensors.pt"
# A folder with this name is incomplete; a killed process may leave one.
UNFINISHED = "unfinished"


class Evaluation(NamedTuple):
    """The score after a step."""

    score: float
    step: int


class Checkpoint(NamedTuple):
    """The state of a run, except for the pipeline.

    step, epoch (int): of the next update.
    evaluations (List[Evaluation]): all so far; the last one after the previous step.
    schedule_steps (int): number of steps of the optimizer's schedules.
    data (Dict[str, str]): digests of the files of the corpora, by setting.
    random (Dict[str, Any]): see `run_state.random_numbers`.
    records (Dict[str, Dict[str, Any]]): see `run_state.tensor_records`.
    tensors (Dict[str, Tensor]): moments, and random states of torch.
    """

    step: int
    epoch: int
    evaluations: List[Evaluation]
    schedule_steps: int
    data: Dict[str, str]
    random: Dict[str, Any]
    records: Dict[str, Dict[str, Any]]
    tensors: Dict[str, Tensor]


@dataclass
class Run:
    """A training run with checkpoints. It is evaluated when `eval_frequency` divides
    the step; `data` are digests of its files, and updates draw from `own`.
    """

    folder: Path
    eval_frequency: int
    data: Dict[str, str]
    own: random.Random = field(default_factory=random.Random)
    evaluations: List[Evaluation] = field(default_factory=list)


@dataclass
class StoreRun:
    """Saves a run after evaluations, as a callback for `[training.before_update]`.

    It saves the state right after an evaluation: just before the next update, when the
    losses were reset and spaCy has saved the pipeline.

    path, every: see `make_checkpoint`.
    run (Optional[Run]): None before the first step, or the resumed run.
    writes (bool): whether this process writes the files.
    """

    path: Path
    every: int
    run: Optional[Run] = None
    writes: bool = True

    def __call__(self, nlp: Language, info: Dict[str, Any]) -> None:
        """Save the run if the last step was followed by an evaluation."""
        if not self.writes:
            return
        if info["step"] == 0 or self.run is None:
            self.run = _begin(nlp, self.path)
        run, done = self.run, info["step"] - 1
        if done < 0 or done % run.eval_frequency:
            return
        if run.evaluations and run.evaluations[-1].step == done:
            return  # the run was resumed from here
        run.evaluations.append(Evaluation(last_score(nlp), done))
        if done // run.eval_frequency % self.every == 0:
            _store(nlp, run, info)


@registry.callbacks("spacy_spanner.checkpoint.v1")
def make_checkpoint(path: str, every: int = 1) -> StoreRun:
    """Save the run after evaluations, for `[training.before_update]`.

    path (str): folder for the run; only the last checkpoint is kept.
    every (int): number of evaluations from one checkpoint to the next.
    RETURNS (Callable): the callback.
    """
    require(text, path=path)
    require(at_least(1), every=every)
    return StoreRun(Path(path), every)


def storing_callbacks(before_update: Optional[BeforeUpdate]) -> Iterator[StoreRun]:
    """YIELDS (StoreRun): the checkpoint callbacks of a training."""
    for callback in single_callbacks(before_update):
        if isinstance(callback, StoreRun):
            yield callback


def _begin(nlp: Language, folder: Path) -> Run:
    """Fail at the first step if the run could not be saved later, and separate the
    random numbers of its updates from those that shuffle the data.

    RAISES (ValueError): SP110 for unknown optimizers, SP111 if there is a checkpoint.
    """
    config = nlp.config.interpolate()
    require_known(config["training"]["optimizer"])
    stored = last_checkpoint(folder)
    if stored is not None:
        step = stored.name.rsplit("-", 1)[1]
        raise ValueError(Errors.SP111.format(folder=folder, step=step))
    run = Run(folder, config["training"]["eval_frequency"], data_digests(config))
    run.own.setstate(random.getstate())
    separate_order(nlp, run.own)
    return run


def last_score(nlp: Language) -> float:
    """RETURNS (float): the weighted score of the last evaluation, computed as in spaCy,
    which writes the single scores to the meta data of the pipeline.
    """
    weights = nlp.config["training"]["score_weights"]
    scores = nlp.meta.get("performance", {})
    return sum(
        scores.get(name, 0.0) * weight
        for name, weight in weights.items()
        if weight is not None
    )


def _store(nlp: Language, run: Run, info: Dict[str, Any]) -> None:
    optimizer = find_optimizer(nlp)
    if optimizer is None:
        return  # no update has changed a weight: starting over loses nothing
    checkpoint = Checkpoint(
        step=info["step"],
        epoch=info["epoch"],
        evaluations=run.evaluations,
        schedule_steps=info["step"],
        data=run.data,
        random=random_numbers(nlp, run.own),
        records=tensor_records(nlp, optimizer),
        tensors={**moments_of(nlp, optimizer), **random_tensors(info["step"])},
    )
    write_checkpoint(run.folder, nlp, checkpoint)


def write_checkpoint(folder: Path, nlp: Language, checkpoint: Checkpoint) -> Path:
    """Replace the previous checkpoint of a run, which is deleted last. Only a complete
    checkpoint that has reached the disk gets its final name.

    RETURNS (Path): the folder of the step.
    """
    unfinished, complete = folder / UNFINISHED, folder / f"step-{checkpoint.step}"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    unfinished.mkdir(parents=True)
    nlp.to_disk(unfinished / PIPELINE)
    torch.save(checkpoint.tensors, unfinished / TENSORS)
    plain = {"format": FORMAT, **checkpoint._asdict(), "tensors": TENSORS}
    (unfinished / STATE).write_text(json.dumps(plain), encoding="utf8")
    flush_to_disk(unfinished)
    unfinished.rename(complete)
    flush_names(folder)
    for old in _stored(folder).values():
        if old != complete:
            shutil.rmtree(old)
    return complete


def read_checkpoint(folder: Path) -> Checkpoint:
    """RETURNS (Checkpoint): read from the folder of a step, with tensors on the CPU.
    RAISES (ValueError): SP116 if a later version wrote it.
    """
    plain = json.loads((folder / STATE).read_text(encoding="utf8"))
    found = plain.pop("format")
    if found != FORMAT:
        raise ValueError(Errors.SP116.format(folder=folder, found=found, known=FORMAT))
    evaluations = [Evaluation(*pair) for pair in plain.pop("evaluations")]
    path = folder / plain.pop("tensors")
    tensors = torch.load(path, map_location="cpu", weights_only=True)
    return Checkpoint(evaluations=evaluations, tensors=tensors, **plain)


def last_checkpoint(folder: Path) -> Optional[Path]:
    """RETURNS (Optional[Path]): the folder of the last complete checkpoint."""
    stored = _stored(folder)
    return stored[max(stored)] if stored else None


def _stored(folder: Path) -> Dict[int, Path]:
    """RETURNS (Dict[int, Path]): complete folders by step."""
    names = {path: re.fullmatch(r"step-(\d+)", path.name) for path in folder.glob("*")}
    return {int(match[1]): path for path, match in names.items() if match}
