"""What one process must know of the others when all learn from shares of one batch.

The loss of a span model is a mean over the windows of a batch. A process that sees only
a share of the batch asks here for the number of windows in the whole, so that gradients
of all shares add up to that of the batch. Elsewhere the share is the whole.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Callable, Iterator, NamedTuple


class Share(NamedTuple):
    """How a process takes part.

    total (Callable): adds up the counts of all processes, which must all call it.
    writes (bool): whether this is the process that writes files.
    """

    total: Callable[[int], int]
    writes: bool


ALONE = Share(int, True)
_share: ContextVar[Share] = ContextVar("share", default=ALONE)


def total_of(count: int) -> int:
    """RETURNS (int): the count of something in the whole batch."""
    return _share.get().total(count)


def writes_files() -> bool:
    """RETURNS (bool): whether it is for this process to write what all have learned."""
    return _share.get().writes


@contextmanager
def sharing(share: Share) -> Iterator[None]:
    """Let this process be one of several meanwhile."""
    token = _share.set(share)
    try:
        yield
    finally:
        _share.reset(token)
