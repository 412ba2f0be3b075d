"""Baselines for MiniLM: a plain torch loop, and spacy-transformers.

The encoders of `speed.py` are compared with the plain loop that one would write for a
single experiment, and with `spacy-transformers` and a listener.
"""

import random
from typing import Any, Iterator, List, Sequence

import spacy
import torch
from common import MINILM
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from torch import Tensor, nn

from spacy_spanner.encoders.sources import resolve_name

# Batch size of the plain loop in prediction; batches are sorted by length.
PREDICTION_BATCH = 32
WIDTH = 384
RATE, DECAY, CLIP = 5e-5, 0.01, 1.0


class PlainEncoder:
    """A transformer and its fast tokenizer."""

    def __init__(self) -> None:
        from transformers import AutoModel, AutoTokenizer

        path = resolve_name(MINILM["name"])
        self.tokenizer: Any = AutoTokenizer.from_pretrained(path)
        self.model: nn.Module = AutoModel.from_pretrained(path)

    def __call__(self, docs: Sequence[Doc]) -> Tensor:
        """RETURNS (Tensor): (batch, piece, width)"""
        return self.model(**self.pieces(docs)).last_hidden_state

    def pieces(self, docs: Sequence[Doc]) -> Any:
        """RETURNS (BatchEncoding): ids and mask of the word pieces. (batch, piece)"""
        words = [[token.text for token in doc] for doc in docs]
        return self.tokenizer(
            words,
            is_split_into_words=True,
            padding=True,
            truncation=True,
            return_tensors="pt",
        )


def train_steps(
    encoder: PlainEncoder, docs: Sequence[Doc], *, batch_size: int, rng: random.Random
) -> Iterator[int]:
    """Forward, backward, clip and update in random order; the output is the gradient.

    YIELDS (int): the number of words in the batch, after each step.
    """
    parameters = list(encoder.model.parameters())
    optimizer = torch.optim.AdamW(parameters, RATE, weight_decay=DECAY, fused=True)
    encoder.model.train()
    order = list(docs)
    rng.shuffle(order)
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        hidden = encoder(batch)
        hidden.backward(hidden.detach())
        nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        optimizer.zero_grad()
        yield sum(map(len, batch))


def predict(encoder: PlainEncoder, docs: Sequence[Doc]) -> None:
    """Encode documents in batches sorted by length."""
    encoder.model.eval()
    with torch.inference_mode():
        for batch in sorted_batches(docs):
            encoder(batch)


def sorted_batches(docs: Sequence[Doc]) -> Iterator[List[Doc]]:
    """YIELDS (List[Doc]): documents of similar length."""
    order = sorted(docs, key=len)
    for first in range(0, len(order), PREDICTION_BATCH):
        yield order[first : first + PREDICTION_BATCH]


class ListenedEncoder:
    """The same transformer as a shared component of spacy-transformers."""

    def __init__(self) -> None:
        self.nlp: Language = spacy.blank("en")
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": resolve_name(MINILM["name"]),
            "get_spans": {"@span_getters": "spacy-transformers.doc_spans.v1"},
        }
        self.nlp.add_pipe("transformer", config={"model": model})
        self.nlp.initialize()
        make = registry.architectures.get("spacy-transformers.TransformerListener.v1")
        pooling = registry.layers.get("reduce_mean.v1")()
        self.listener: Model = make(grad_factor=1.0, pooling=pooling)
        for node in self.listener.walk():
            if node.has_dim("nO") is None:  # for documents that have no encoding yet
                node.set_dim("nO", WIDTH)

    def predict(self, docs: List[Doc], batch_size: int) -> None:
        """Encode documents and pass the vectors to a listener."""
        for doc in self.nlp.pipe(docs, batch_size=batch_size):
            self.listener.predict([doc])
