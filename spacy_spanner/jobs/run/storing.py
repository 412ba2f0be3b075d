"""`spacy_spanner.checkpoint.v1`: a callback that stores a run so that it can go on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.util import registry

from ...errors import Errors
from ...settings import at_least, require, text
from ...training.callbacks import ADAMW, BeforeUpdate
from ...training.optimizer import AdamW
from ...training.shares import writes_files
from .checkpoint import Checkpoint, Evaluation, last_checkpoint, write_checkpoint
from .digests import data_digests
from .random_states import random_numbers, random_tensors
from .tensor_states import moments_of, optimizer_of, tensor_records


@dataclass
class Run:
    """A training run that is being stored.

    folder (Path): where to.
    eval_frequency (int): spaCy evaluates after steps that this divides.
    data (Dict[str, str]): digests of the data.
    evaluations (List[Evaluation]): so far.
    """

    folder: Path
    eval_frequency: int
    data: Dict[str, str]
    evaluations: List[Evaluation] = field(default_factory=list)


# Callbacks come new from the config when a run goes on; the run is told here.
runs: "WeakKeyDictionary[Language, Run]" = WeakKeyDictionary()


@registry.callbacks("spacy_spanner.checkpoint.v1")
def make_checkpoint(path: str, every: int = 1) -> BeforeUpdate:
    """Store the run after evaluations, for `[training.before_update]`.

    What is stored is the state right after an evaluation: just before the next update,
    when losses have been counted anew and spaCy has saved the pipeline.

    path (str): folder for the run; it holds the last stored step only.
    every (int): evaluations from one stored step to the next.
    RETURNS (Callable): the callback.
    """
    require(text, path=path)
    require(at_least(1), every=every)

    def store_if_due(nlp: Language, info: Dict[str, Any]) -> None:
        if not writes_files():
            return
        if info["step"] == 0 or nlp not in runs:
            runs[nlp] = _begin(nlp, Path(path))
        run, done = runs[nlp], info["step"] - 1
        if done < 0 or done % run.eval_frequency:
            return
        if run.evaluations and run.evaluations[-1].step == done:
            return  # the run goes on from here
        run.evaluations.append(Evaluation(last_score(nlp), done))
        if done // run.eval_frequency % every == 0:
            _store(nlp, run, info)

    return store_if_due


def _begin(nlp: Language, folder: Path) -> Run:
    """Refuse at the first step what could not be stored later.

    RAISES (ValueError): SP110 for other optimizers, SP111 where a run is stored.
    """
    config = nlp.config.interpolate()
    require_adamw(config["training"]["optimizer"])
    stored = last_checkpoint(folder)
    if stored is not None:
        step = stored.name.rsplit("-", 1)[1]
        raise ValueError(Errors.SP111.format(folder=folder, step=step))
    return Run(folder, config["training"]["eval_frequency"], data_digests(config))


def require_adamw(block: Dict[str, Any]) -> None:
    """RAISES (ValueError): SP110 if a block of a config makes another optimizer."""
    optimizer = registry.resolve({"optimizer": block})["optimizer"]
    if not isinstance(optimizer, AdamW):
        name = block["@optimizers"]
        raise ValueError(Errors.SP110.format(wanted=ADAMW, optimizer=name))


def last_score(nlp: Language) -> float:
    """Compute the score of the last evaluation as spaCy's training loop does.

    It puts the single scores into the meta data of the pipeline right after.

    RETURNS (float): the weighted sum.
    """
    weights = nlp.config["training"]["score_weights"]
    scores = nlp.meta.get("performance", {})
    return sum(
        scores.get(name, 0.0) * weight
        for name, weight in weights.items()
        if weight is not None
    )


def _store(nlp: Language, run: Run, info: Dict[str, Any]) -> None:
    optimizer = optimizer_of(nlp, info["step"])
    if optimizer is None:
        return  # no update has moved anything: to begin anew loses nothing
    checkpoint = Checkpoint(
        step=info["step"],
        epoch=info["epoch"],
        evaluations=run.evaluations,
        schedule_steps=optimizer.n_schedule_steps,
        data=run.data,
        random=random_numbers(nlp),
        records=tensor_records(nlp, optimizer),
        tensors={**moments_of(nlp, optimizer), **random_tensors()},
    )
    write_checkpoint(run.folder, nlp, checkpoint)
