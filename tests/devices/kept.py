"""What heads keep for the backward pass: `python -m tests.devices.kept` shows the table
of docs/gpu.md, counted from the tensors of the CPU.
"""

import weakref
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import spacy
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from spacy_spanner.layers.torch_shim import get_shim
from spacy_spanner.models.codec import SpanCodec, WindowBatch
from spacy_spanner.spans.table import SpanTable

from ..helpers import FACTORIES, defaults_of

LABELS = ("A", "B", "C", "D")
WIDTH = 96  # of the token vectors of spaCy's CNN
LENGTHS = (32, 128, 256)
GOLD = [(1, 3, 0), (3, 4, 1)]


class Head(NamedTuple):
    """The mathematics of a model, and its module with new weights."""

    codec: SpanCodec
    module: nn.Module

    def cells(self, n_tokens: int) -> int:
        """RETURNS (int): what a window counts as in training."""
        return self.codec.cells(self.module, len(LABELS), n_tokens, in_training=True)


class Bytes(NamedTuple):
    """What is kept between the passes, and the most that is held at once."""

    kept: int
    peak: int


class Held(TorchDispatchMode):
    """Adds up the tensors that exist at once; those that exist already do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Dict[int, int] = {}
        self.now = self.peak = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        results = function(*args, **(kwargs or {}))
        for result in tree_leaves(results):
            if isinstance(result, Tensor):
                self._add(result.untyped_storage())
        return results

    def _add(self, storage: Any) -> None:
        key = storage._cdata
        if key not in self.sizes:
            self.sizes[key] = storage.nbytes()
            self.now += self.sizes[key]
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._drop, key)

    def _drop(self, key: int) -> None:
        self.now -= self.sizes.pop(key)


def head_of(factory: str, n_in: int = WIDTH, **settings: Any) -> Head:
    """Build a head with new weights, which lets all candidates pass.

    n_in (int): width of the token vectors.
    **settings: of the model or of the component.
    """
    own = defaults_of(factory)["model"]
    model = {name: settings.pop(name) for name in [*settings] if name in own}
    config = {"model": {**own, **model}, **settings}
    pipe: Any = spacy.blank("en").add_pipe(factory, config=config)
    shim = get_shim(pipe.model.get_ref("output_layer"))
    shim.create(n_in, len(LABELS))
    return Head(pipe.codec, shim.module)


def count(head: Head, n_tokens: int, n_in: int = WIDTH, n_windows: int = 1) -> Bytes:
    """RETURNS (Bytes): of one update from windows of so many tokens."""
    torch.manual_seed(0)
    vectors = torch.randn(n_windows, n_tokens, n_in, requires_grad=True)
    batch = WindowBatch(vectors, np.full(n_windows, n_tokens))
    gold = [SpanTable.of(GOLD)] * n_windows
    rng = np.random.default_rng(0)
    targets = head.codec.targets(gold, batch.lengths, rng=rng)
    weights = {one.untyped_storage().data_ptr() for one in head.module.parameters()}
    kept: Dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights:
            kept[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        head.codec.loss(head.module, batch, targets)
    size = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    with Held() as held:
        head.codec.loss(head.module, batch, targets).backward()
    head.module.zero_grad()
    return Bytes(size, held.peak)


def rows(lengths: Sequence[int] = LENGTHS) -> List[Tuple[str, ...]]:
    """RETURNS (List[Tuple[str, ...]]): the cells of the table."""
    found = []
    for factory in FACTORIES:
        head = head_of(factory)
        sizes = [count(head, n_tokens).kept for n_tokens in lengths]
        found.append((f"`{factory}`", *(f"{size / 1e6:.1f} MB" for size in sizes)))
    return found


if __name__ == "__main__":
    for row in rows():
        print("|", " | ".join(row), "|")
