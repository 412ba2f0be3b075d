"""Adversarial training (FGM, Miyato et al. 2017), around the updates of components."""

from contextlib import contextmanager
from typing import Any, Iterator, List, Tuple

from thinc.api import Model
from thinc.util import torch2xp
from torch import nn

from spacy_spanner.layers.span_model import learn
from spacy_spanner.pipeline import steps
from spacy_spanner.training.owners import torch_module, torch_shims


@contextmanager
def adversarial(eps: float) -> Iterator[None]:
    """Let every update learn a second time, with the embedding tables of the encoder
    moved by `eps` in the direction in which the loss rises.
    """

    def learn_twice(model: Model, *batch: Any) -> float:
        loss = learn(model, *batch)
        tables = list(embeddings(model.get_ref("tok2vec")))
        before = [weights.copy() for weights, _ in tables]
        for weights, gradient in tables:
            norm = float((gradient**2).sum()) ** 0.5
            if norm > 0:
                weights += eps / norm * gradient
        try:
            learn(model, *batch)
        finally:
            for (weights, _), old in zip(tables, before):
                weights[:] = old
        return loss

    steps.learn = learn_twice
    try:
        yield
    finally:
        steps.learn = learn


def embeddings(encoder: Model) -> Iterator[Tuple[Any, Any]]:
    """YIELDS (Tuple): tables and their gradients, of Thinc and of torch."""
    for node in encoder.walk():
        if "E" in node.param_names and node.has_grad("E"):
            yield node.get_param("E"), node.get_grad("E")
        for shim in torch_shims(node):
            for table in word_tables(torch_module(shim)):
                if table.grad is not None:
                    yield torch2xp(table.data), torch2xp(table.grad)


def word_tables(module: nn.Module) -> List[nn.Parameter]:
    """RETURNS (List[Parameter]): the embeddings of word pieces."""
    return [
        inner.weight
        for name, inner in module.named_modules()
        if isinstance(inner, nn.Embedding) and "word" in name
    ]
