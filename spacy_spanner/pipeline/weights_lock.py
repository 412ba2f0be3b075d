"""Threads that predict with a component while another thread trains it."""

from contextlib import contextmanager
from functools import wraps
from threading import Condition, get_ident
from typing import Any, Callable, Iterator, Optional, Tuple, Type, TypeVar, cast

Method = TypeVar("Method", bound=Callable)


class WeightsLock:
    """Any number of threads may read weights at a time, or one thread may change them.

    A thread that waits to change them is served before those that come later to read
    them: otherwise, predictions that never pause would stop training forever. The
    thread that changes weights may also read them.
    """

    def __init__(self) -> None:
        """Start without readers."""
        self._condition = Condition()
        self._readers = 0
        self._waiting = 0  # threads that wait to change the weights
        self._owner: Optional[int] = None  # the thread that changes them

    def __reduce__(self) -> Tuple[Type["WeightsLock"], Tuple[()]]:
        """A copy, also one in another process, starts without readers."""
        return WeightsLock, ()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wait for a thread that changes the weights, and keep others from it."""
        if self._owner == get_ident():
            yield
            return
        with self._condition:
            self._condition.wait_for(lambda: self._owner is None and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wait for all other threads, and keep them from reading and changing."""
        if self._owner == get_ident():
            yield
            return
        with self._condition:
            self._waiting += 1
            try:
                self._condition.wait_for(
                    lambda: self._owner is None and not self._readers
                )
                self._owner = get_ident()
            finally:
                self._waiting -= 1
                self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._owner = None
                self._condition.notify_all()


def reads_weights(method: Method) -> Method:
    """Let a method of a component wait for others that change its weights."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.weights_lock.reading():
            return method(self, *args, **kwargs)

    return cast(Method, run)


def changes_weights(method: Method) -> Method:
    """Let a method of a component wait for all others that use its weights."""

    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.weights_lock.changing():
            return method(self, *args, **kwargs)

    return cast(Method, run)
