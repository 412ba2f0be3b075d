"""Predict without keeping backprop callbacks."""

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Tuple

from thinc.api import Model
from thinc.layers.chain import forward as remember

from ..internals import internal


@contextmanager
def forgetful_chains(model: Model) -> Iterator[None]:
    """Make the chains in a model drop the inputs of their layers in prediction.

    Thinc's chain collects the callbacks of all its layers even if nobody will call
    them, and each callback holds its layer's input: a `HashEmbedCNN` would keep all of
    its activations until the last layer is done.

    model (Model): any model of Thinc; its chains are ordinary again afterwards.
    """
    chains = [node for node in model.walk() if internal(node, "_func") is remember]
    for node in chains:
        node.replace_callbacks(_forget, init=node.init)
    try:
        yield
    finally:
        for node in chains:
            node.replace_callbacks(remember, init=node.init)


def _forget(model: Model, X: Any, is_train: bool) -> Tuple[Any, Callable]:
    if is_train:  # another thread may be training the same model
        return remember(model, X, is_train)
    outputs = X
    for layer in model.layers:
        outputs = layer.predict(outputs)
    return outputs, no_way_back


def no_way_back(gradient: Any) -> Any:
    """The callback of a layer that was run for prediction alone.

    RAISES (TypeError): always.
    """
    raise TypeError("A layer that was called for prediction cannot be backpropagated.")
