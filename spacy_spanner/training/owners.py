"""Find the component and the part of it that a tensor belongs to.

Thinc passes an optimizer one tensor at a time, with the id of its layer but without the
model. The model is the one whose `Model.finish_update` is running, so it is looked up
on the call stack: users have nothing to register.
"""

import re
import sys
import warnings
from traceback import walk_stack
from types import FrameType
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

from spacy.language import Language
from spacy.pipeline import Pipe
from thinc.api import Model, PyTorchShim

from ..errors import Errors, Warnings
from ..layers.torch_shim import torch_module

ENCODER, HEAD = "encoder", "head"
# Neither, according to the structure of the model and its component.
UNKNOWN = "unknown"
# New vectors in a pretrained encoder learn at the rate of the head.
NEW_IN_ENCODER = "prompts"
# Classes of norms: torch's, and those of Hugging Face such as T5LayerNorm.
NORM_CLASS = re.compile(r"Norm(\dd)?$")
# The code of Thinc's method, which also runs inside a wrapper.
FINISH_UPDATE = Model.finish_update.__code__

# Layers and shims have separate counters, so only id and name together are unique.
Key = Tuple[int, str]
Named = Tuple[str, Any]  # a component, with its name in the pipeline


class Owner(NamedTuple):
    """Where a tensor belongs.

    component (str): name of the component, or of the model if no component is found.
    part (str): "encoder", "head" or "unknown".
    layer, tensor (str): names.
    in_torch (bool): whether it is a parameter of a torch module.
    in_norm (bool): whether that module is a norm.
    """

    component: str
    part: str
    layer: str
    tensor: str
    in_torch: bool
    in_norm: bool

    @property
    def name(self) -> str:
        """component.part.layer.tensor, which the patterns of groups are searched in."""
        return f"{self.component}.{self.part}.{self.layer}.{self.tensor}"


def running_update(tensor: str) -> Tuple[Model, FrameType]:
    """Find the model whose tensors are being updated.

    tensor (str): name of the tensor, for the message.
    RETURNS (Tuple[Model, FrameType]): the model, and the call of its `finish_update`.
    RAISES (ValueError): SP021 if there is none.
    """
    for frame, _ in walk_stack(sys._getframe(1)):
        if frame.f_code is FINISH_UPDATE:
            return frame.f_locals["self"], frame
    raise ValueError(Errors.SP021.format(tensor=tensor))


def components_around(model: Model, call: FrameType) -> List[Named]:
    """Find the component of a model among the variables of a call and its callers:
    training loops hold a pipeline or a component.

    RETURNS (List[Tuple[str, Any]]): names and components of its pipeline; without a
        pipeline the component alone, or nothing.
    """
    alone: List[Named] = []
    for frame, _ in walk_stack(call):
        for value in list(frame.f_locals.values()):
            found: List[Named] = []
            # By type: `isinstance` would run the code of proxies, which may fail.
            if issubclass(type(value), Language):
                found = list(value.components)
            elif issubclass(type(value), Pipe):
                found = [(getattr(value, "name", ""), value)]
            if any(getattr(pipe, "model", None) is model for _, pipe in found):
                if issubclass(type(value), Language):
                    return found
                alone = alone or found
    return alone


def owners_of(model: Model, components: Iterable[Named] = ()) -> Dict[Key, Owner]:
    """Find the owners of the tensors of a model.

    components (Iterable[Tuple[str, Any]]): if one of them has the model, it provides
        the name, and whether others listen to the model.
    RETURNS (Dict[Key, Owner]): in the order of updates.
    """
    own = ((name, c) for name, c in components if getattr(c, "model", None) is model)
    name, pipe = next(own, (_name_of(model), None))
    encoders = encoders_in(model) if pipe is None else encoders_of(pipe)
    inside = {id(node) for encoder in encoders for node in encoder.walk()}
    is_head = any(node.maybe_get_ref("tok2vec") for node in model.walk())
    outside = HEAD if is_head or model.maybe_get_ref("output_layer") else UNKNOWN
    found: Dict[Key, Owner] = {}
    for node in model.walk():
        norms = _norm_tensors(node)
        for key in tensor_keys(node):
            part = ENCODER if id(node) in inside else outside
            part = HEAD if key[1].split(".")[-1] == NEW_IN_ENCODER else part
            in_torch = key[1] not in node.param_names
            found[key] = Owner(name, part, node.name, key[1], in_torch, key[1] in norms)
    # `Model.finish_update` updates all torch tensors first.
    return dict(sorted(found.items(), key=lambda pair: not pair[1].in_torch))


