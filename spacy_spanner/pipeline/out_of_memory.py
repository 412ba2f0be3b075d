"""Name the settings that limit memory when there is not enough of it."""

from contextlib import contextmanager
from typing import Any, Iterator, Sequence

import torch

from ..errors import Errors
from ..layers.torch_head import HeadWork

# torch's allocator for the CPU raises no class of its own.
PHRASES = ("can't allocate memory", "not enough memory", "out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """RETURNS (bool): whether numpy, cupy or torch failed to allocate memory."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(part in text for part in PHRASES)


@contextmanager
def memory_explained(
    component: str, docs: Sequence[Any], work: HeadWork
) -> Iterator[None]:
    """Say what to do if memory runs out.

    component (str): name of the component.
    docs (Sequence[Any]): the documents being processed.
    work (HeadWork): their windows.
    RAISES (MemoryError): SP146.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        lines = str(error).splitlines() or [type(error).__name__]
        raise MemoryError(
            Errors.SP146.format(
                component=component,
                docs=len(docs),
                tokens=sum(map(len, docs)),
                longest=int(work.plan.lengths.max(initial=0)),
                max_cells=work.max_cells,
                problem=lines[0],
            )
        ) from error
