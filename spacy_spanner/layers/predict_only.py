"""Predict without keeping backprop callbacks."""

from typing import Any, Callable, Tuple

from thinc.api import Model
from thinc.layers.chain import forward as remember

from ..internals import internal


def forget_in_prediction(model: Model) -> None:
    """Make the chains in a model drop the inputs of their layers in prediction.

    Thinc's chain collects the callbacks of all its layers even if nobody will call
    them, and each callback holds its layer's input: a `HashEmbedCNN` would keep all of
    its activations until the last layer is done. In training, the chains do what
    Thinc's do, so they never change back, which other threads would notice.

    model (Model): any model of Thinc.
    """
    for node in model.walk():
        if internal(node, "_func") is remember:
            node.replace_callbacks(_forget, init=node.init)


def _forget(model: Model, X: Any, is_train: bool) -> Tuple[Any, Callable]:
    if is_train:
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
