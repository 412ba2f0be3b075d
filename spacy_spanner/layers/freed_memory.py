"""Freed memory goes back to the system.

The tensors of a training step have other sizes than those of the step before, and the
allocator of the C library keeps what was freed for tensors that fit: over thousands of
steps, a process holds far more than it uses at any time.
"""

import ctypes
from functools import cache
from typing import Callable, Optional

# Returning takes some hundredths of a second, and the next step asks for the memory
# again: once in so many steps, neither shows.
STEPS_BETWEEN = 16


class FreedMemory:
    """Gives back, now and then, what a long series of steps has freed."""

    def __init__(self) -> None:
        """Count from the first step on."""
        self.n_steps = 0

    def after_step(self) -> None:
        """Call this when a step has let go of its tensors."""
        self.n_steps += 1
        if self.n_steps % STEPS_BETWEEN == 0:
            give_back()


def give_back() -> None:
    """Return what is free to the system, where the C library can: glibc."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Optional[Callable[[int], int]]:
    """RETURNS (Optional[Callable]): glibc's `malloc_trim`, or None elsewhere."""
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows knows no library of all symbols
        return None
