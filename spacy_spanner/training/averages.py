"""Moving averages of weights, for `AdamW`: those of Thinc and of torch alike.

`nlp.use_params` puts them in place for evaluation and storage. It takes a mapping, in
which Thinc's tensors have the keys that optimizers get, and those of a torch module
names that begin with the id of its shim; a module takes all tensors of its state or
none.
"""

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple
from weakref import ref

from thinc.api import Model
from thinc.util import torch2xp
from torch import Tensor, nn

from ..internals import internal
from ..layers.torch_shim import torch_module
from .frozen import Learned
from .owners import Key, torch_shims


class Averages:
    """The averages of all tensors that an optimizer has updated.

    of (Dict[Key, Tensor]): by key of the optimizer, on the device of the weights.
    """

    def __init__(self, decay: float) -> None:
        """decay (float): the highest weight of the average so far in the new one."""
        self.decay = decay
        self.of: Dict[Key, Tensor] = {}
        self._modules: Dict[int, Any] = {}  # by id of the shim, weakly

    def __getstate__(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): what is pickled: no module, as a copy of the
        pipeline has others. The next step finds them.
        """
        return {**vars(self), "_modules": {}}

    def know(self, model: Model) -> None:
        """Note the torch modules of a model, without keeping them alive."""
        for node in model.walk():
            for shim in torch_shims(node):
                self._modules[shim.id] = ref(torch_module(shim))

    def update(self, learned: Sequence[Learned], counts: Mapping[Key, int]) -> None:
        """Move averages towards the weights. As in Thinc, the share of new weights
        falls with the number of updates, so that the first ones are soon forgotten.

        learned (Sequence[Learned]): tensors that were just updated.
        counts (Mapping[Key, int]): their numbers of earlier updates.
        """
        groups: Dict[Tuple, Tuple[List[Tensor], List[Tensor]]] = {}
        for key, weights, _ in learned:
            if key not in self.of:
                self.of[key] = weights.clone()
                continue
            count = counts[key] + 1
            decay = min(self.decay, (1 + count) / (10 + count))
            place = decay, weights.device, weights.dtype
            averages, current = groups.setdefault(place, ([], []))
            averages.append(self.of[key])
            current.append(weights)
        for (decay, *_), (averages, current) in groups.items():
            internal("torch", "_foreach_lerp_")(averages, current, 1 - decay)

    def as_params(self) -> Dict[Any, Any]:
        """RETURNS (Dict[Any, Any]): what `nlp.use_params` takes."""
        in_torch: Set[Key] = set()
        found: Dict[Any, Any] = {}
        for shim_id, module_ref in self._modules.items():
            module = module_ref()
            own = {} if module is None else dict(self._of_module(shim_id, module))
            in_torch.update(own)
            if own and module is not None:
                state = _averaged_state(module, list(own.values()))
                prefix = f"pytorch_{shim_id}_"
                found.update({prefix + name: torch2xp(t) for name, t in state})
        for key, average in self.of.items():
            if key not in in_torch:
                found[key] = torch2xp(average)
        return found

    def _of_module(
        self, shim_id: int, module: nn.Module
    ) -> Iterator[Tuple[Key, Tuple[Tensor, Tensor]]]:
        """YIELDS (Tuple): the key of each averaged tensor, its weights and average."""
        for name, weights in module.named_parameters():
            average = self.of.get((shim_id, name))
            if average is not None:
                yield (shim_id, name), (weights, average)


def _averaged_state(
    module: nn.Module, pairs: Sequence[Tuple[Tensor, Tensor]]
) -> Iterator[Tuple[str, Tensor]]:
    """YIELDS (Tuple[str, Tensor]): the state of a module with averages where there are
    any; tensors that a module has under two names have one average.

    pairs (Sequence[Tuple[Tensor, Tensor]]): weights and averages.
    """
    averages = {weights.data_ptr(): average for weights, average in pairs}
    for name, tensor in module.state_dict().items():
        yield name, averages.get(tensor.data_ptr(), tensor)
