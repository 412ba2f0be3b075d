"""Split a corpus into folds, and train a pipeline for each without it.

Each training is a trial of a search: it runs in its own process, and is not repeated
when the command is run again.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence

from spacy.tokens import Doc, DocBin
from spacy.util import load_model

from ...errors import Errors
from ...evaluation.counts import Reading
from ...evaluation.predicting import Track, read_corpus, untracked
from ...files import staged_folder
from ...review.candidates import read_candidates
from ..search.one_trial import AfterEach, run_in_sequence
from ..search.trials import LOG, MODEL, Machine, Plan, Trial, opened_trials, unfinished
from ..search.variants import Variant

FOLDS = "folds"
TRAIN, HELD_OUT = "train.spacy", "held_out.spacy"


class CrossValidation(NamedTuple):
    """How the pipelines of the folds are trained.

    config (Path): the config; its train and dev corpora are replaced.
    overrides (Dict[str, Any]): settings that differ from it.
    output (Path): folder for the folds and the pipelines.
    machine (Machine): the setup of the processes that train.
    n_process (int): pipelines that are trained at once.
    """

    config: Path
    overrides: Dict[str, Any]
    output: Path
    machine: Machine = Machine()
    n_process: int = 1


class Folds(NamedTuple):
    """How documents are divided.

    number (int): folds, each held out once.
    seed (int): seed of the division.
    """

    number: int = 5
    seed: int = 0

    def of(self, n_docs: int) -> List[int]:
        """RETURNS (List[int]): the fold of each document; sizes differ by at most one.

        RAISES (ValueError): SP180 for fewer documents than folds.
        """
        if n_docs < self.number:
            raise ValueError(Errors.SP180.format(docs=n_docs, folds=self.number))
        numbers = [place % self.number for place in range(n_docs)]
        random.Random(self.seed).shuffle(numbers)
        return numbers


def write_folds(docs: Sequence[Doc], fold_of: Sequence[int], output: Path) -> None:
    """Write the documents to train on, and those held out, of each fold."""
    with staged_folder(output) as folder:
        for fold in sorted(set(fold_of)):
            for name, held_out in ((TRAIN, False), (HELD_OUT, True)):
                chosen = [d for d, f in zip(docs, fold_of) if (f == fold) == held_out]
                path = folder / str(fold) / name
                path.parent.mkdir(exist_ok=True)
                DocBin(docs=chosen, store_user_data=True).to_disk(path)


def fold_variants(output: Path, number: int) -> List[Variant]:
    """RETURNS (List[Variant]): a training for each fold, whose held-out documents are
    also the development data.
    """
    return [
        Variant(
            f"fold {fold + 1} of {number}",
            {
                "corpora.train.path": str(output / str(fold) / TRAIN),
                "corpora.dev.path": str(output / str(fold) / HELD_OUT),
            },
        )
        for fold in range(number)
    ]


def run_at_once(trials: Sequence[Trial], after_each: AfterEach, n_process: int) -> None:
    """Train several trials at a time, each in a process of its own."""
    with ThreadPoolExecutor(n_process) as pool:
        for _ in pool.map(lambda trial: run_in_sequence([trial], after_each), trials):
            pass


def train_folds(
    docs: Sequence[Doc],
    fold_of: Sequence[int],
    setup: CrossValidation,
    *,
    tell: Callable[[str], Any] = str,
) -> List[Path]:
    """Train a pipeline for each fold, on the documents of all others.

    docs (Sequence[Doc]): annotated documents.
    fold_of (Sequence[int]): the fold of each; see `Folds.of`.
    tell (Callable): called with a line of text after each training.
    RETURNS (List[Path]): the pipelines, by fold.
    RAISES (ValueError): SP181 for a training that failed; see `opened_trials`.
    """
    folder, number = (setup.output / FOLDS).absolute(), len(set(fold_of))
    write_folds(docs, fold_of, folder)
    plan, variants = Plan(setup.config, setup.overrides), fold_variants(folder, number)
    opened = opened_trials(
        plan, variants, setup.output, setup.machine, keep_models=True
    )
    with opened as trials:
        missing = unfinished(trials)
        tell(f"{number} folds, of which {number - len(missing)} are trained")
        run_at_once(missing, lambda trial: tell(_outcome(trial)), setup.n_process)
        failed = unfinished(trials)
        if failed:
            names = ", ".join(trial.title for trial in failed)
            log = failed[0].folder / LOG
            raise ValueError(Errors.SP181.format(names=names, log=log))
        return [trial.folder / MODEL for trial in trials]


def _outcome(trial: Trial) -> str:
    return f"{trial.title}: {'failed' if trial.result() is None else 'trained'}"


def predict_held_out(
    fold_of: Sequence[int],
    models: Sequence[Path],
    key: str,
    output: Path,
    *,
    track: Track = untracked,
) -> List[Reading]:
    """Predict each document by the pipeline that was trained without it.

    fold_of (Sequence[int]): the fold of each document.
    models (Sequence[Path]): the pipelines, by fold; see `train_folds`.
    key (str): the span group.
    output (Path): folder of the cross-validation.
    RETURNS (List[Reading]): gold spans and candidates, in the order of the documents.
    """
    by_fold: List[Iterator[Reading]] = []
    for fold, model in enumerate(models):
        nlp = load_model(model)
        held_out = read_corpus(output / FOLDS / str(fold) / HELD_OUT, nlp, key)
        by_fold.append(iter(read_candidates(nlp, held_out, key, track=track)))
    return [next(by_fold[fold]) for fold in fold_of]
