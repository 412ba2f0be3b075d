"""Which component and which part of it a tensor belongs to.

An optimizer of Thinc is handed one tensor at a time, with the id of its layer. To give
the parts of a pipeline their own learning rates, and to clip by the norm of a whole
model, it must know more: a component registers its pipeline when it is initialized.
"""

from typing import Any, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple
from weakref import ref

from thinc.api import Model, PyTorchShim

ENCODER, HEAD = "encoder", "head"

# Thinc counts layers and shims apart, so that only id and name together are unique.
Key = Tuple[int, str]


class Owner(NamedTuple):
    """Where a tensor belongs.

    component (str): name of the component in the pipeline.
    part (str): "encoder" or "head".
    name (str): component, part, layer and tensor, as patterns of groups see it.
    pipe (Any): weak reference to the component.
    """

    component: str
    part: str
    name: str
    pipe: Any


_owners: Dict[Key, Owner] = {}


def register_pipeline(pipes: Iterable[Tuple[str, Any]]) -> None:
    """Note the owner of every tensor of the components that have a model.

    pipes (Iterable[Tuple[str, Any]]): names and components, as in `nlp.pipeline`.
    """
    for component, pipe in pipes:
        if isinstance(getattr(pipe, "model", None), Model):
            register_component(component, pipe)


def register_component(component: str, pipe: Any) -> None:
    """Note the owner of every tensor of one component.

    A component that others listen to is encoder throughout.
    """
    for key in [key for key, owner in _owners.items() if owner.pipe() is None]:
        del _owners[key]  # of components that are gone
    model = pipe.model
    shared = hasattr(pipe, "listeners")
    encoder = model if shared else model.maybe_get_ref("tok2vec")
    inside = {id(node) for node in encoder.walk()} if encoder is not None else set()
    for node in model.walk():
        part = ENCODER if id(node) in inside else HEAD
        for key in tensor_keys(node):
            name = f"{component}.{part}.{node.name}.{key[1]}"
            _owners[key] = Owner(component, part, name, ref(pipe))


def tensor_keys(node: Model) -> Iterator[Key]:
    """YIELDS (Key): what an optimizer is handed for the tensors of a layer."""
    for name in node.param_names:
        yield node.id, name
    for shim in node.shims:
        if isinstance(shim, PyTorchShim):
            yield from ((shim.id, name) for name, _ in shim._model.named_parameters())


def owner_of(key: Key) -> Optional[Owner]:
    """RETURNS (Optional[Owner]): None for a tensor that nobody registered."""
    return _owners.get(key)
