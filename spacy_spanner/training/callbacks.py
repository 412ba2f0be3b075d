"""Callbacks for `[training]` and `[initialize]` of a config."""

from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.util import registry
from thinc.api import Model

from ..errors import Errors
from ..settings import Rule, at_least, require
from .frozen import frozen_names, runs_without_gradients, set_frozen
from .owners import ENCODER, encoders_of

# Called by spaCy's training loop before each step, with "step" and "epoch".
BeforeUpdate = Callable[[Language, Dict[str, Any]], None]
ADAMW = "spacy_spanner.AdamW.v1"
# Attribute of a model: the callbacks that want its encoder frozen. As `frozen.FROZEN`,
# it is never written to disk.
WAITING = "spanner_waiting"

a_callback = Rule("a callback", callable)


class Callbacks:
    """Several callbacks for `[training.before_update]` or `[training.before_to_disk]`,
    called in order.
    """

    def __init__(self, callbacks: Dict[str, Callable]) -> None:
        """callbacks (Dict[str, Callable]): by name."""
        self.callbacks = callbacks

    def __call__(
        self, nlp: Language, info: Optional[Dict[str, Any]] = None
    ) -> Language:
        """Call all callbacks.

        info (Optional[Dict[str, Any]]): what spaCy passes before an update. Before a
            pipeline is stored it passes nothing, and each callback gets the pipeline
            that the one before it has returned.
        RETURNS (Language): the pipeline, for what stores it.
        RAISES (ValueError): SP102 if a callback returns no pipeline to store.
        """
        for name, callback in self.callbacks.items():
            if info is not None:
                callback(nlp, info)
                continue
            found = callback(nlp)
            if not isinstance(found, Language):
                kind = type(found).__name__
                raise ValueError(Errors.SP102.format(name=name, kind=kind))
            nlp = found
        return nlp


def single_callbacks(callback: Optional[BeforeUpdate]) -> Iterator[BeforeUpdate]:
    """YIELDS (Callable): the single callbacks in `[training.before_update]`."""
    if isinstance(callback, Callbacks):
        for inner in callback.callbacks.values():
            yield from single_callbacks(inner)
    elif callback is not None:
        yield callback


@registry.callbacks("spacy_spanner.callbacks.v1")
def make_callbacks(callbacks: Dict[str, Any]) -> Callbacks:
    """Join several callbacks for `[training.before_update]` or
    `[training.before_to_disk]`, which take one.

    callbacks (Dict[str, Callable]): by name, in the order of the config.
    RETURNS (Callable): calls all.
    """
    # The hint is loose because configs are checked before their blocks are resolved.
    for name, callback in callbacks.items():
        require(a_callback, **{f"callbacks.{name}": callback})
    return Callbacks(callbacks)


@registry.callbacks("spacy_spanner.register_pipeline.v1")
def make_register_pipeline() -> Callable[[Language], Language]:
    """Do nothing: kept for old configs with this callback in `[initialize.after_init]`.
    Optimizers find the parts of a pipeline on their own.
    """
    return lambda nlp: nlp


@registry.callbacks("spacy_spanner.freeze_encoder.v1")
def make_freeze_encoder(
    *, epochs: int = 0, steps: int = 0, components: Optional[List[str]] = None
) -> BeforeUpdate:
    """Freeze encoders at the start of training, for `[training.before_update]`.

    Encoders of this package skip the backward pass while they are frozen. An encoder
    that several callbacks freeze is frozen as long as one of them wants it.

    epochs, steps (int): the encoders learn when both are over.
    components (Optional[List[str]]): components with encoders; None for all.
    RETURNS (Callable): the callback.
    """
    require(at_least(0), epochs=epochs, steps=steps)
    name_of_this = f"{epochs} epochs, {steps} steps"

    def freeze_or_thaw(nlp: Language, info: Dict[str, Any]) -> None:
        waits = info["epoch"] < epochs or info["step"] < steps
        for name, pipe in _with_encoder(nlp, components):
            # Each on its own: another callback may have frozen some of them.
            frozen = _is_wanted_frozen(pipe.model, name_of_this, waits)
            if any(map(frozen_names, _encoder_nodes(pipe))) == frozen:
                continue
            if frozen:
                _check_optimizer(nlp, name, pipe)
            set_frozen(pipe, ENCODER, frozen)

    return freeze_or_thaw


def _is_wanted_frozen(model: Model, callback: str, waits: bool) -> bool:
    """Note on a model whether a callback wants its encoder frozen.

    RETURNS (bool): whether any callback does.
    """
    others = model.attrs.get(WAITING, frozenset()) - {callback}
    waiting = others | {callback} if waits else others
    if waiting:
        model.attrs[WAITING] = waiting
    else:
        model.attrs.pop(WAITING, None)
    return bool(waiting)


def _with_encoder(
    nlp: Language, names: Optional[Sequence[str]]
) -> Iterator[Tuple[str, Any]]:
    """YIELDS (Tuple[str, Any]): the named components, or all with an encoder."""
    found = {name: pipe for name, pipe in nlp.pipeline if encoders_of(pipe)}
    for name in found if names is None else names:
        if name not in found:
            known = ", ".join(found) or "none"
            raise ValueError(Errors.SP101.format(component=name, components=known))
        yield name, found[name]


def _encoder_nodes(pipe: Any) -> Iterator[Model]:
    for encoder in encoders_of(pipe):
        yield from encoder.walk()


def _check_optimizer(nlp: Language, name: str, pipe: Any) -> None:
    """Reject optimizers that would update frozen tensors.

    RAISES (ValueError): SP019.
    """
    optimizer = nlp.config["training"]["optimizer"]["@optimizers"]
    if optimizer == ADAMW:
        return
    for node in _encoder_nodes(pipe):
        if node.param_names or not all(map(runs_without_gradients, node.shims)):
            message = Errors.SP019.format(
                component=name, layer=node.name, optimizer=optimizer
            )
            raise ValueError(message)
