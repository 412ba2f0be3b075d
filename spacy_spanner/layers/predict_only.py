"""Prediction that lets go of what only training needs."""

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Tuple

from thinc.api import Model
from thinc.layers.chain import forward as remember


@contextmanager
def forgetful_chains(model: Model) -> Iterator[None]:
    """Let the chains in a model forget the inputs of their layers in prediction.

    Thinc's chain collects the callbacks of all its layers, also where nobody will call
    them, and each callback holds its layer's input: a `HashEmbedCNN` would keep all of
    its activations until the last layer is done.

    model (Model): any model of Thinc; its chains are ordinary ones again afterwards.
    """
    chains = [node for node in model.walk() if node._func is remember]
    for node in chains:
        node._func = _forget
    try:
        yield
    finally:
        for node in chains:
            node._func = remember


def _forget(model: Model, X: Any, is_train: bool) -> Tuple[Any, Callable]:
    if is_train:  # another thread may be training the same model
        return remember(model, X, is_train)
    outputs = X
    for layer in model.layers:
        outputs = layer.predict(outputs)
    return outputs, _nothing_to_go_back_to


def _nothing_to_go_back_to(gradient: Any) -> Any:
    raise NotImplementedError("in prediction, a chain remembers nothing to go back to")
