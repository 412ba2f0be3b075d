"""Counts of what makes a host and a device wait for each other."""

from collections import Counter
from contextlib import contextmanager
from typing import Iterator, NamedTuple


class Traffic(NamedTuple):
    """What happened between host and device, by the name of the operation.

    up (Counter): copies from the host to the device.
    down (Counter): copies from the device to the host.
    waits (Counter): results whose shape depends on values of the device.
    operations (Counter): kernels that torch starts, without views.
    """

    up: Counter
    down: Counter
    waits: Counter
    operations: Counter

    @property
    def sums(self) -> "Sums":
        """The sum of each counter."""
        return Sums(*(sum(counter.values()) for counter in self))


class Sums(NamedTuple):
    """How often each kind of traffic happened, see `Traffic`."""

    up: int
    down: int
    waits: int
    operations: int


traffic = Traffic(Counter(), Counter(), Counter(), Counter())


@contextmanager
def counted() -> Iterator[Traffic]:
    """Count from zero; YIELDS (Traffic): the counters, which the next call clears."""
    for counter in traffic:
        counter.clear()
    yield traffic
