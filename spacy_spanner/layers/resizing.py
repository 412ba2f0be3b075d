"""Adapt a trained model to other labels, without knowing what it consists of.

A module is planned twice, for different numbers of labels: where the shapes of a tensor
differ, its rows belong to labels, after those that all labels share, such as the row of
"no entity". The rows of labels that stay are copied, those of new labels are new.
"""

from typing import Any, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from thinc.api import Model
from torch import Tensor, nn

from ..errors import Errors
from .stored_state import State, plan_module
from .torch_shim import LazyShim, get_shim, renew_id

# The place of each label among the old ones; None if it is new.
Sources = Sequence[Optional[int]]
Shape = Tuple[int, ...]


class Rows(NamedTuple):
    """Rows of one axis that go from an old tensor to a new one. Shapes: (row,)"""

    new: List[int]
    old: List[int]


def resize_labels(model: Model, sources: Sources, seed: int) -> None:
    """Give a model other labels.

    The weights of new labels are drawn from the seed, so that all processes of a
    training draw the same. Optimizers see the tensors of changed modules as new ones.

    model (Model): see `span_model.build_span_model`.
    sources (Sequence[Optional[int]]): the labels that it should have.
    RAISES (ValueError): SP252 for a model whose tensors do not tell which rows belong
        to a label.
    """
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    with torch.random.fork_rng():
        torch.manual_seed(seed + len(sources))
        _resize_head(get_shim(head), sources, head.name)
        head.set_dim("nO", len(sources), force=True)
        if tok2vec.has_dim("nL"):  # an encoder with prompts
            prompts: Any = tok2vec.shims[0]
            prompts.resize_prompts(sources, tok2vec.attrs["prompts"])
            tok2vec.set_dim("nL", len(sources), force=True)


def _resize_head(shim: LazyShim, sources: Sources, name: str) -> None:
    before: State = shim.module.state_dict()
    is_train, fixed = shim.module.training, _without_gradients(shim.module)
    device = next(iter(before.values())).device
    assert shim.sizes is not None  # a trained head has sizes
    n_in, n_old = shim.sizes
    shapes = [_shapes(shim, n_in, n_old + added) for added in (0, 1)]
    rows = {}
    for key in before:
        found = find_rows(shapes[0][key], shapes[1][key], n_old, sources)
        if found is None:
            raise ValueError(Errors.SP252.format(component=name, tensor=key))
        rows[key] = found
    shim.create(n_in, len(sources))
    shim.module.to(device)
    for key, tensor in shim.module.state_dict().items():
        copy_rows(before[key], tensor, rows[key])
    for key, parameter in shim.module.named_parameters():
        parameter.requires_grad_(key not in fixed)
    shim.module.train(is_train)
    renew_id(shim)


def _without_gradients(module: nn.Module) -> Set[str]:
    return {key for key, one in module.named_parameters() if not one.requires_grad}


def _shapes(shim: LazyShim, n_in: int, n_labels: int) -> dict:
    module: nn.Module = plan_module(lambda: shim.build(n_in, n_labels))
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def find_rows(
    shape: Shape, wider: Shape, n_labels: int, sources: Sources
) -> Optional[List[Rows]]:
    """Find the rows of a tensor that belong to labels.

    shape, wider (Tuple[int, ...]): its shapes with `n_labels` and with one more.
    RETURNS (Optional[List[Rows]]): for each axis, the rows to copy; None if their
        number does not grow evenly.
    """
    found = []
    for size, more in zip(shape, wider):
        per_label = more - size
        shared = size - per_label * n_labels
        if per_label < 0 or shared < 0:
            return None
        rows = Rows(list(range(shared)), list(range(shared)))
        for new, old in enumerate(sources if per_label else ()):
            if old is not None:
                rows.new.extend(_block(shared, per_label, new))
                rows.old.extend(_block(shared, per_label, old))
        found.append(rows)
    return found


def _block(shared: int, per_label: int, label: int) -> range:
    """RETURNS (range): the rows of a label."""
    first = shared + per_label * label
    return range(first, first + per_label)


def copy_rows(source: Tensor, target: Tensor, rows: Sequence[Rows]) -> None:
    """Copy the rows of all axes from one tensor to another, in place."""
    target[_grid([one.new for one in rows])] = source[_grid([one.old for one in rows])]


def _grid(indices: Sequence[Sequence[int]]) -> Tuple[Tensor, ...]:
    """RETURNS (Tuple[Tensor, ...]): an index of each axis, along its own axis."""
    n_axes = len(indices)
    return tuple(
        torch.as_tensor(index, dtype=torch.int64).view(
            [-1 if other == axis else 1 for other in range(n_axes)]
        )
        for axis, index in enumerate(indices)
    )
