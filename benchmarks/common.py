"""Data, systems and training that all benchmarks share."""

import json
import random
import time
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import spacy
from corpora import CORPORA
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch
from thinc.api import Config, Optimizer, warmup_linear

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.pipeline.factories import DEFAULT_ENCODER
from spacy_spanner.training.optimizer import make_adamw

SPANS_KEY = "ents"
MODELS = "span_biaffine,span_locate_label,span_diffusion,span_offset,spancat"
DROPOUT = 0.1

# Train and test files in the data folder. For "genia", models are trained on the dev
# split, because the original train split is large.
DATASETS = {
    "genia": ("genia/genia.dev.iob2", "genia/genia.test.iob2"),
    "wnut17": ("wnut17/wnut17train.conll", "wnut17/emerging.test.annotated"),
    "danplus": ("danplus/da_news_train.tsv", "danplus/da_news_test.tsv"),
}

MINILM = {"@architectures": "spacy_spanner.Transformer.v1", "name": "minilm"}
ENCODERS = {"cnn": DEFAULT_ENCODER, "minilm": MINILM}

SUGGESTER = {
    "@misc": "spacy.ngram_range_suggester.v1",
    "min_size": 1,
    "max_size": 12,
}
# The usual highest learning rates; that of the head is also that of a whole CNN.
HEAD_RATE, ENCODER_RATE = 1e-3, 5e-5
# spaCy's ner reads and writes `doc.ents`.
ENTS_TO_SPANS = "ents_to_spans"


@Language.component(ENTS_TO_SPANS)
def ents_to_spans(doc: Doc) -> Doc:
    """Copy the entities to the span group that is scored."""
    doc.spans[SPANS_KEY] = list(doc.ents)
    return doc


class Corpus(NamedTuple):
    """Annotated documents of one sentence each."""

    train: List[Doc]
    test: List[Doc]


def read_corpus(name: str, folder: Path, nlp: Language) -> Corpus:
    """Read a corpus. Flat entities are also in `doc.ents`, which spaCy's ner needs.

    RETURNS (Corpus): a dataset in the data folder, or a demo corpus.
    """
    if name in DATASETS:
        paths = (folder / relative for relative in DATASETS[name])
        corpus = Corpus(*(list(read_docs(path, nlp, format="conll")) for path in paths))
    else:
        parts = CORPORA[name].read(folder, nlp, max_sentences=0)
        corpus = Corpus(parts["train"], parts["test"])
    if CORPORA[name].flat:
        for doc in corpus.train:
            doc.set_ents(list(doc.spans[SPANS_KEY]))
    return corpus


def to_examples(docs: Sequence[Doc]) -> List[Example]:
    """RETURNS (List[Example]): gold documents, paired with unannotated copies."""
    return [
        Example(Doc(doc.vocab, words=[token.text for token in doc]), doc)
        for doc in docs
    ]


def read_settings(texts: Sequence[str]) -> Dict[str, Any]:
    """Parse settings of a component from "name=value" or "a.b=value".

    RETURNS (Dict[str, Any]): nested by the dots in names, with values parsed as JSON.
    """
    settings: Dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        *path, last = name.split(".")
        block = settings
        for key in path:
            block = block.setdefault(key, {})
        try:
            block[last] = json.loads(value)
        except json.JSONDecodeError:
            block[last] = value  # a bare word
    return settings


