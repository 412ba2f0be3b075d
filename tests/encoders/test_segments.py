"""One document to segments: by hand, and what holds for every document."""

from itertools import pairwise
from typing import List, Optional, Sequence, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.encoders.segments import Segment, plan_segments

Four = Tuple[int, int, int, int]


def plan(
    words: Sequence[int],
    n_tokens: int,
    starts: Optional[Sequence[int]] = None,
    *,
    context: int = 0,
    max_pieces: int = 100,
) -> List[Four]:
    """Plan a document, and leave out its index."""
    segments = plan_segments(
        0,
        np.asarray(words, dtype=np.int64),
        n_tokens,
        starts,
        context=context,
        max_pieces=max_pieces,
    )
    return [segment[1:] for segment in segments]


# -------------------------------------------------------------------- sentences


def test_segments_without_boundaries_is_the_document() -> None:
    assert plan([0, 1, 1, 2], 3) == [(0, 4, 0, 3)]


def test_segments_are_sentences() -> None:
    # Sentences of 2, 1 and 3 tokens; token 1 has three pieces.
    words = [0, 1, 1, 1, 2, 3, 4, 5]
    expected = [(0, 4, 0, 2), (4, 5, 2, 3), (5, 8, 3, 6)]
    assert plan(words, 6, [0, 2, 3]) == expected


def test_segments_carry_the_index_of_their_document() -> None:
    words = np.arange(2)
    planned = plan_segments(7, words, 2, [0, 1], context=0, max_pieces=9)
    assert planned == [Segment(7, 0, 1, 0, 1), Segment(7, 1, 2, 1, 2)]


@pytest.mark.parametrize("starts", [None, [], [0]])
def test_segments_of_an_empty_document_is_empty(starts: Optional[List[int]]) -> None:
    assert plan([], 0, starts) == []


def test_segments_of_tokens_without_pieces_see_nothing() -> None:
    assert plan([], 3) == [(0, 0, 0, 3)]


def test_segments_own_tokens_without_pieces_at_the_edges() -> None:
    # Tokens 0, 2, 3 and 5 have no pieces; a sentence begins at 3.
    assert plan([1, 4, 4], 6, [0, 3]) == [(0, 1, 0, 3), (1, 3, 3, 6)]


def test_segments_of_a_sentence_without_pieces_between_others() -> None:
    expected = [(0, 1, 0, 1), (1, 1, 1, 2), (1, 2, 2, 3)]
    assert plan([0, 2], 3, [0, 1, 2]) == expected


# ---------------------------------------------------------------------- context

# Five sentences of one token, with 1, 2, 3, 2 and 1 pieces.
SENTENCES = [0, 1, 1, 2, 2, 2, 3, 3, 4]
STARTS = [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "context, max_pieces, expected",
    [
        pytest.param(0, 100, [(0, 1), (1, 3), (3, 6), (6, 8), (8, 9)], id="none"),
        pytest.param(1, 100, [(0, 3), (0, 6), (1, 8), (3, 9), (6, 9)], id="one"),
        pytest.param(2, 100, [(0, 6), (0, 8), (0, 9), (1, 9), (3, 9)], id="two"),
        pytest.param(9, 100, [(0, 9)] * 5, id="more than there is"),
        pytest.param(1, 6, [(0, 3), (0, 6), (1, 6), (3, 9), (6, 9)], id="left first"),
        pytest.param(1, 3, [(0, 3), (0, 3), (3, 6), (6, 9), (6, 9)], id="one side"),
        pytest.param(2, 6, [(0, 6), (0, 6), (0, 6), (3, 9), (3, 9)], id="as many fit"),
    ],
)
def test_segments_see_neighbours_that_fit(
    context: int, max_pieces: int, expected: List[Tuple[int, int]]
) -> None:
    planned = plan(SENTENCES, 5, STARTS, context=context, max_pieces=max_pieces)
    assert [seen[:2] for seen in planned] == expected
    assert [seen[2:] for seen in planned] == [(i, i + 1) for i in range(5)]


def test_segments_context_is_on_the_other_side_where_one_neighbour_is_long() -> None:
    # Sentences of 4, 1 and 2 pieces: the first does not fit beside the second.
    words = [0, 0, 0, 0, 1, 2, 2]
    planned = plan(words, 3, [0, 1, 2], context=1, max_pieces=4)
    assert planned == [(0, 4, 0, 1), (4, 7, 1, 2), (4, 7, 2, 3)]


# ------------------------------------------------------------- more than fits


def test_segments_of_exactly_what_fits_is_one() -> None:
    assert plan(range(8), 8, max_pieces=8) == [(0, 8, 0, 8)]


def test_segments_stride_over_a_long_sentence() -> None:
    # Half of each part overlaps with the next; a later part owns from its quarter on.
    expected = [(0, 8, 0, 6), (4, 12, 6, 10), (8, 16, 10, 16)]
    assert plan(range(16), 16, max_pieces=8) == expected


def test_segments_move_the_last_stride_back() -> None:
    expected = [(0, 8, 0, 6), (4, 12, 6, 7), (5, 13, 7, 13)]
    assert plan(range(13), 13, max_pieces=8) == expected


