"""Callbacks for `[training]` and `[initialize]` of a config."""

from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, cast

from spacy.language import Language
from spacy.util import registry
from thinc.api import Model

from ..errors import Errors
from ..settings import Rule, at_least, require
from .owners import (
    ENCODER,
    encoder_of,
    is_frozen,
    register_pipeline,
    set_frozen,
    tensor_keys,
)

# What spaCy's training loop calls before each step: with "step" and "epoch".
BeforeUpdate = Callable[[Language, Dict[str, Any]], None]
ADAMW = "spacy_spanner.AdamW.v1"

a_callback = Rule("a callback", callable)


@registry.callbacks("spacy_spanner.callbacks.v1")
def make_callbacks(callbacks: Dict[str, Any]) -> BeforeUpdate:
    """Join several callbacks for `[training.before_update]`, which takes one.

    callbacks (Dict[str, Callable]): by any name, in the order of the config.
    RETURNS (Callable): calls all.
    """
    # The hint says no more: configs are checked before their blocks are resolved.
    for name, callback in callbacks.items():
        require(a_callback, **{f"callbacks.{name}": callback})

    def call_all(nlp: Language, info: Dict[str, Any]) -> None:
        for callback in callbacks.values():
            callback(nlp, info)

    return call_all


@registry.callbacks("spacy_spanner.register_pipeline.v1")
def make_register_pipeline() -> Callable[[Language], Language]:
    """Tell the optimizer the parts of a pipeline, for `[initialize.after_init]`.

    Needed only where every span component comes from another pipeline (`source`).

    RETURNS (Callable): the callback.
    """

    def register(nlp: Language) -> Language:
        register_pipeline(nlp.pipeline)
        return nlp

    return register


@registry.callbacks("spacy_spanner.freeze_encoder.v1")
def make_freeze_encoder(
    *, epochs: int = 0, steps: int = 0, components: Optional[List[str]] = None
) -> BeforeUpdate:
    """Keep encoders as they are at the beginning, for `[training.before_update]`.

    Encoders of this package do not even run backward meanwhile.

    epochs, steps (int): what must be over before they learn; both count.
    components (Optional[List[str]]): components that own or are encoders; all if None.
    RETURNS (Callable): the callback.
    """
    require(at_least(0), epochs=epochs, steps=steps)
    frozen: Dict[str, bool] = {}

    def freeze_or_thaw(nlp: Language, info: Dict[str, Any]) -> None:
        waits = info["epoch"] < epochs or info["step"] < steps
        if "now" not in frozen:  # a run that goes on may begin with frozen encoders
            frozen["now"] = _any_frozen(nlp, components)
        if frozen["now"] == waits:
            return
        frozen["now"] = waits
        register_pipeline(nlp.pipeline)
        for name, pipe in _with_encoder(nlp, components):
            if waits:
                _check_optimizer(nlp, name, pipe)
            set_frozen(pipe, ENCODER, waits)

    return freeze_or_thaw


def _with_encoder(
    nlp: Language, names: Optional[Sequence[str]]
) -> Iterator[Tuple[str, Any]]:
    """YIELDS (Tuple[str, Any]): the components of these names, or all that can."""
    found = {name: pipe for name, pipe in nlp.pipeline if encoder_of(pipe)}
    for name in found if names is None else names:
        if name not in found:
            raise ValueError(
                Errors.SP101.format(component=name, components=", ".join(found))
            )
        yield name, found[name]


def _any_frozen(nlp: Language, names: Optional[Sequence[str]]) -> bool:
    return any(
        is_frozen(key)
        for _, pipe in _with_encoder(nlp, names)
        for node in cast(Model, encoder_of(pipe)).walk()
        for key in tensor_keys(node)
    )


def _check_optimizer(nlp: Language, name: str, pipe: Any) -> None:
    """Refuse optimizers that would move what is frozen.

    RAISES (ValueError): SP019.
    """
    optimizer = nlp.config["training"]["optimizer"]["@optimizers"]
    if optimizer == ADAMW:
        return
    encoder = (
        pipe.model if hasattr(pipe, "listeners") else pipe.model.get_ref("tok2vec")
    )
    for node in encoder.walk():
        if node.param_names or not all(
            getattr(shim, "stands_missing_gradients", False) for shim in node.shims
        ):
            raise ValueError(
                Errors.SP019.format(
                    component=name, layer=node.name, optimizer=optimizer
                )
            )
