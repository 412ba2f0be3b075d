"""What an optimizer remembers of the models that it updates, and they of it."""

import sys
from typing import Any, Dict, Iterable, Optional, Set, Tuple
from weakref import ref

from thinc.api import Model, Optimizer

from .groups import Group
from .owners import Key, Named, Owner, owners_of

# Where a model keeps a note of the optimizer that has updated it last.
NOTE = "spanner_optimizer"
END = sys.maxsize


class ModelPlan:
    """What an optimizer knows of a model; it holds no reference to the model.

    owners (Dict[Key, Owner]): by key, in the order in which tensors come.
    groups (Dict[Key, Group]): of the tensors that came.
    n_steps (int): how many have begun.
    frozen (Set[Key]): what stays as it is in the step that runs.
    factor (float): by which the gradients of this step shrink.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.owners: Dict[Key, Owner] = {}
        self.groups: Dict[Key, Group] = {}
        self.n_steps = 0
        self.frozen: Set[Key] = set()
        self.factor = 1.0
        self._position: Dict[Key, int] = {}
        self._last = END  # position of the tensor that came last

    def read(self, model: Model, components: Iterable[Named]) -> None:
        """Find where the tensors of a model belong, again when it has new ones."""
        self.owners = owners_of(model, components)
        self.groups.clear()
        self._position = {key: number for number, key in enumerate(self.owners)}

    def begins_step(self, key: Key) -> bool:
        """RETURNS (bool): whether a tensor comes first in a step: in all steps, tensors
        come in the same order.
        """
        return self._position[key] <= self._last

    def go_to(self, key: Key) -> None:
        """Note which tensor came last."""
        self._last = self._position[key]

    def end_step(self) -> None:
        """Let the tensor that comes next begin a step, whichever it is."""
        self._last = END


class Note:
    """A weak reference to an optimizer, in `Model.attrs`.

    Copies of a model begin without one. msgpack cannot write it, so Thinc never stores
    it.
    """

    def __init__(self, optimizer: Optional[Optimizer] = None) -> None:
        """Refer to an optimizer, or to none."""
        self._reference = None if optimizer is None else ref(optimizer)

    @property
    def optimizer(self) -> Optional[Any]:
        """The optimizer, if it still exists."""
        return None if self._reference is None else self._reference()

    def __reduce__(self) -> Tuple[Any, ...]:
        """Copy and pickle as an empty note."""
        return Note, ()


def note_optimizer(model: Model, optimizer: Optimizer) -> None:
    """Note on a model what updates it."""
    model.attrs[NOTE] = Note(optimizer)


def optimizer_of(model: Model) -> Optional[Any]:
    """RETURNS (Optional[Optimizer]): what has updated a model last, if it exists."""
    return model.attrs.get(NOTE, Note()).optimizer
