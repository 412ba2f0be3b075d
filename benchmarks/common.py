"""Data, systems and training that all benchmarks share."""

import json
import random
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import spacy
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


class Corpus(NamedTuple):
    """Annotated documents of one sentence each."""

    train: List[Doc]
    test: List[Doc]


def read_corpus(name: str, folder: Path, nlp: Language) -> Corpus:
    """RETURNS (Corpus): the dataset of that name in the data folder."""
    paths = (folder / relative for relative in DATASETS[name])
    return Corpus(*(list(read_docs(path, nlp, format="conll")) for path in paths))


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


def build_pipeline(
    system: str, encoder: str, settings: Optional[Dict[str, Any]] = None
) -> Language:
    """Build a pipeline with a single component.

    system (str): a factory of this package, "spancat", or "encoder" for tok2vec alone.
    encoder (str): a key of `ENCODERS`.
    settings (Optional[Dict[str, Any]]): settings for a factory of this package.
    RETURNS (Language): the pipeline, not initialized.
    """
    nlp = spacy.blank("en")
    tok2vec = ENCODERS[encoder]
    if system == "encoder":
        nlp.add_pipe("tok2vec", config={"model": tok2vec})
    elif system == "spancat":
        config = {"spans_key": SPANS_KEY, "suggester": SUGGESTER}
        nlp.add_pipe("spancat", config={**config, "model": {"tok2vec": tok2vec}})
    else:
        config = Config({"model": {"tok2vec": tok2vec}}).merge(settings or {})
        nlp.add_pipe(system, config=config)
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


def falling_rates(nlp: Language, encoder: str, n_steps: int) -> Optimizer:
    """Make the optimizer for an encoder, with learning rates that decay to 0.

    RETURNS (Optimizer): spaCy's Adam for the CNN; for a pretrained encoder, AdamW with
        5e-5 for the encoder, 1e-3 for the head and 10 % warm-up.
    """
    if encoder == "cnn":
        optimizer = nlp.create_optimizer()
        optimizer.schedules["learn_rate"] = warmup_linear(0.001, 0, n_steps)
        return optimizer
    warm_up = n_steps // 10
    return make_adamw(
        encoder=warmup_linear(5e-5, warm_up, n_steps),
        head=warmup_linear(1e-3, warm_up, n_steps),
    )


def train_from_start(
    nlp: Language,
    examples: Sequence[Example],
    *,
    encoder: str,
    epochs: int,
    batch_size: int = 8,
    seed: int = 0,
    decay: bool = True,
) -> float:
    """Initialize a pipeline and train it.

    decay (bool): whether the learning rates decay to 0; otherwise spaCy's default
        optimizer is used.
    RETURNS (float): training time in seconds, without initialization.
    """
    optimizer = start_training(nlp, examples, seed)
    if decay:
        n_steps = epochs * -(-len(examples) // batch_size)
        optimizer = falling_rates(nlp, encoder, n_steps)
    rng = random.Random(seed)
    start = time.perf_counter()
    for _ in range(epochs):
        for _ in train_epoch(nlp, examples, optimizer, batch_size=batch_size, rng=rng):
            optimizer.step_schedules()
    return time.perf_counter() - start
