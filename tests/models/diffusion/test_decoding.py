"""Pointers to spans, scores, and one proposal for each pair of boundaries."""

import math
from typing import List, Tuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.diffusion.noise import TokenSpans
from spacy_spanner.models.diffusion.proposals import (
    POINTER_LOSSES,
    Proposals,
    best_spans,
    first_of_equals,
    label_scores,
    log_probabilities,
    propose,
    without_repeats,
)


def spans(*pairs: tuple) -> TokenSpans:
    start, last = zip(*pairs)
    return TokenSpans(torch.tensor([start]), torch.tensor([last]))


def found(start: List[float], last: List[float]) -> tuple:
    best = best_spans(torch.tensor([[start]]), torch.tensor([[last]]))
    return int(best.start), int(best.last)


@pytest.mark.parametrize(
    "start, last, expected",
    [
        ([9, 0, 0], [0, 0, 9], (0, 2)),
        ([0, 9, 0], [0, 9, 0], (1, 1)),
        # Both favourites together are in the wrong order: 9 + 4 beats 5 + 9.
        ([0, 0, 9], [5, 0, 4], (2, 2)),
        ([5, 0, 9], [9, 0, 4], (0, 0)),
        ([1, 1, 1], [1, 1, 1], (0, 0)),
        ([3], [4], (0, 0)),
    ],
)
def test_best_spans_by_hand(
    start: List[float], last: List[float], expected: tuple
) -> None:
    assert found(start, last) == expected


scores = st.lists(st.integers(-20, 20), min_size=6, max_size=6)


@given(start=scores, last=scores)
@settings(deadline=None)
def test_best_spans_are_the_best_in_the_right_order(
    start: List[int], last: List[int]
) -> None:
    first, end = found([float(s) for s in start], [float(s) for s in last])
    assert first <= end
    best = max(start[i] + last[j] for i in range(6) for j in range(i, 6))
    assert start[first] + last[end] == best


def proposals() -> Proposals:
    log_start = torch.tensor([[[0.9, 0.1], [0.2, 0.8]]]).log()
    log_last = torch.tensor([[[0.3, 0.7], [0.5, 0.5]]]).log()
    at = spans((0, 1), (1, 1))
    return Proposals(at, log_start, log_last, "softmax", torch.zeros(1, 2, 1))


CLASSES = torch.tensor([[[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]]]).log()


def test_label_scores_are_the_probabilities_of_the_labels() -> None:
    scores = label_scores(proposals(), CLASSES, "class")
    assert scores.flatten().tolist() == pytest.approx([0.2, 0.3, 0.8, 0.1])


def test_label_scores_of_the_paper_are_a_third_of_its_sum() -> None:
    classes = torch.tensor([[[0.2, 0.5, 0.3], [0.1, 0.7, 0.2]]]).log()
    scores = label_scores(proposals(), classes, "mean") * 3
    expected = [0.9 + 0.7 + 0.5, 0.9 + 0.7 + 0.3, 0.8 + 0.5 + 0.7, 0.8 + 0.5 + 0.2]
    assert scores.flatten().tolist() == pytest.approx(expected)


def test_label_scores_of_the_paper_are_0_where_no_entity_is_more_probable() -> None:
    classes = torch.tensor([[[0.4, 0.5, 0.1], [0.6, 0.3, 0.1]]]).log()
    scores = label_scores(proposals(), classes, "mean") * 3
    assert scores.flatten().tolist() == pytest.approx([0.9 + 0.7 + 0.5, 0, 0, 0])


def chosen(at: TokenSpans, score: List[float]) -> List[bool]:
    result: Tensor = first_of_equals(at, torch.tensor([score]), 4)
    return result[0].tolist()


def test_first_of_equals_keeps_the_best_of_each_span() -> None:
    at = spans((0, 1), (0, 1), (1, 1), (0, 1))
    assert chosen(at, [0.2, 0.7, 0.1, 0.3]) == [False, True, True, False]


