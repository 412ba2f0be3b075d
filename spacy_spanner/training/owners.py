"""Which component and which part of it a tensor belongs to.

An optimizer of Thinc is handed one tensor at a time, with the id of its layer. To give
the parts of a pipeline their own learning rates, and to clip by the norm of a whole
model, it must know more: a component registers its pipeline when it is initialized, and
a pipeline that was loaded is looked up when the first of its tensors comes.
"""

import re
from functools import partial
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)
from weakref import WeakSet, ref

from thinc.api import Model, PyTorchShim
from torch import nn

ENCODER, HEAD = "encoder", "head"
# Vectors that an encoder gets on top of its pretrained weights learn as fast as a head.
NEW_IN_ENCODER = "prompts"
# Classes of norms: torch's, and those of Hugging Face such as T5LayerNorm.
NORM_CLASS = re.compile(r"Norm(\dd)?$")

# Thinc counts layers and shims apart, so that only id and name together are unique.
Key = Tuple[int, str]


class Owner(NamedTuple):
    """Where a tensor belongs.

    component (str): name of the component in the pipeline.
    part (str): "encoder" or "head".
    layer, tensor (str): names.
    pipe (Any): weak reference to the component; gives None when it is gone.
    in_torch (bool): whether it is a parameter of a torch module.
    in_norm (bool): whether that module is a norm, whatever its name.
    """

    component: str
    part: str
    layer: str
    tensor: str
    pipe: Any
    in_torch: bool
    in_norm: bool

    @property
    def name(self) -> str:
        """Component, part, layer and tensor, as patterns of groups see it."""
        return f"{self.component}.{self.part}.{self.layer}.{self.tensor}"


_owners: Dict[Key, Owner] = {}
_frozen: Set[Key] = set()
_languages: "WeakSet[Any]" = WeakSet()


def note_language(nlp: Any) -> None:
    """Remember a pipeline, whose tensors are looked up when they are needed."""
    _languages.add(nlp)


def register_pipeline(pipes: Iterable[Tuple[str, Any]]) -> None:
    """Note the owner of every tensor of the components that have a model.

    pipes (Iterable[Tuple[str, Any]]): names and components, as in `nlp.pipeline`.
    """
    for component, pipe in pipes:
        if isinstance(getattr(pipe, "model", None), Model):
            register_component(component, pipe)


def register_component(component: str, pipe: Any) -> None:
    """Note the owner of every tensor of one component."""
    for key in [key for key, owner in _owners.items() if owner.pipe() is None]:
        del _owners[key]  # of components that are gone
        _frozen.discard(key)
    encoder, reference = encoder_of(pipe), _reference(component, pipe)
    inside = set() if encoder is None else {id(node) for node in encoder.walk()}
    for node in pipe.model.walk():
        in_encoder, in_norm = id(node) in inside, _norm_tensors(node)
        for key in tensor_keys(node):
            new = not in_encoder or key[1].split(".")[-1] == NEW_IN_ENCODER
            _owners[key] = Owner(
                component,
                HEAD if new else ENCODER,
                node.name,
                key[1],
                reference,
                in_torch=key[1] not in node.param_names,
                in_norm=key[1] in in_norm,
            )


def _norm_tensors(node: Model) -> Set[str]:
    """RETURNS (Set[str]): names of the gains and biases of torch's norms in a layer."""
    return {
        name
        for shim in torch_shims(node)
        for path, module in shim._model.named_modules()
        if NORM_CLASS.search(type(module).__name__)
        for name, _ in module.named_parameters(prefix=path, recurse=False)
    }


def _reference(component: str, pipe: Any) -> Callable[[], Any]:
    try:
        return ref(pipe)
    except TypeError:  # spaCy's ner and parser take no weak reference
        return partial(_find_pipe, component, pipe.model.id)


def _find_pipe(component: str, model_id: int) -> Any:
    """RETURNS (Any): the component of a pipeline that is known, or None."""
    for nlp in list(_languages):
        for name, pipe in nlp.components:
            model = getattr(pipe, "model", None)
            if name == component and getattr(model, "id", None) == model_id:
                return pipe
    return None


def encoder_of(pipe: Any) -> Optional[Model]:
    """RETURNS (Optional[Model]): the encoder of a component; one that others listen to
    is encoder throughout.
    """
    model = getattr(pipe, "model", None)
    if not isinstance(model, Model):
        return None
    return model if hasattr(pipe, "listeners") else model.maybe_get_ref("tok2vec")


def tensor_keys(node: Model) -> Iterator[Key]:
    """YIELDS (Key): what an optimizer is handed for the tensors of a layer."""
    for name in node.param_names:
        yield node.id, name
    for shim in torch_shims(node):
        yield from ((shim.id, name) for name, _ in shim._model.named_parameters())


def torch_shims(node: Model) -> List[PyTorchShim]:
    """RETURNS (List[PyTorchShim]): holders of the torch modules of a layer."""
    return [shim for shim in node.shims if isinstance(shim, PyTorchShim)]


def owner_of(key: Key) -> Optional[Owner]:
    """RETURNS (Optional[Owner]): None for a tensor of no pipeline that is known."""
    if key not in _owners:
        for nlp in list(_languages):
            register_pipeline(nlp.pipeline)
    return _owners.get(key)


def known_owners() -> List[Owner]:
    """RETURNS (List[Owner]): one for each tensor, with or without gradient, of the
    components that are still there.
    """
    return [owner for owner in _owners.values() if owner.pipe() is not None]


def is_frozen(key: Key) -> bool:
    """RETURNS (bool): whether a tensor shall stay as it is for now."""
    return key in _frozen


def freeze_tensors(keys: Iterable[Key]) -> None:
    """Let tensors stay as they are; whether they get a gradient is left as it is."""
    _frozen.update(keys)


def set_frozen(pipe: Any, part: str, frozen: bool) -> None:
    """Let a part of a component stay as it is, or learn again.

    `AdamW` leaves the tensors out. Those of this package's own layers get no gradient
    meanwhile, which saves the backward pass; other layers would not expect that.

    pipe (Any): the component, registered before.
    part (str): "encoder" or "head".
    frozen (bool): whether the part stays as it is.
    """
    for node in pipe.model.walk():
        keys = {key for key in tensor_keys(node) if _is_of(key, pipe, part)}
        (_frozen.update if frozen else _frozen.difference_update)(keys)
        for shim in filter(stands_missing_gradients, torch_shims(node)):
            _set_gradients(shim._model, {name for _, name in keys}, not frozen)


def _is_of(key: Key, pipe: Any, part: str) -> bool:
    owner = _owners.get(key)
    return owner is not None and owner.pipe() is pipe and owner.part == part


def stands_missing_gradients(shim: Any) -> bool:
    """RETURNS (bool): whether the layer of a shim runs when nothing in it learns."""
    return getattr(shim, "stands_missing_gradients", False)


def _set_gradients(module: nn.Module, names: Set[str], wanted: bool) -> None:
    for name, parameter in module.named_parameters():
        if name in names:
            parameter.requires_grad_(wanted)
            if not wanted:
                parameter.grad = None
