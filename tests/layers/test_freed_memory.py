"""Memory that training has freed goes back to the system."""

import platform
from pathlib import Path
from typing import List

import pytest
from spacy.language import Language

from spacy_spanner.layers import freed_memory
from spacy_spanner.layers.freed_memory import STEPS_BETWEEN, FreedMemory, give_back

from ..helpers import DATA, make_examples

on_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc gives memory back"
)
BLOCK = 64 * 1024  # small enough to lie on the heap, between its neighbours
N_BLOCKS = 3_000


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1024**2


@on_glibc
def test_what_lies_free_between_blocks_in_use_is_given_back() -> None:
    blocks = [bytearray(BLOCK) for _ in range(N_BLOCKS)]
    in_use = blocks[::100]
    del blocks
    before = resident_mb()
    give_back()
    size_mb = N_BLOCKS * BLOCK / 1024**2
    assert resident_mb() < before - 0.8 * size_mb
    assert all(len(block) == BLOCK for block in in_use)


def test_a_library_that_cannot_give_back_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_library(name: None) -> None:
        raise TypeError

    monkeypatch.setattr(freed_memory.ctypes, "CDLL", no_library)
    freed_memory._trim.cache_clear()
    give_back()
    freed_memory._trim.cache_clear()


@pytest.fixture
def returns(monkeypatch: pytest.MonkeyPatch) -> List[None]:
    """One for each time that memory was given back."""
    seen: List[None] = []
    monkeypatch.setattr(freed_memory, "give_back", lambda: seen.append(None))
    return seen


def test_memory_is_given_back_now_and_then(returns: List[None]) -> None:
    freed = FreedMemory()
    for _ in range(STEPS_BETWEEN - 1):
        freed.after_step()
    assert not returns
    for _ in range(STEPS_BETWEEN + 1):
        freed.after_step()
    assert len(returns) == 2


def test_training_gives_memory_back(
    own_nlp: Language, returns: List[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freed_memory, "STEPS_BETWEEN", 2)
    examples = make_examples(own_nlp, DATA["nested"])
    optimizer = own_nlp.resume_training()
    for _ in range(4):
        own_nlp.update(examples, sgd=optimizer)
    assert len(returns) == 2