def test_first_of_equals_keeps_the_first_of_equally_good_ones() -> None:
    at = spans((2, 3), (2, 3), (2, 3))
    assert chosen(at, [0.5, 0.5, 0.5]) == [True, False, False]


def test_first_of_equals_keeps_one_of_scores_of_zero() -> None:
    assert chosen(spans((0, 0), (0, 0)), [0.0, 0.0]) == [True, False]


def test_first_of_equals_treats_windows_apart() -> None:
    at = TokenSpans(torch.zeros(2, 1).long(), torch.zeros(2, 1).long())
    assert first_of_equals(at, torch.tensor([[0.1], [0.9]]), 1).all()


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    )
)
@settings(deadline=None)
def test_first_of_equals_keeps_every_span_once_with_its_best_score(rows: list) -> None:
    at = spans(*[(min(a, b), max(a, b)) for a, b, _ in rows])
    score = [number / 3 for *_, number in rows]
    kept = chosen(at, score)
    pairs = list(zip(at.start[0].tolist(), at.last[0].tolist()))
    best = {pair: max(s for p, s in zip(pairs, score) if p == pair) for pair in pairs}
    once = [(pair, s) for pair, s, keep in zip(pairs, score, kept) if keep]
    assert sorted(once) == sorted(best.items())


def test_without_repeats_leaves_each_span_and_windows_of_one_size() -> None:
    start = torch.tensor([[2, 0, 2, 0], [1, 1, 1, 1]])
    last = torch.tensor([[3, 1, 3, 0], [2, 2, 2, 2]])
    found, distinct = without_repeats(TokenSpans(start, last), 4)
    assert found.start.tolist() == [[0, 0, 2], [1, 1, 1]]
    assert found.last.tolist() == [[0, 1, 3], [2, 2, 2]]
    assert distinct.tolist() == [[True, True, True], [True, False, False]]


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=6, max_size=6
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(deadline=None)
def test_without_repeats_keeps_the_spans_of_every_window(rows: list) -> None:
    ends = torch.tensor(rows).sort(dim=2).values
    spans = TokenSpans(ends[:, :, 0], ends[:, :, 1])
    found, distinct = without_repeats(spans, 5)
    most = 0
    columns = map(torch.Tensor.tolist, (*found, distinct))
    for row, start, last, once in zip(ends.tolist(), *columns):
        expected = set(map(tuple, row))
        assert set(zip(start, last)) == expected
        kept = [pair for pair, keep in zip(zip(start, last), once) if keep]
        assert sorted(kept) == sorted(expected)
        most = max(most, len(expected))
    assert found.start.shape[1] == most


@pytest.mark.parametrize(
    "kind, expected", [("softmax", [0.2, 0.8]), ("sigmoid", [0.5, 0.8])]
)
def test_log_probabilities_of_boundaries(kind: str, expected: List[float]) -> None:
    scores = torch.tensor([[[0.0, math.log(4)]]])
    assert log_probabilities(scores, kind).exp()[0, 0].tolist() == pytest.approx(
        expected
    )


@pytest.mark.parametrize("kind,expected", [("softmax", (1, 1)), ("sigmoid", (0, 0))])
def test_probabilities_of_sigmoids_are_compared_not_scores(
    kind: str, expected: Tuple[int, int]
) -> None:
    start, last = torch.tensor([[[3.0, 20.0]]]), torch.tensor([[[3.0, -3.0]]])
    found = propose(start, last, kind, torch.zeros(1, 1, 1))
    assert (int(found.spans.start), int(found.spans.last)) == expected


@pytest.mark.parametrize("kind", POINTER_LOSSES)
def test_most_probable_boundaries_are_proposed(kind: str) -> None:
    # The start at 2 has the higher score, but stands behind the last token.
    start = torch.tensor([[[1.0, 0.0, 3.0]]], requires_grad=True)
    last = torch.tensor([[[0.0, 4.0, -4.0]]])
    found = propose(start, last, kind, torch.zeros(1, 1, 1))
    assert (int(found.spans.start), int(found.spans.last)) == (0, 1)
    assert found.start is start and found.kind == kind
