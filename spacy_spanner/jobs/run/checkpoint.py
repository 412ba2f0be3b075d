"""A training run on disk: written as a whole or not at all, read without pickle.

The folder of a run holds one folder for its last stored step:

    step-101/pipeline    what `nlp.to_disk` writes
    step-101/state.json  step, evaluations, random numbers, one record for each tensor
    step-101/tensors.pt  moments of the optimizer, random states of torch
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import torch
from spacy.language import Language
from torch import Tensor

from ...errors import Errors

FORMAT = 1
PIPELINE, STATE, TENSORS = "pipeline", "state.json", "tensors.pt"
# A folder of this name is not complete; a kill may leave one behind.
UNFINISHED = "unfinished"


class Evaluation(NamedTuple):
    """The score after a step."""

    score: float
    step: int


class Checkpoint(NamedTuple):
    """All that a run needs to go on, beside the pipeline.

    step, epoch (int): of the update that comes next.
    evaluations (List[Evaluation]): all so far; the last is of the step before.
    schedule_steps (int): how often the schedules of the optimizer moved on.
    data (Dict[str, str]): digests of the files of the corpora, by setting.
    random (Dict[str, Any]): see `random_states.random_numbers`.
    records (Dict[str, Dict[str, Any]]): see `tensor_states.tensor_records`.
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


def write_checkpoint(folder: Path, nlp: Language, checkpoint: Checkpoint) -> Path:
    """Store a run in place of what was stored of it before.

    Under its own name there is only what is complete and has reached the disk. What was
    stored before goes last of all.

    folder (Path): the folder of the run.
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
    _flush(unfinished)
    unfinished.rename(complete)
    for old in _stored(folder).values():
        if old != complete:
            shutil.rmtree(old)
    return complete


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read what was stored beside the pipeline.

    folder (Path): the folder of a step.
    RETURNS (Checkpoint): its tensors are on the CPU.
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
    """RETURNS (Optional[Path]): the folder of the last step that is complete."""
    stored = _stored(folder)
    return stored[max(stored)] if stored else None


def _stored(folder: Path) -> Dict[int, Path]:
    """RETURNS (Dict[int, Path]): complete folders by step."""
    names = {path: re.fullmatch(r"step-(\d+)", path.name) for path in folder.glob("*")}
    return {int(match[1]): path for path, match in names.items() if match}


def _flush(folder: Path) -> None:
    """Wait until files are on the disk: a machine may be switched off, too."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
