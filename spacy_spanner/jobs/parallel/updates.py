"""Update a pipeline with several processes as a single process would.

Every process gets the whole batch and learns from its share. Then all gradients, of
Thinc's layers and of torch modules, are added up before the optimizer uses them. This
requires gradients that are sums over documents: spaCy's components have them, and those
of this package divide by the size of the whole batch (attribute `total_of`).
"""

import random
from contextlib import contextmanager
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence

from spacy.language import Language
from spacy.training import Example
from spacy.training.loop import subdivide_batch

from ...internals import internal
from ...layers.torch_shim import grad_scaler
from ...training.owners import torch_shims
from ..run.run_state import drawing_from
from ..run.slots import Slot, slots_of
from .team import Team


class SharedUpdates:
    """Replaces `nlp.update` while several processes train.

    losses (Dict[str, float]): of this process, since they were last reset.
    """

    def __init__(
        self, nlp: Language, team: Team, *, parts: int, own: random.Random
    ) -> None:
        """Set up the sharing.

        parts (int): number of parts that spaCy would divide a batch into.
        own (random.Random): generator for components that use Python's `random`,
            which itself shuffles the data, with the same seed in all processes.
        """
        self.nlp = nlp
        self.team = team
        self.parts = parts
        self.own = own
        self.losses: Dict[str, float] = {}
        self.total_of = team.total
        self._update = nlp.update

    def __call__(
        self,
        examples: Sequence[Example],
        *,
        losses: Optional[Dict[str, float]] = None,
        exclude: Collection[str] = (),
        **options: Any,
    ) -> Dict[str, float]:
        """Learn from a share of the batch; then set the gradients of the whole batch.

        losses (Optional[Dict[str, float]]): to add the losses of this share to.
        RETURNS (Dict[str, float]): the losses.
        """
        self.losses = {} if losses is None else losses
        with drawing_from(self.own):
            for part in subdivide_batch(examples, self.parts):
                self._update(
                    self._share_of(part),
                    losses=self.losses,
                    exclude=exclude,
                    **options,
                )
        add_up_gradients(list(slots_of(self.nlp, exclude)), self.team)
        return self.losses

    def _share_of(self, part: Sequence[Example]) -> List[Example]:
        sizes = [len(example.predicted) for example in part]
        mine = split_evenly(sizes, self.team.size)[self.team.rank]
        if mine:
            return [part[index] for index in mine]
        # A process without documents must still take part, in every component.
        return [Example(self.nlp.make_doc(""), self.nlp.make_doc(""))]


@contextmanager
def shared_updates(
    nlp: Language, team: Team, *, parts: int, own: random.Random
) -> Iterator[SharedUpdates]:
    """Make `nlp.update` learn from a share of every batch within the context.

    nlp, team, parts, own: see `SharedUpdates`.
    YIELDS (SharedUpdates): the replacement of `nlp.update`.
    """
    updates = SharedUpdates(nlp, team, parts=parts, own=own)
    asking: List[Any] = [pipe for _, pipe in nlp.pipeline if hasattr(pipe, "total_of")]
    vars(nlp)["update"] = updates
    for pipe in asking:
        pipe.total_of = updates.total_of
    try:
        yield updates
    finally:
        del vars(nlp)["update"]
        for pipe in asking:
            pipe.total_of = int


def add_up_gradients(slots: Sequence[Slot], team: Team) -> None:
    """Replace all gradients by their sums over the processes. A tensor with a gradient
    in any process has one in all processes afterwards.
    """
    shims = {id(shim): shim for slot in slots for shim in torch_shims(slot.node)}
    scalers = [grad_scaler(shim) for shim in shims.values()]
    flags = [slot.has_gradient for slot in slots]
    # After an overflow in any process, all must skip the update.
    flags += [bool(scaler.found_inf) for scaler in scalers]
    anywhere = team.any_of(flags)
    for scaler, overflow in zip(scalers, anywhere[len(slots) :]):
        internal(scaler, "_found_inf")
        scaler._found_inf = overflow
    learned = [slot for slot, flag in zip(slots, anywhere) if flag]
    for slot in learned:
        if not slot.has_gradient:
            slot.set_zero_gradient()
    team.add_up([slot.gradient for slot in learned])


def split_evenly(sizes: Sequence[int], n_parts: int) -> List[List[int]]:
    """Divide items into parts of similar size: the largest remaining item goes to the
    smallest part.

    RETURNS (List[List[int]]): indices of the items of each part, in their order. Parts
        differ by no more than the largest item; some may be empty.
    """
    parts: List[List[int]] = [[] for _ in range(n_parts)]
    loads = [(0, 0)] * n_parts  # size, and number of items
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        part = min(range(n_parts), key=loads.__getitem__)
        parts[part].append(index)
        size, n_items = loads[part]
        loads[part] = (size + sizes[index], n_items + 1)
    return [sorted(part) for part in parts]
