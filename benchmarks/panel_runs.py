"""A run of the panel: one system, trained on a share of one corpus with one seed."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import spacy
from common import (
    SPANS_KEY,
    build_pipeline,
    component_config,
    prepare_training,
    read_settings,
    take_steps,
    to_examples,
)
from corpora import CORPORA, draw
from measuring import clock, peak_memory_mb
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

from spacy_spanner.evaluation.predicting import find_source
from spacy_spanner.evaluation.tuning import choose_settings
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.jobs.search.summaries import with_groups

# The encoders that read other languages than English.
ANY_LANGUAGE = ("cnn",)


@dataclass(frozen=True)
class Budget:
    """What every system may use.

    epochs (int): passes over the training sentences.
    min_steps (int): updates, if the passes make fewer.
    batch_size (int): sentences in an update.
    looks (int): how often the dev split is scored, at equal distances.
    max_sentences (int): limit for the train and the dev split; 0 for none.
    rates (float): factor of the learning rates; see `falling_rates`.
    """

    epochs: int
    min_steps: int
    batch_size: int
    looks: int
    max_sentences: int
    rates: float = 1.0

    def n_steps(self, n_sentences: int) -> int:
        """RETURNS (int): the number of updates."""
        return max(self.epochs * -(-n_sentences // self.batch_size), self.min_steps)


@dataclass(frozen=True)
class Run:
    """A training run.

    corpus (str): a key of `CORPORA`.
    encoder (str): a key of `ENCODERS`.
    share (int): percentage of the training sentences. Each seed draws its own.
    system (str): a factory, and settings that differ from its defaults:
        "span_biaffine threshold=0.5".
    seed (int): seed of the sample, the weights and the order.
    """

    corpus: str
    encoder: str
    share: int
    system: str
    seed: int
    budget: Budget

    @property
    def factory(self) -> str:
        """Name of the factory."""
        return self.system.split()[0]

    @property
    def settings(self) -> Dict[str, Any]:
        """Settings that differ from the defaults."""
        return read_settings(self.system.split()[1:])

    @property
    def is_possible(self) -> bool:
        """Whether the system can learn the corpus and the encoder read it."""
        corpus = CORPORA[self.corpus]
        can_learn = corpus.flat or self.factory != "ner"
        return can_learn and (
            self.encoder in ANY_LANGUAGE or corpus.dataset.lang == "en"
        )

    def path(self, data: Path, folder: Path) -> Path:
        """RETURNS (Path): the file of the result."""
        size = CORPORA[self.corpus].max_size
        config = component_config(
            self.factory, self.encoder, self.settings, max_size=size
        )
        whole = Config(default_config(self.factory)).merge(config)
        setting = [asdict(self), whole, corpus_digest(self.corpus, data)]
        text = json.dumps(setting, sort_keys=True)
        digest = hashlib.sha256(text.encode("utf8")).hexdigest()[:8]
        words = (self.corpus, self.encoder, self.share, self.factory, self.seed)
        return folder / f"{'-'.join(map(str, words))}-{digest}.json"

    def __str__(self) -> str:
        return (
            f"{self.corpus}, {self.encoder}, {self.share} %, {self.system}, "
            f"seed {self.seed}"
        )


@cache
def default_config(factory: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the defaults of a factory."""
    return spacy.blank("en").get_factory_meta(factory).default_config


@cache
def corpus_digest(corpus: str, data: Path) -> str:
    """RETURNS (str): a checksum of the files of a corpus."""
    return CORPORA[corpus].digest(data)


def train_and_test(run: Run, data: Path) -> Dict[str, Any]:
    """Train a system, choose the best pipeline on dev and score it on test.

    RETURNS (Dict[str, Any]): the run, its scores and its cost.
    """
    corpus, budget = CORPORA[run.corpus], run.budget
    sizes = {"lang": corpus.dataset.lang, "max_size": corpus.max_size}
    nlp = build_pipeline(run.factory, run.encoder, run.settings, **sizes)
    docs = corpus.read(data, nlp, max_sentences=budget.max_sentences)
    n_train = max(1, round(len(docs["train"]) * run.share / 100))
    docs["train"] = draw(docs["train"], n_train, seed=run.seed)
    if run.factory == "ner":
        for doc in docs["train"]:
            doc.set_ents(list(doc.spans[SPANS_KEY]))
    examples = {split: to_examples(part) for split, part in docs.items()}
    start = clock()
    chosen = train_best(nlp, examples["train"], examples["dev"], run)
    seconds = clock() - start
    result = {
        **asdict(run),
        "chosen": chosen,
        "sentences": {split: len(part) for split, part in docs.items()},
        "scores": with_groups(scores_of(nlp, examples["test"], SPANS_KEY)),
        "seconds": seconds,
        "memory_mb": peak_memory_mb(),
    }
    # Without a right span on dev, there is nothing to tune.
    tuned = scores_after_tuning(nlp, examples) if chosen["f"] else result["scores"]
    return {**result, "tuned": tuned}


def scores_after_tuning(
    nlp: Language, examples: Dict[str, List[Example]]
) -> Optional[Dict[str, Any]]:
    """RETURNS (Optional[Dict[str, Any]]): test scores with the calibration and the
    threshold that are best on dev; None for a system without scores.
    """
    if find_source(nlp, SPANS_KEY).threshold is None:
        return None
    choose_settings(nlp, find_source(nlp, SPANS_KEY), examples["dev"])
    return scores_of(nlp, examples["test"], SPANS_KEY)


def train_best(
    nlp: Language, train: Sequence[Example], dev: Sequence[Example], run: Run
) -> Dict[str, Any]:
    """Train a pipeline; in the end, it is the one with the highest F1 on dev.

    RETURNS (Dict[str, Any]): the step of the best pipeline, its F1, and all steps.
    """
    n_steps = run.budget.n_steps(len(train))
    optimizer = prepare_training(
        nlp,
        train,
        encoder=run.encoder,
        n_steps=n_steps,
        seed=run.seed,
        factor=run.budget.rates,
    )
    steps = take_steps(
        nlp,
        train,
        optimizer,
        n_steps=n_steps,
        batch_size=run.budget.batch_size,
        seed=run.seed,
    )
    looks = {n_steps * n // run.budget.looks for n in range(1, run.budget.looks + 1)}
    best: Dict[str, Any] = {"f": -1.0}
    state = b""
    for step in steps:
        if step in looks:
            f = scores_of(nlp, dev, SPANS_KEY)["f"] or 0.0
            if f > best["f"]:
                best, state = {"step": step, "f": f, "steps": n_steps}, nlp.to_bytes()
    nlp.from_bytes(state)
    return best
