"""Ray is found, and its cluster started and ended."""

import signal
import sys
from typing import Any, Dict, Iterator, List

import pytest

from spacy_spanner.jobs.ray import cluster, require_ray


def test_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r'SP123.*pip install "ray\['):
        require_ray("data")


class FakeRay:
    """Notes how it was started and ended."""

    def __init__(self) -> None:
        self.calls: List[Dict[str, Any]] = []
        self.joined = False
        self.n_ended = 0

    def is_initialized(self) -> bool:
        return self.joined

    def shutdown(self) -> None:
        self.n_ended += 1

    def init(self, **options: Any) -> None:
        self.calls.append(options)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as Ray sets a handler


@pytest.fixture(autouse=True)
def same_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_cluster_is_started_only_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeRay()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for address in (None, "ray://head:10001"):
        with cluster(fake, address):
            pass
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with pytest.raises(KeyError), cluster(fake):
        raise KeyError
    assert fake.n_ended == 3
    addresses = [call["address"] for call in fake.calls]
    assert addresses == [None, "ray://head:10001", "head:6379"]
    # Options of a new cluster are refused by one that exists.
    assert ["include_dashboard" in call for call in fake.calls] == [True, False, False]


def test_cluster_that_is_joined_already_stays() -> None:
    fake = FakeRay()
    fake.joined = True
    with cluster(fake, "ray://head:10001"):
        pass
    assert fake.calls == [] and fake.n_ended == 0


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_DFL])
def test_handler_of_a_command_stays(handler: Any) -> None:
    """Ray's own, which ends the process at once, replaces only the default."""
    signal.signal(signal.SIGTERM, handler)
    with cluster(FakeRay()):
        found = signal.getsignal(signal.SIGTERM)
    # The fake ignores the signal.
    assert found is (signal.SIG_IGN if handler is signal.SIG_DFL else handler)