def component_config(
    system: str,
    encoder: str,
    settings: Optional[Dict[str, Any]] = None,
    *,
    max_size: int = SUGGESTER["max_size"],
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the config of a component; see `build_pipeline`."""
    config = Config({"model": {"tok2vec": ENCODERS[encoder]}})
    if system == "encoder":
        config = Config({"model": ENCODERS[encoder]})
    elif system == "spancat":
        suggester = {**SUGGESTER, "max_size": max_size}
        config["spans_key"], config["suggester"] = SPANS_KEY, suggester
    return config.merge(settings or {})


def build_pipeline(
    system: str,
    encoder: str,
    settings: Optional[Dict[str, Any]] = None,
    *,
    lang: str = "en",
    max_size: int = SUGGESTER["max_size"],
) -> Language:
    """Build a pipeline with a single trainable component.

    system (str): a factory of this package, "spancat", "ner", or "encoder" for tok2vec
        alone.
    encoder (str): a key of `ENCODERS`.
    settings (Optional[Dict[str, Any]]): settings that differ from the defaults.
    lang (str): language code.
    max_size (int): number of tokens of the longest spans that spancat suggests.
    RETURNS (Language): the pipeline, not initialized.
    """
    nlp = spacy.blank(lang)
    config = component_config(system, encoder, settings, max_size=max_size)
    nlp.add_pipe("tok2vec" if system == "encoder" else system, config=config)
    if system == "ner":
        nlp.add_pipe(ENTS_TO_SPANS)
    return nlp


def train_epoch(
    nlp: Language,
    examples: Sequence[Example],
    optimizer: Optimizer,
    *,
    batch_size: int,
    rng: random.Random,
) -> Iterator[int]:
    """Train for one epoch in random order with `nlp.update`.

    YIELDS (int): the number of words in the batch, after each step.
    """
    order = list(examples)
    rng.shuffle(order)
    for batch in minibatch(order, batch_size):
        nlp.update(batch, sgd=optimizer, drop=DROPOUT, losses={})
        yield sum(len(example.predicted) for example in batch)


def start_training(nlp: Language, examples: Sequence[Example], seed: int) -> Optimizer:
    """Set all random seeds and initialize the pipeline.

    RETURNS (Optimizer): spaCy's default optimizer, Adam with learning rate 0.001.
    """
    fix_random_seed(seed)
    return nlp.initialize(lambda: examples)


def falling_rates(
    nlp: Language,
    encoder: str,
    n_steps: int,
    head_rate: float = HEAD_RATE,
    factor: float = 1.0,
) -> Optimizer:
    """Make the optimizer for an encoder, with learning rates that decay to 0.

    head_rate (float): the highest rate of the head; with a CNN, of all weights.
    factor (float): of all rates.
    RETURNS (Optimizer): spaCy's Adam for the CNN; for a pretrained encoder, AdamW with
        `ENCODER_RATE` for the encoder and 10 % warm-up.
    """
    head = factor * head_rate
    if encoder == "cnn":
        optimizer = nlp.create_optimizer()
        optimizer.schedules["learn_rate"] = warmup_linear(head, 0, n_steps)
        return optimizer
    warm_up = n_steps // 10
    return make_adamw(
        encoder=warmup_linear(factor * ENCODER_RATE, warm_up, n_steps),
        head=warmup_linear(head, warm_up, n_steps),
    )


def prepare_training(
    nlp: Language,
    examples: Sequence[Example],
    *,
    encoder: str,
    n_steps: int,
    seed: int,
    decay: bool = True,
    **rates: float,
) -> Optimizer:
    """Initialize a pipeline.

    decay (bool): whether the learning rates decay to 0; otherwise spaCy's default
        optimizer is used.
    **rates: `head_rate` and `factor` of `falling_rates`.
    RETURNS (Optimizer): the optimizer for that number of steps.
    """
    optimizer = start_training(nlp, examples, seed)
    return falling_rates(nlp, encoder, n_steps, **rates) if decay else optimizer


def take_steps(
    nlp: Language,
    examples: Sequence[Example],
    optimizer: Optimizer,
    *,
    n_steps: int,
    batch_size: int,
    seed: int,
) -> Iterator[int]:
    """Train an initialized pipeline, epoch after epoch.

    YIELDS (int): the number of steps so far, after each step.
    """
    rng = random.Random(seed)
    epochs = (
        train_epoch(nlp, examples, optimizer, batch_size=batch_size, rng=rng)
        for _ in repeat(None)
    )
    steps = islice(chain.from_iterable(epochs), n_steps)
    for step, _ in enumerate(steps, start=1):
        optimizer.step_schedules()
        yield step


def train_from_start(
    nlp: Language,
    examples: Sequence[Example],
    *,
    encoder: str,
    epochs: int,
    batch_size: int = 8,
    seed: int = 0,
    **rates: Any,
) -> float:
    """Initialize a pipeline and train it.

    **rates: see `prepare_training`.
    RETURNS (float): training time in seconds, without initialization.
    """
    n_steps = epochs * -(-len(examples) // batch_size)
    budget = {"n_steps": n_steps, "seed": seed}
    optimizer = prepare_training(nlp, examples, encoder=encoder, **rates, **budget)
    start = time.perf_counter()
    for _ in take_steps(nlp, examples, optimizer, batch_size=batch_size, **budget):
        pass
    return time.perf_counter() - start