def _name_of(model: Model) -> str:
    """RETURNS (str): the name of a model; in this package, the head has the name of the
    component.
    """
    head = model.maybe_get_ref("output_layer")
    return head.name if head is not None and model.name == "span_model" else model.name


def encoders_in(model: Model) -> List[Model]:
    """RETURNS (List[Model]): the layers that a model refers to as `tok2vec`; without
    such a reference, all encoders in it, which may be the model itself.
    """
    found = [node.maybe_get_ref("tok2vec") for node in model.walk()]
    referred = [encoder for encoder in found if encoder is not None]
    return referred or [node for node in model.walk() if _is_encoder(node)]


def _is_encoder(node: Model) -> bool:
    """RETURNS (bool): whether a layer is spaCy's Tok2Vec, a transformer that can
    replace its listeners, or a pretrained encoder of this package.
    """
    embeds_and_encodes = node.maybe_get_ref("embed") and node.maybe_get_ref("encode")
    replaces_listeners = "replace_listener" in node.attrs
    is_ours = any(getattr(shim, "is_encoder", False) for shim in node.shims)
    return bool(embeds_and_encodes or replaces_listeners or is_ours)


def encoders_of(pipe: Any) -> List[Model]:
    """RETURNS (List[Model]): the encoders of a component. If others listen to it, the
    whole model is an encoder.
    """
    model = getattr(pipe, "model", None)
    if not isinstance(model, Model):
        return []
    return [model] if hasattr(pipe, "listeners") else encoders_in(model)


def tensor_keys(node: Model) -> Iterator[Key]:
    """YIELDS (Key): the keys that an optimizer gets for the tensors of a layer."""
    for name in node.param_names:
        yield node.id, name
    for shim in torch_shims(node):
        parameters = torch_module(shim).named_parameters()
        yield from ((shim.id, name) for name, _ in parameters)


def torch_shims(node: Model) -> List[PyTorchShim]:
    """RETURNS (List[PyTorchShim]): the shims with the torch modules of a layer."""
    return [shim for shim in node.shims if isinstance(shim, PyTorchShim)]


def _norm_tensors(node: Model) -> Set[str]:
    """RETURNS (Set[str]): names of the gains and biases of torch's norms in a layer."""
    return {
        name
        for shim in torch_shims(node)
        for path, module in torch_module(shim).named_modules()
        if NORM_CLASS.search(type(module).__name__)
        for name, _ in module.named_parameters(prefix=path, recurse=False)
    }


def register_pipeline(pipes: Iterable[Named]) -> None:
    """Do nothing; deprecated. Optimizers find every tensor on their own."""
    message = Warnings.SW007.format(name="register_pipeline", instead="Leave it out.")
    warnings.warn(message, DeprecationWarning, stacklevel=2)


def total_of(count: int) -> int:
    """Add up a count over the processes that learn from shares of one batch.

    Deprecated: give your component an attribute `total_of` with the value `int`, and
    call it. Training with several processes replaces it.

    RETURNS (int): the count in the whole batch.
    """
    instead = "Call an attribute total_of of your component, see docs/training.md."
    message = Warnings.SW007.format(name="shares.total_of", instead=instead)
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    for frame, _ in walk_stack(sys._getframe(1)):
        found = getattr(frame.f_locals.get("self"), "total_of", None)
        if found is not None:
            return int(found(count))
    return count
