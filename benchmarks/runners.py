"""The systems to measure: pipelines, and encoders alone for comparison."""

import random
from collections import deque
from typing import Any, Iterable, Iterator, List, Protocol, Sequence

from common import (
    DROPOUT,
    build_pipeline,
    falling_rates,
    start_training,
    to_examples,
    train_epoch,
)
from plain_encoder import ListenedEncoder, PlainEncoder, predict, train_steps
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer, set_dropout_rate

BARE = "encoder"
PLAIN, LISTENED = "transformers", "spacy-transformers"
BASELINES = {"cnn": [BARE], "minilm": [PLAIN, BARE, LISTENED]}


def exhaust(stream: Iterable[Any]) -> None:
    """Consume an iterable without keeping its items."""
    deque(stream, maxlen=0)


class Runner(Protocol):
    """A system to measure."""

    def start(self, docs: List[Doc]) -> bool:
        """Initialize. RETURNS (bool): whether the system can be trained."""
        ...

    def train(self, docs: List[Doc]) -> Iterator[int]:
        """Train for one epoch. YIELDS (int): words in the batch, after each step."""
        ...

    def predict(self, docs: List[Doc]) -> None:
        """Predict unannotated documents in batches."""
        ...

    def read(self, doc: Doc) -> None:
        """Predict a single document."""
        ...


class PipelineRunner:
    """A span model, or the encoder alone, trained with `nlp.update`."""

    def __init__(self, system: str, encoder: str, batch_size: int, pipe: int) -> None:
        self.nlp = build_pipeline(system, encoder)
        self.encoder = encoder
        self.sizes = {"batch_size": batch_size}
        self.pipe = pipe
        self.rng = random.Random(0)

    def start(self, docs: List[Doc]) -> bool:
        """Initialize."""
        examples = to_examples(docs)
        self.optimizer = start_training(self.nlp, examples, seed=0)
        if self.encoder != "cnn":
            n_steps = len(docs)  # an upper limit
            self.optimizer = falling_rates(self.nlp, self.encoder, n_steps)
        return True

    def train(self, docs: List[Doc]) -> Iterator[int]:
        """Train for one epoch."""
        step = train_encoder if self.nlp.pipe_names == ["tok2vec"] else train_epoch
        examples = to_examples(docs)
        yield from step(self.nlp, examples, self.optimizer, rng=self.rng, **self.sizes)

    def predict(self, docs: List[Doc]) -> None:
        """Predict documents in batches."""
        exhaust(self.nlp.pipe(docs, batch_size=self.pipe))

    def read(self, doc: Doc) -> None:
        """Predict a single document."""
        self.nlp(doc)


class PlainRunner:
    """Torch and transformers without spaCy."""

    def __init__(self, batch_size: int) -> None:
        self.encoder = PlainEncoder()
        self.batch_size = batch_size
        self.rng = random.Random(0)

    def start(self, docs: List[Doc]) -> bool:
        """Initialize."""
        return True

    def train(self, docs: List[Doc]) -> Iterator[int]:
        """Train for one epoch."""
        sizes = {"batch_size": self.batch_size, "rng": self.rng}
        yield from train_steps(self.encoder, docs, **sizes)

    def predict(self, docs: List[Doc]) -> None:
        """Predict documents in batches."""
        predict(self.encoder, docs)

    def read(self, doc: Doc) -> None:
        """Predict a single document."""
        predict(self.encoder, [doc])


class ListenedRunner:
    """spacy-transformers, for prediction only."""

    def __init__(self, pipe: int) -> None:
        self.encoder = ListenedEncoder()
        self.pipe = pipe

    def start(self, docs: List[Doc]) -> bool:
        """Initialize."""
        return False

    def train(self, docs: List[Doc]) -> Iterator[int]:
        """Train for one epoch."""
        return iter(())

    def predict(self, docs: List[Doc]) -> None:
        """Predict documents in batches."""
        self.encoder.predict(docs, self.pipe)

    def read(self, doc: Doc) -> None:
        """Predict a single document."""
        self.encoder.predict([doc], 1)


def make_runner(system: str, encoder: str, batch_size: int, pipe: int) -> Runner:
    """RETURNS (Runner): the system of that name."""
    if system == PLAIN:
        return PlainRunner(batch_size)
    if system == LISTENED:
        return ListenedRunner(pipe)
    return PipelineRunner(system, encoder, batch_size, pipe)


def train_encoder(
    nlp: Language,
    examples: Sequence[Example],
    optimizer: Optimizer,
    *,
    batch_size: int,
    rng: random.Random,
) -> Iterator[int]:
    """Forward, backward and update of the encoder alone; its output is the gradient.

    YIELDS (int): the number of words in the batch, after each step.
    """
    model = nlp.get_pipe("tok2vec").model
    order = list(examples)
    rng.shuffle(order)
    for first in range(0, len(order), batch_size):
        docs = [example.predicted for example in order[first : first + batch_size]]
        set_dropout_rate(model, DROPOUT)
        vectors, backprop = model.begin_update(docs)
        backprop(vectors)
        model.finish_update(optimizer)
        yield sum(map(len, docs))
