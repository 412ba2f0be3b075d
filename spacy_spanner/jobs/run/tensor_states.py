"""What an optimizer and a pipeline know of each tensor beside its weights.

Thinc numbers layers anew in every process. Here a tensor is called by its place: the
component, the number of the layer in the order of `model.walk()`, and its name.
"""

from typing import Any, Collection, Dict, Iterator, NamedTuple, Optional, cast

import torch
from spacy.language import Language
from thinc.api import Model
from thinc.types import FloatsXd
from thinc.util import xp2torch
from torch import Tensor, nn

from ...errors import Errors
from ...training.optimizer import AdamW, State, in_use
from ...training.owners import (
    Key,
    freeze_tensors,
    is_frozen,
    register_pipeline,
    torch_shims,
)

# How a file of tensors calls the fields of `optimizers.State`.
MOMENTS = State._fields


class Slot(NamedTuple):
    """A tensor of a pipeline.

    place (str): its name in any process.
    key (Key): its name in this one.
    node (Model): its layer.
    parameter (Optional[nn.Parameter]): the tensor itself, if it is torch's.
    """

    place: str
    key: Key
    node: Model
    parameter: Optional[nn.Parameter]

    @property
    def has_gradient(self) -> bool:
        """Whether there is a gradient, which also may be zero."""
        if self.parameter is not None:
            return self.parameter.grad is not None
        return bool(self.node.has_grad(self.key[1]))

    @property
    def weights(self) -> Tensor:
        """The weights themselves, no copy."""
        if self.parameter is not None:
            return self.parameter.data
        return xp2torch(cast(FloatsXd, self.node.get_param(self.key[1])))

    @property
    def gradient(self) -> Tensor:
        """The gradient itself, no copy; there must be one."""
        if self.parameter is not None:
            return cast(Tensor, self.parameter.grad)
        return xp2torch(cast(FloatsXd, self.node.get_grad(self.key[1])))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.weights.device

    @property
    def learns(self) -> bool:
        """Whether torch computes a gradient; Thinc always does."""
        return self.parameter is None or self.parameter.requires_grad

    def set_zero_gradient(self) -> None:
        """Let there be a gradient of zeros.

        Optimizers are called for these too: their moments fade and the weights decay.
        """
        if self.parameter is not None:
            self.parameter.grad = torch.zeros_like(self.parameter)
        else:
            weights = cast(FloatsXd, self.node.get_param(self.key[1]))
            zeros = self.node.ops.alloc(weights.shape, dtype=weights.dtype)
            self.node.set_grad(self.key[1], cast(FloatsXd, zeros))


def slots_of(nlp: Language, exclude: Collection[str] = ()) -> Iterator[Slot]:
    """YIELDS (Slot): every tensor of the components that are trained with, but those
    whose names are excluded.
    """
    for component, pipe in nlp.pipeline:
        model = None if component in exclude else getattr(pipe, "model", None)
        for index, node in enumerate(model.walk() if isinstance(model, Model) else ()):
            for name in node.param_names:
                place = f"{component}/{index}/{name}"
                yield Slot(place, (node.id, name), node, None)
            for number, shim in enumerate(torch_shims(node)):
                for name, parameter in shim._model.named_parameters():
                    place = f"{component}/{index}.{number}/{name}"
                    yield Slot(place, (shim.id, name), node, parameter)


def optimizer_of(nlp: Language, step: int) -> Optional[AdamW]:
    """Find the optimizer that trains a pipeline; spaCy hands it to no callback.

    step (int): how many steps are done, which tells it from those of earlier runs.
    RETURNS (Optional[AdamW]): None if none has moved a tensor of the pipeline.
    """
    keys = {slot.key for slot in slots_of(nlp)}
    found = [one for one in list(in_use) if not keys.isdisjoint(one.states)]
    return max(found, key=lambda one: one.n_schedule_steps == step, default=None)


def tensor_records(nlp: Language, optimizer: AdamW) -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): plain values of each tensor, by place."""
    return {
        slot.place: {
            "updates": optimizer.nr_update.get(slot.key, 0),
            "gradient": slot.has_gradient,
            "frozen": is_frozen(slot.key),
            "learns": slot.learns,
        }
        for slot in slots_of(nlp)
    }


def moments_of(nlp: Language, optimizer: AdamW) -> Dict[str, Tensor]:
    """RETURNS (Dict[str, Tensor]): the optimizer's state, by place and field."""
    return {
        f"{slot.place}/{field}": tensor
        for slot in slots_of(nlp)
        if slot.key in optimizer.states
        for field, tensor in zip(MOMENTS, optimizer.states[slot.key])
    }


def restore_tensors(
    nlp: Language,
    optimizer: AdamW,
    records: Dict[str, Dict[str, Any]],
    moments: Dict[str, Tensor],
) -> None:
    """Give an optimizer and a pipeline back what they knew.

    records, moments (Dict): of `tensor_records` and `moments_of`.
    """
    slots = list(slots_of(nlp))
    register_pipeline(nlp.pipeline)
    for slot in slots:
        saved = records[slot.place]
        if slot.parameter is not None:
            slot.parameter.requires_grad_(saved["learns"])
        if saved["gradient"]:
            slot.set_zero_gradient()
        optimizer.nr_update[slot.key] = saved["updates"]
        if f"{slot.place}/{MOMENTS[0]}" in moments:
            stored = (moments[f"{slot.place}/{field}"] for field in MOMENTS)
            optimizer.states[slot.key] = State(*(one.to(slot.device) for one in stored))
    freeze_tensors(slot.key for slot in slots if records[slot.place]["frozen"])
    in_use.add(optimizer)


def require_same_tensors(nlp: Language, records: Dict[str, Dict[str, Any]]) -> None:
    """Compare the tensors of a pipeline with those that are known.

    records (Dict[str, Dict[str, Any]]): of `tensor_records`.
    RAISES (ValueError): SP113 when they are others.
    """
    different = sorted({slot.place for slot in slots_of(nlp)} ^ set(records))
    if different:
        count = len(different)
        raise ValueError(Errors.SP113.format(count=count, tensor=different[0]))
