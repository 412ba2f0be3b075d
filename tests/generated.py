"""Generated cases: how many a run tries, and how they are counted."""

from collections import Counter
from contextlib import contextmanager
from functools import wraps
from typing import Any, Iterator

from hypothesis import is_hypothesis_test, settings

IN_THE_GATE = 100
EXPLORE = 5000


def register_profiles() -> None:
    """The gate tries the same cases for the same commit. `explore` looks elsewhere, at
    many more, and prints how to repeat a failure.
    """
    settings.register_profile("repeat", derandomize=True, max_examples=IN_THE_GATE)
    settings.register_profile(
        "explore",
        derandomize=False,
        max_examples=EXPLORE,
        deadline=None,
        print_blob=True,
    )
    settings.load_profile("repeat")


def cases(n: int) -> int:
    """RETURNS (int): `max_examples` of a test that tries n cases in the gate. A number
    as it stands would hold in all profiles.
    """
    return max(1, n * settings().max_examples // IN_THE_GATE)


@contextmanager
def counting(test: Any) -> Iterator[Counter]:
    """YIELDS (Counter): counts the cases that hypothesis generates for a test."""
    counts: Counter = Counter()
    if not is_hypothesis_test(test):
        yield counts
        return
    inner = test.hypothesis.inner_test

    @wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> None:
        counts["generated cases"] += 1
        inner(*args, **kwargs)

    test.hypothesis.inner_test = counted
    try:
        yield counts
    finally:
        test.hypothesis.inner_test = inner
