"""Threads that read weights share them; a thread that changes them has them alone."""

import copy
import pickle
from threading import Event, Thread
from typing import Any, Callable, Iterator

import pytest

from spacy_spanner.pipeline.weights_lock import WeightsLock

WAIT = 0.05  # seconds in which a thread that may go on surely does


@pytest.fixture
def lock() -> WeightsLock:
    return WeightsLock()


@pytest.fixture
def start() -> Iterator[Callable[[Callable[[], Any]], Event]]:
    """Start a thread that enters a block; the event says that it is inside."""
    leave, threads = Event(), []  # type: ignore[var-annotated]

    def start_thread(enter: Callable[[], Any]) -> Event:
        inside = Event()

        def work() -> None:
            with enter():
                inside.set()
                leave.wait(10)

        threads.append(Thread(target=work))
        threads[-1].start()
        return inside

    yield start_thread
    leave.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_readers_are_inside_together(lock: WeightsLock, start: Any) -> None:
    assert all(start(lock.reading).wait(5) for _ in range(3))


@pytest.mark.parametrize(
    "first,second",
    [("reading", "changing"), ("changing", "reading"), ("changing", "changing")],
)
def test_changes_are_alone(
    lock: WeightsLock, start: Any, first: str, second: str
) -> None:
    with getattr(lock, first)():
        inside = start(getattr(lock, second))
        assert not inside.wait(WAIT)
    assert inside.wait(5)


def test_a_change_comes_before_later_readers(lock: WeightsLock, start: Any) -> None:
    with lock.reading():
        changing = start(lock.changing)
        assert not changing.wait(WAIT)
        reading = start(lock.reading)
        assert not reading.wait(WAIT)
    assert changing.wait(5) and not reading.wait(WAIT)


def test_the_thread_that_changes_may_read_and_change(lock: WeightsLock) -> None:
    with lock.changing(), lock.reading(), lock.changing():
        pass


def test_an_error_lets_others_in(lock: WeightsLock, start: Any) -> None:
    for enter in (lock.reading, lock.changing):
        with pytest.raises(ZeroDivisionError), enter():
            raise ZeroDivisionError
    assert start(lock.changing).wait(5)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_free(lock: WeightsLock, start: Any, copied: Any) -> None:
    with lock.changing():
        assert start(copied(lock).changing).wait(5)
