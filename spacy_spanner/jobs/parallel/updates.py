"""One update of a pipeline by several processes, equal to that of one process.

Every process is given the whole batch, learns from its share, and then all gradients
are added up, of Thinc's layers and of torch modules alike, before the optimizer sees
them. They are sums over the documents of a batch: in spaCy's components by nature, in
those of this package because each asks for the size of the whole batch by its attribute
`total_of`.
"""

import random
from contextlib import contextmanager
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence

from spacy.language import Language
from spacy.training import Example
from spacy.training.loop import subdivide_batch

from ...training.owners import torch_shims
from ..run.run_state import Slot, slots_of
from .team import Team


class SharedUpdates:
    """Stands in the place of `nlp.update` while several processes train.

    losses (Dict[str, float]): of this process, since they were last counted anew.
    """

    def __init__(
        self, nlp: Language, team: Team, *, parts: int, own: random.Random
    ) -> None:
        """Remember what to share.

        parts (int): into how many parts spaCy would cut a batch.
        own (random.Random): where components draw from that use python's `random`,
            whose own numbers shuffle the data, alike in all processes.
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
        """Learn from the share of a batch; then the gradients are those of all of it.

        losses (Optional[Dict[str, float]]): the losses of this share are added.
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
        # Who has nothing to learn must still say so, in every component.
        return [Example(self.nlp.make_doc(""), self.nlp.make_doc(""))]


@contextmanager
def shared_updates(
    nlp: Language, team: Team, *, parts: int, own: random.Random
) -> Iterator[SharedUpdates]:
    """Let `nlp.update` learn from a share of every batch meanwhile.

    nlp, team, parts, own: see `SharedUpdates`.
    YIELDS (SharedUpdates): what replaces `nlp.update`.
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


@contextmanager
def drawing_from(numbers: random.Random) -> Iterator[None]:
    """Let python's `random` give the numbers of another generator meanwhile."""
    before = random.getstate()
    random.setstate(numbers.getstate())
    try:
        yield
    finally:
        numbers.setstate(random.getstate())
        random.setstate(before)


def add_up_gradients(slots: Sequence[Slot], team: Team) -> None:
    """Replace all gradients by their sums over the processes. A tensor that has a
    gradient anywhere has one everywhere afterwards.
    """
    shims = {id(shim): shim for slot in slots for shim in torch_shims(slot.node)}
    scalers = [shim._grad_scaler for shim in shims.values()]
    flags = [slot.has_gradient for slot in slots]
    # An overflow in mixed precision anywhere must keep all from moving.
    flags += [bool(scaler.found_inf) for scaler in scalers]
    anywhere = team.any_of(flags)
    for scaler, overflow in zip(scalers, anywhere[len(slots) :]):
        scaler._found_inf = overflow
    learned = [slot for slot, flag in zip(slots, anywhere) if flag]
    for slot in learned:
        if not slot.has_gradient:
            slot.set_zero_gradient()
    team.add_up([slot.gradient for slot in learned])


def split_evenly(sizes: Sequence[int], n_parts: int) -> List[List[int]]:
    """Divide items so that all parts are about equally large: the largest item that is
    left goes to the part that has the least so far.

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
