"""The state of an optimizer: what it knows about each tensor of a pipeline.

The optimizers of Thinc (Adam, RAdam, SGD) keep arrays in dictionaries, `AdamW` of this
package keeps a `State` of torch tensors. Both use keys that differ in every process, so
the state is stored by the place of a tensor (see `slots.Slot`).
"""

import sys
from traceback import walk_stack
from typing import Any, Dict, Iterator, Optional

from spacy.language import Language
from spacy.util import registry
from thinc.api import Model, Optimizer
from thinc.util import torch2xp
from torch import Tensor

from ...errors import Errors
from ...internals import internal
from ...layers.devices import view_of
from ...training.callbacks import ADAMW
from ...training.optimizer import AdamW, State
from ...training.owners import Key
from .slots import slots_of

# The exact types: a subclass may have more state.
KNOWN = (AdamW, Optimizer)
# Dictionaries of Thinc's optimizers; `averages` may be None.
TABLES = ("mom1", "mom2", "averages")
AVERAGE = "average"  # of `AdamW`, beside the fields of `State`


def require_known(block: Dict[str, Any]) -> None:
    """RAISES (ValueError): SP110 if a config block describes an optimizer whose state
    cannot be stored.
    """
    optimizer = registry.resolve({"optimizer": block})["optimizer"]
    if type(optimizer) not in KNOWN:
        name = block["@optimizers"]
        raise ValueError(Errors.SP110.format(wanted=ADAMW, optimizer=name))


def find_optimizer(nlp: Language) -> Optional[Optimizer]:
    """Find the optimizer in the training loop that calls this; spaCy passes it to no
    callback.

    RETURNS (Optional[Optimizer]): None if it has not updated a tensor of the pipeline.
    RAISES (ValueError): SP118 if the loop has no such optimizer in sight.
    """
    keys = {slot.key for slot in slots_of(nlp)}
    # By type: `isinstance` would run the code of proxies, which may raise an error.
    in_sight = [one for one in _things_in_sight(nlp) if type(one) in KNOWN]
    if not in_sight:
        raise ValueError(Errors.SP118.format(wanted=ADAMW))
    found = (one for one in in_sight if not keys.isdisjoint(_updated(one)))
    return next(found, None)


def _things_in_sight(nlp: Language) -> Iterator[Any]:
    """YIELDS (Any): the variables of the callers and the attributes of their objects,
    and the optimizer that a pipeline made for itself.
    """
    for frame, _ in walk_stack(sys._getframe(2)):
        yield from list(frame.f_locals.values())
        yield from list(getattr(frame.f_locals.get("self"), "__dict__", {}).values())
    yield internal(nlp, "_optimizer")


def _updated(optimizer: Optimizer) -> Dict[Key, Any]:
    """RETURNS (Dict[Key, Any]): a dictionary with the keys of all updated tensors."""
    return optimizer.states if isinstance(optimizer, AdamW) else optimizer.nr_update


def moments_of(nlp: Language, optimizer: Optimizer) -> Dict[str, Tensor]:
    """RETURNS (Dict[str, Tensor]): the optimizer's state, by place and field."""
    return {
        f"{slot.place}/{field}": tensor
        for slot in slots_of(nlp)
        for field, tensor in _fields(optimizer, slot.key)
    }


def _fields(optimizer: Optimizer, key: Key) -> Iterator[tuple]:
    """YIELDS (Tuple[str, Tensor]): name and value of what is known about a tensor."""
    if isinstance(optimizer, AdamW):
        if key in optimizer.states:
            yield from optimizer.states[key]._asdict().items()
        if optimizer.moving is not None and key in optimizer.moving.of:
            yield AVERAGE, optimizer.moving.of[key]
        return
    for name in TABLES:
        table = getattr(optimizer, name) or {}
        if key in table:
            yield name, view_of(table[key])


def restore_optimizer(
    nlp: Language,
    optimizer: Optimizer,
    records: Dict[str, Dict[str, Any]],
    moments: Dict[str, Tensor],
) -> None:
    """Restore what an optimizer knows about the tensors of a pipeline.

    records, moments (Dict): results of `run_state.tensor_records` and `moments_of`.
    """
    is_own = isinstance(optimizer, AdamW)
    for slot in slots_of(nlp):
        optimizer.nr_update[slot.key] = records[slot.place]["updates"]
        fields = (*State._fields, AVERAGE) if is_own else TABLES
        names = {field: f"{slot.place}/{field}" for field in fields}
        device = slot.weights.device
        stored = {
            field: moments[name].to(device)
            for field, name in names.items()
            if name in moments
        }
        if isinstance(optimizer, AdamW):
            average = stored.pop(AVERAGE, None)
            if average is not None and optimizer.moving is not None:
                optimizer.moving.of[slot.key] = average
            if stored:
                optimizer.states[slot.key] = State(**stored)
            continue
        for field, tensor in stored.items():
            getattr(optimizer, field)[slot.key] = torch2xp(tensor)
    if isinstance(optimizer, AdamW) and optimizer.moving is not None:
        for _, pipe in nlp.pipeline:
            model = getattr(pipe, "model", None)
            if isinstance(model, Model):
                optimizer.moving.know(model)
