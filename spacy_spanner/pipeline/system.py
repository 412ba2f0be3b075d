"""Threads after a fork, lack of memory, and freed memory that returns to the system.

The tensors of a training step have other sizes than those of the step before, and the
allocator of the C library keeps what was freed for tensors that fit. A batch with a
long sentence fits nowhere and is allocated on top of that; so is what an evaluation
between the steps reads.
"""

import ctypes
import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from ..errors import Errors
from ..layers.head_work import HeadWork

# Returning memory and asking for it again takes some tenths of a second. That is worth
# it where much has gathered and the next step will not fit into it, or where very much
# has. docs/performance.md has the costs and gains of other limits.
MUCH = 600 * 1024**2
VERY_MUCH = 2 * MUCH
LARGE = 2.0  # times the mean size of the steps before
SHARE_OF_NEW = 0.05  # of the last step in this mean

# Limits of glibc, see `keep_blocks`: the numbers of the options, and the highest value
# that glibc takes for the first.
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
KEPT_BLOCK = 32 * 1024**2

# torch's allocator for the CPU raises no class of its own, and libraries of CUDA that
# find no memory for their workspace raise their own status.
PHRASES = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "_status_alloc_failed",
)


def one_thread_after_fork() -> None:
    """Keep children of this process, as of `nlp.pipe(n_process=2)`, from hanging.

    libgomp's worker threads do not survive a fork, and the first parallel torch
    operation in the child would wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    torch.set_num_threads(1)


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


class FreedMemory:
    """Returns the memory that past steps have freed when the next step needs it."""

    def __init__(self) -> None:
        """Start without knowledge of sizes."""
        keep_blocks()
        self.mean_size: Optional[float] = None
        self.least = 0  # bytes that were resident when memory was last returned

    def before_step(self, size: int) -> None:
        """Call this before a step allocates its tensors.

        size (int): what the memory of the step grows with, such as padded tokens.
        """
        mean = size if self.mean_size is None else self.mean_size
        self.mean_size = (1 - SHARE_OF_NEW) * mean + SHARE_OF_NEW * size
        self._make_room(size, mean)

    def before_prediction(self, size: int) -> None:
        """Call this before documents are read. Without steps before, nothing is done.

        size (int): as for a step.
        """
        if self.mean_size is not None:
            self._make_room(size, self.mean_size)

    def _make_room(self, size: int, mean: float) -> None:
        gathered = resident_bytes() - self.least
        if gathered > (MUCH if size > LARGE * mean else VERY_MUCH):
            give_back()
            self.least = resident_bytes()


@cache
def keep_blocks() -> None:
    """Let glibc keep what a group of windows has freed for the tensors of the next one.

    At first, glibc returns blocks of more than 128 kB at once, and asks the system for
    each again, page by page. It raises this limit to the size of a block that is freed,
    unless that has more than 32 MB. So whether it ever did depended on the lengths of
    the first texts; the vectors of 100,000 tokens are larger.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        return  # limits that the user has chosen
    set_limit = _of_c("mallopt")
    if set_limit is not None:
        set_limit(MMAP_THRESHOLD, KEPT_BLOCK)
        set_limit(TRIM_THRESHOLD, 2 * KEPT_BLOCK)


def give_back() -> None:
    """Return free memory to the system, where the C library can: glibc."""
    trim = _of_c("malloc_trim")
    if trim is not None:
        trim(0)


def resident_bytes() -> int:
    """RETURNS (int): the memory of this process, or 0 where it is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@cache
def _of_c(name: str) -> Optional[Callable[..., int]]:
    """RETURNS (Optional[Callable]): a function of glibc, or None elsewhere."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # Windows knows no library of all symbols
        return None
