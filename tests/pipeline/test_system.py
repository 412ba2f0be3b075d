"""Memory that training has freed goes back to the system."""

import os
import platform
import subprocess
import sys
from typing import Dict, List, NoReturn, Tuple

import pytest
from spacy.language import Language

from spacy_spanner.pipeline import system
from spacy_spanner.pipeline.system import (
    MUCH,
    VERY_MUCH,
    FreedMemory,
    give_back,
    resident_bytes,
)

from ..helpers import DATA, make_examples

on_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc gives memory back"
)
BLOCK = 64 * 1024  # small enough to lie on the heap, between its neighbours
N_BLOCKS = 3_000
LIMIT_OF_USER = {"MALLOC_MMAP_THRESHOLD_": "131072"}
PAGE = 4096


@on_glibc
def test_what_lies_free_between_blocks_in_use_is_given_back() -> None:
    blocks = [bytearray(BLOCK) for _ in range(N_BLOCKS)]
    in_use = blocks[::100]
    del blocks
    before = resident_bytes()
    give_back()
    assert resident_bytes() < before - 0.8 * N_BLOCKS * BLOCK
    assert all(len(block) == BLOCK for block in in_use)


COUNT_FAULTS = """
import resource, numpy
import spacy
spacy.blank("en").add_pipe("span_biaffine")
large = numpy.ones(2**23)  # 64 MB: glibc does not learn from its end
del large
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    numpy.ones(2**20)  # 8 MB
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@on_glibc
@pytest.mark.parametrize(
    "variables, n_blocks", [({}, (0, 2)), (LIMIT_OF_USER, (5, 60))]
)
def test_tensors_of_the_next_group_lie_where_those_of_the_last_did(
    variables: Dict[str, str], n_blocks: Tuple[int, int]
) -> None:
    # NumPy asks for pages of 2 MB, which the system may or may not have.
    environment = {**os.environ, "NUMPY_MADVISE_HUGEPAGE": "0", **variables}
    command = [sys.executable, "-c", COUNT_FAULTS]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    # Blocks that the system gave.
    asked = int(done.stdout) * PAGE / 2**23
    assert n_blocks[0] <= asked < n_blocks[1]


def test_a_library_that_cannot_give_back_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_library(name: None) -> NoReturn:
        raise TypeError

    monkeypatch.setattr(system.ctypes, "CDLL", no_library)
    system._of_c.cache_clear()
    give_back()
    system._of_c.cache_clear()


def test_nothing_is_known_of_a_system_that_does_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_file(path: object, encoding: str) -> NoReturn:
        raise FileNotFoundError

    monkeypatch.setattr(system.Path, "read_text", no_file)
    assert resident_bytes() == 0


class Heap:
    """A heap whose resident size a test sets."""

    in_use = 100 * 1024**2

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.resident = self.in_use
        self.n_returns = 0
        monkeypatch.setattr(system, "resident_bytes", lambda: self.resident)
        monkeypatch.setattr(system, "give_back", self.give_back)

    def give_back(self) -> None:
        self.resident = self.in_use
        self.n_returns += 1

    def returns(self, freed: FreedMemory, sizes: List[int], gathered: int) -> int:
        """RETURNS (int): how often memory came back before steps of these sizes."""
        before = self.n_returns
        for size in sizes:
            self.resident = self.in_use + gathered
            freed.before_step(size)
        return self.n_returns - before


@pytest.fixture
def heap(monkeypatch: pytest.MonkeyPatch) -> Heap:
    return Heap(monkeypatch)


@pytest.fixture
def freed(heap: Heap) -> FreedMemory:
    """In the middle of a training with steps of size 100."""
    freed = FreedMemory()
    assert heap.returns(freed, [100], VERY_MUCH) == 1
    return freed


@pytest.mark.parametrize(
    "size, gathered, n_returns",
    [
        pytest.param(210, MUCH + PAGE, 1, id="large"),
        pytest.param(210, MUCH - PAGE, 0, id="large, little gathered"),
        pytest.param(190, MUCH + PAGE, 0, id="as always"),
        pytest.param(190, VERY_MUCH + PAGE, 1, id="as always, very much gathered"),
        pytest.param(1, VERY_MUCH - PAGE, 0, id="small"),
    ],
)
def test_memory_is_given_back_before_a_step_that_needs_it(
    heap: Heap, freed: FreedMemory, size: int, gathered: int, n_returns: int
) -> None:
    assert heap.returns(freed, [size], gathered) == n_returns


def test_a_step_is_large_among_those_before_it(heap: Heap, freed: FreedMemory) -> None:
    assert heap.returns(freed, [220, 220], MUCH + PAGE) == 2
    heap.returns(freed, [220] * 100, 0)
    assert heap.returns(freed, [220, 220], MUCH + PAGE) == 0
    assert heap.returns(freed, [450], MUCH + PAGE) == 1


def test_memory_in_use_is_not_asked_for_again_and_again(
    heap: Heap, freed: FreedMemory
) -> None:
    heap.in_use += 10 * VERY_MUCH
    assert heap.returns(freed, [100] * 10, 0) == 1


def test_memory_is_given_back_before_much_is_read_after_training(
    heap: Heap, freed: FreedMemory
) -> None:
    heap.resident = heap.in_use + MUCH + PAGE
    freed.before_prediction(150)
    assert heap.n_returns == 1  # that of the training
    freed.before_prediction(210)
    freed.before_prediction(210)
    assert heap.n_returns == 2
    assert freed.mean_size == 100


def test_process_that_only_reads_keeps_its_memory(heap: Heap) -> None:
    heap.resident = heap.in_use + 10 * VERY_MUCH
    FreedMemory().before_prediction(1000)
    assert heap.n_returns == 0


def test_reading_asks_before_each_group(
    own_nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: List[int] = []
    monkeypatch.setattr(
        FreedMemory, "before_prediction", lambda self, size: sizes.append(size)
    )
    docs = list(own_nlp.pipe(["One two three.", "Four.", ""]))
    assert sizes == [2 * len(docs[0])]


def test_training_asks_before_each_step(
    own_nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: List[int] = []
    monkeypatch.setattr(
        FreedMemory, "before_step", lambda self, size: sizes.append(size)
    )
    annotated = [row for row in DATA["nested"] if row[1]]
    examples = make_examples(own_nlp, annotated)
    longest = max(len(example.predicted) for example in examples)
    optimizer = own_nlp.resume_training()
    own_nlp.update(examples, sgd=optimizer)
    own_nlp.update(examples[:1], sgd=optimizer)
    assert sizes == [len(examples) * longest, len(examples[0].predicted)]