def test_segments_stride_only_over_the_sentence_that_is_long() -> None:
    words = list(range(9))
    expected = [(0, 2, 0, 2), (2, 6, 2, 5), (4, 8, 5, 8), (8, 9, 8, 9)]
    assert plan(words, 9, [0, 2, 8], max_pieces=4) == expected


def test_segments_stride_owns_a_token_where_it_begins() -> None:
    # Piece 3, where the second part would begin to own, is the second of token 2.
    words = [0, 1, 2, 2, 3, 4]
    assert plan(words, 5, max_pieces=4) == [(0, 4, 0, 3), (2, 6, 3, 5)]


def test_segments_stride_owns_tokens_without_pieces() -> None:
    # Tokens 0, 4 and 7 have no pieces.
    words = [1, 2, 3, 5, 6, 6]
    assert plan(words, 8, max_pieces=4) == [(0, 4, 0, 5), (2, 6, 5, 8)]


def test_segments_of_one_token_that_does_not_fit_sees_its_first_pieces() -> None:
    assert plan([0] * 10, 1, max_pieces=4) == [(0, 4, 0, 1)]


def test_segments_leave_out_strides_inside_a_long_token() -> None:
    words = [0, *[1] * 10, 2]
    assert plan(words, 3, max_pieces=4) == [(0, 4, 0, 2), (8, 12, 2, 3)]


@pytest.mark.parametrize("max_pieces", [1, 2, 3])
def test_segments_of_few_pieces_own_every_token(max_pieces: int) -> None:
    planned = plan(range(5), 5, max_pieces=max_pieces)
    assert all(last - first == max_pieces for first, last, _, _ in planned)
    owned = [token for _, _, start, end in planned for token in range(start, end)]
    assert owned == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------- properties


@st.composite
def documents(draw: st.DrawFn) -> Tuple[List[int], List[int], Optional[List[int]]]:
    """Draw pieces per token, the words of pieces, and starts of sentences."""
    some = st.one_of(st.integers(0, 3), st.integers(0, 20))
    sizes = draw(st.lists(some, max_size=30))
    words = [token for token, size in enumerate(sizes) for _ in range(size)]
    tokens = st.integers(0, max(len(sizes) - 1, 0))
    starts = draw(st.none() | st.sets(tokens, max_size=8).map(sorted))
    return sizes, words, starts


DOCUMENTS, CONTEXTS, BOUNDS = documents(), st.integers(0, 3), st.integers(1, 24)


@given(DOCUMENTS, CONTEXTS, BOUNDS)
def test_segments_partition_the_tokens(
    document: Tuple, context: int, max_pieces: int
) -> None:
    sizes, words, starts = document
    planned = plan(words, len(sizes), starts, context=context, max_pieces=max_pieces)
    bounds = [0, *(end for _, _, _, end in planned)]
    assert [(start, end) for _, _, start, end in planned] == list(pairwise(bounds))
    assert bounds[-1] == len(sizes)


@given(DOCUMENTS, CONTEXTS, BOUNDS)
def test_segments_see_the_first_piece_of_each_token_they_own(
    document: Tuple, context: int, max_pieces: int
) -> None:
    sizes, words, starts = document
    planned = plan(words, len(sizes), starts, context=context, max_pieces=max_pieces)
    owners = [
        (token, first <= words.index(token) < last)
        for first, last, start, end in planned
        for token in range(start, end)
        if sizes[token]
    ]
    assert owners == [(token, True) for token, size in enumerate(sizes) if size]


@given(DOCUMENTS, CONTEXTS, BOUNDS)
def test_segments_never_exceed_the_bound(
    document: Tuple, context: int, max_pieces: int
) -> None:
    sizes, words, starts = document
    planned = plan(words, len(sizes), starts, context=context, max_pieces=max_pieces)
    for first, last, _, _ in planned:
        assert 0 <= first <= last <= len(words)
        assert last - first <= max_pieces


@given(DOCUMENTS, CONTEXTS, BOUNDS)
def test_segments_see_short_tokens_they_own_whole(
    document: Tuple, context: int, max_pieces: int
) -> None:
    sizes, words, starts = document
    offsets = np.cumsum([0, *sizes])
    for first, last, start, end in plan(
        words, len(sizes), starts, context=context, max_pieces=max_pieces
    ):
        for token in range(start, end):
            if 0 < sizes[token] <= max_pieces // 4:
                assert first <= offsets[token] < offsets[token + 1] <= last


@given(DOCUMENTS, BOUNDS)
def test_segments_without_context_stay_in_their_sentence(
    document: Tuple, max_pieces: int
) -> None:
    sizes, words, starts = document
    sentence = np.zeros(len(sizes), dtype=int)
    sentence[[start for start in starts or [] if start < len(sizes)]] = 1
    sentence = sentence.cumsum()
    for first, last, start, end in plan(
        words, len(sizes), starts, max_pieces=max_pieces
    ):
        if start < end:  # a stride inside one token may own nothing
            tokens = [*words[first:last], *range(start, end)]
            assert len({sentence[token] for token in tokens}) == 1
