"""Pipelines of all models and encoders, and what happens to them on a device."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import (
    Optimizer,
    fix_random_seed,
    get_current_ops,
    require_cpu,
    require_gpu,
)

from spacy_spanner.jobs.run.run_state import tensor_records
from spacy_spanner.layers import window_groups
from spacy_spanner.models.locate_label.range_maxima import RangeMaxima
from spacy_spanner.training import frozen
from spacy_spanner.training.optimizer import make_adamw

from ...helpers import (
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    make_examples,
    small_model,
    spans_of,
    texts,
)
from ..elsewhere import Elsewhere
from .bridge import ListsFirst

ENCODERS = ("cnn", "bilstm", "features", "transformer", "listener", "prompts", "mixed")
OPTIMIZERS = ("adam", "adamw")
SETTINGS = {"threshold": 0.0, "overlap": "any", "max_candidates": 200}


def encoder_block(name: str, bert: Path) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the config of an encoder."""
    transformer = {"@architectures": "spacy_spanner.Transformer.v1", "name": str(bert)}
    small = {"tok2vec": SMALL_ENCODER}
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": SMALL_WIDTH}
    saving = {"mixed_precision": True, "gradient_checkpointing": True, "layers": 2}
    blocks: Dict[str, Dict[str, Any]] = {
        "cnn": SMALL_ENCODER,
        "bilstm": {"@architectures": "spacy_spanner.BiLSTM.v1", **small, "width": 16},
        "features": {
            "@architectures": "spacy_spanner.Features.v1",
            **small,
            "attrs": ["SHAPE"],
            "char_lstm_width": 8,
        },
        "transformer": transformer,
        "listener": {**listener, "upstream": "*"},
        "prompts": {**transformer, "prompts": 2},
        "mixed": {**transformer, **saving},
    }
    return blocks[name]


def new_pipeline(factory: str, encoder: str, bert: Path) -> Language:
    """RETURNS (Language): with new weights, on the active device."""
    model = small_model(factory, encoder_block(encoder, bert))
    if encoder == "prompts" and factory == "span_offset":
        model["type_inputs"] = True
    nlp = spacy.blank("en")
    if encoder == "listener":
        embed = {"@architectures": "spacy.HashEmbedCNN.v2", **SMALL_ENCODER}
        nlp.add_pipe("tok2vec", config={"model": embed})
    nlp.add_pipe(factory, config={"model": model, **SETTINGS})
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    return nlp


def make_optimizer(name: str, nlp: Language) -> Optimizer:
    """RETURNS (Optimizer): a new one; with one rate, since a listener's encoder is a
    component of its own.
    """
    if name == "adamw":
        return make_adamw(encoder=1e-3, head=1e-3)
    optimizer: Optimizer = nlp.create_optimizer()
    optimizer.learn_rate = 1e-3
    return optimizer


def update(nlp: Language, optimizer: Optimizer, times: int = 1) -> List[float]:
    """Learn as `spacy train` does. RETURNS (List[float]): the loss of each update."""
    found = []
    for _ in range(times):
        losses = nlp.update(make_examples(nlp, NESTED), sgd=False)
        for _, pipe in nlp.components:
            pipe.finish_update(optimizer)
        found.append(sum(losses.values()))
    return found


def read(nlp: Language) -> List[Doc]:
    """RETURNS (List[Doc]): the texts with predictions, in batches of two."""
    return list(nlp.pipe(texts(NESTED), batch_size=2))


def scored(docs: Sequence[Doc]) -> List[Dict[Tuple, float]]:
    """RETURNS (List[Dict[Tuple, float]]): the score of each span, by document."""
    return [
        dict(zip(spans_of(doc), doc.spans["ents"].attrs["scores"].tolist()))
        for doc in docs
    ]


def in_thread(function: Callable) -> Any:
    """RETURNS (Any): what a function returns in a new thread, where nothing was called
    that chooses a device. The modes that make the device exist belong to a thread.
    """
    found: List[Any] = []

    def run() -> None:
        with ListsFirst(), Elsewhere():
            try:
                found.append(function())
            except BaseException as error:
                found.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def tensors_of(nlp: Language) -> Iterator[Any]:
    """YIELDS (Any): all weights and gradients, of torch and of Thinc."""
    for _, pipe in nlp.components:
        for node in pipe.model.walk():
            for name in node.param_names:
                if node.has_param(name):
                    yield node.get_param(name)
                if node.has_grad(name):
                    yield node.get_grad(name)
            for shim in node.shims:
                for parameter in shim._model.parameters():
                    yield parameter.data
                    if parameter.grad is not None:
                        yield parameter.grad


def values_of_thinc(nlp: Language) -> List[np.ndarray]:
    """RETURNS (List[np.ndarray]): copies of the weights of Thinc's layers."""
    nodes = [node for _, pipe in nlp.components for node in pipe.model.walk()]
    return [
        node.get_param(name).get()
        for node in nodes
        for name in node.param_names
        if node.has_param(name)
    ]


@contextmanager
def on_the_host() -> Iterator[None]:
    """Use the CPU inside, and the device that is not there afterwards."""
    require_cpu()
    try:
        yield
    finally:
        require_gpu()


def seed_everything() -> None:
    """Draw the same numbers from here on."""
    random.seed(0)
    np.random.seed(0)
    fix_random_seed(0)


def maxima_on_host(vectors: Any) -> RangeMaxima:
    """RETURNS (RangeMaxima): with one of its constants on the wrong device."""
    made = RangeMaxima(vectors)
    made.steps = made.steps.cpu()
    return made


__all__ = ["frozen", "get_current_ops", "tensor_records", "window_groups"]
