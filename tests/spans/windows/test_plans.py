"""Documents to windows, by hand and by their laws."""

from itertools import pairwise
from typing import List, Optional, Sequence, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.spans.windows import (
    WindowPlan,
    plan_windows,
    strided_windows,
)

Pairs = List[Tuple[int, int]]

# -------------------------------------------------------------------- strides


@pytest.mark.parametrize(
    "run, max_window, stride, expected",
    [
        pytest.param((0, 3), 4, 1, [(0, 3)], id="shorter than a window"),
        pytest.param((0, 4), 4, 1, [(0, 4)], id="exactly a window"),
        pytest.param((0, 5), 4, 1, [(0, 4), (1, 5)], id="one token more"),
        pytest.param((0, 7), 4, 1, [(0, 4), (3, 7)], id="two full windows"),
        pytest.param((0, 9), 4, 1, [(0, 4), (3, 7), (5, 9)], id="last moved back"),
        pytest.param((0, 10), 4, 2, [(0, 4), (2, 6), (4, 8), (6, 10)], id="half"),
        pytest.param((0, 9), 4, 0, [(0, 4), (4, 8), (5, 9)], id="without stride"),
        pytest.param((5, 11), 4, 1, [(5, 9), (7, 11)], id="run inside a text"),
        pytest.param((0, 3), 1, 0, [(0, 1), (1, 2), (2, 3)], id="windows of one token"),
    ],
)
def test_strided_windows_by_hand(
    run: Tuple[int, int], max_window: int, stride: int, expected: Pairs
) -> None:
    assert strided_windows(*run, max_window, stride) == expected


@pytest.mark.parametrize("start", [0, 7])
def test_strided_windows_of_an_empty_run_is_empty(start: int) -> None:
    assert strided_windows(start, start, 4, 1) == []


# ----------------------------------------------------------------------- plan


def plan(
    lengths: Sequence[int],
    sentence_starts: Sequence[Optional[Sequence[int]]],
    mode: str = "sentence",
    max_window: int = 4,
    stride: int = 1,
) -> WindowPlan:
    return plan_windows(
        lengths, sentence_starts, mode=mode, max_window=max_window, stride=stride
    )


def triples(windows: WindowPlan) -> List[Tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in windows[:3])))


def test_plan_windows_by_sentence_makes_a_window_of_each() -> None:
    assert triples(plan([6], [[0, 2, 3]])) == [(0, 0, 2), (0, 2, 3), (0, 3, 6)]


def test_plan_windows_by_sentence_cuts_a_long_sentence() -> None:
    windows = plan([8], [[0, 2]])
    assert triples(windows) == [(0, 0, 2), (0, 2, 6), (0, 4, 8)]


def test_plan_windows_by_sentence_without_boundaries_strides_over_the_text() -> None:
    assert triples(plan([7], [None])) == [(0, 0, 4), (0, 3, 7)]


def test_plan_windows_by_sentence_with_one_boundary_at_zero_is_one_sentence() -> None:
    assert triples(plan([3], [[0]])) == [(0, 0, 3)]


def test_plan_windows_by_sentence_decides_for_each_document() -> None:
    windows = plan([3, 3], [[0, 1], None])
    assert triples(windows) == [(0, 0, 1), (0, 1, 3), (1, 0, 3)]


@pytest.mark.parametrize("mode", ["doc", "strided"])
def test_plan_windows_of_other_modes_ignores_sentences(mode: str) -> None:
    assert triples(plan([4], [[0, 2]], mode)) == [(0, 0, 4)]


@pytest.mark.parametrize("mode", ["doc", "strided"])
def test_plan_windows_of_other_modes_cuts_long_documents(mode: str) -> None:
    windows = plan([7], [[0, 2]], mode)
    assert triples(windows) == [(0, 0, 4), (0, 3, 7)]


@pytest.mark.parametrize("mode", ["sentence", "doc", "strided"])
def test_plan_windows_of_an_empty_document_is_empty(mode: str) -> None:
    assert plan([0], [None], mode).n_windows == 0


@pytest.mark.parametrize("mode", ["sentence", "doc", "strided"])
def test_plan_windows_of_no_documents_is_empty(mode: str) -> None:
    assert plan([], [], mode).n_windows == 0


def test_plan_windows_counts_flat_positions_over_all_documents() -> None:
    windows = plan([3, 0, 6], [[0, 2], [], None])
    assert windows.doc.tolist() == [0, 0, 2, 2]
    assert windows.start.tolist() == [0, 2, 0, 2]
    assert windows.flat_start.tolist() == [0, 2, 3, 5]


def test_window_plan_lengths_are_tokens_per_window() -> None:
    windows = plan([6], [[0, 2, 3]])
    assert windows.lengths.tolist() == [2, 1, 3]
    assert windows.n_windows == 3
    assert windows.n_padded == 9


def test_window_plan_of_no_windows_pads_nothing() -> None:
    assert plan([], []).n_padded == 0


# ----------------------------------------------------------------- properties


@st.composite
def texts(draw: st.DrawFn) -> Tuple[int, List[int]]:
    """Length of a document, and its sentence starts."""
    length = draw(st.integers(0, 40))
    inner = draw(st.sets(st.integers(1, 39), max_size=6))
    return length, [0, *sorted(start for start in inner if start < length)]


@st.composite
def sizes(draw: st.DrawFn) -> Tuple[int, int]:
    """max_window and stride."""
    max_window = draw(st.integers(1, 12))
    return max_window, draw(st.integers(0, max_window - 1))


modes = st.sampled_from(["sentence", "doc", "strided"])
batches = st.lists(texts(), max_size=4)


def planned(
    batch: List[Tuple[int, List[int]]], mode: str, size: Tuple[int, int]
) -> WindowPlan:
    lengths = [length for length, _ in batch]
    return plan(lengths, [starts for _, starts in batch], mode, *size)


@given(batches, modes, sizes())
def test_plan_windows_covers_every_token(
    batch: List[Tuple[int, List[int]]], mode: str, size: Tuple[int, int]
) -> None:
    covered = {
        (doc, token)
        for doc, start, end in triples(planned(batch, mode, size))
        for token in range(start, end)
    }
    assert covered == {
        (doc, token) for doc, (length, _) in enumerate(batch) for token in range(length)
    }


@given(batches, modes, sizes())
def test_plan_windows_makes_no_window_longer_than_allowed_and_none_empty(
    batch: List[Tuple[int, List[int]]], mode: str, size: Tuple[int, int]
) -> None:
    lengths = planned(batch, mode, size).lengths
    assert all(1 <= length <= size[0] for length in lengths)


@given(batches, modes, sizes())
def test_plan_windows_gives_flat_starts_of_the_concatenation(
    batch: List[Tuple[int, List[int]]], mode: str, size: Tuple[int, int]
) -> None:
    tokens = [(doc, token) for doc, (n, _) in enumerate(batch) for token in range(n)]
    windows = planned(batch, mode, size)
    firsts = list(zip(windows.doc.tolist(), windows.start.tolist()))
    assert [tokens[flat] for flat in windows.flat_start] == firsts


@given(texts(), sizes())
def test_plan_windows_never_leaves_a_sentence(
    text: Tuple[int, List[int]], size: Tuple[int, int]
) -> None:
    length, starts = text
    sentence = np.zeros(length, dtype=int)
    sentence[[start for start in starts if start < length]] = 1
    sentence = np.cumsum(sentence)
    for _, start, end in triples(planned([text], "sentence", size)):
        assert len(set(sentence[start:end])) == 1


@given(st.integers(0, 60), sizes())
def test_strided_windows_hold_every_span_up_to_the_stride(
    length: int, size: Tuple[int, int]
) -> None:
    max_window, stride = size
    windows = strided_windows(0, length, max_window, stride)
    for width in range(1, stride + 1):
        for start in range(length - width + 1):
            assert any(a <= start and start + width <= b for a, b in windows)


@given(st.integers(0, 60), sizes())
def test_strided_windows_of_one_run_share_at_least_the_stride(
    length: int, size: Tuple[int, int]
) -> None:
    windows = strided_windows(0, length, *size)
    for (_, end), (start, _) in pairwise(windows):
        assert end - start >= size[1]
