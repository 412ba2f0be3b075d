"""How two spans lie to each other, and which of them conflict."""

from typing import Tuple

import numpy as np
import pytest

from spacy_spanner.spans.conflicts import conflict_with_any
from spacy_spanner.spans.geometry import iou

RELATIONS = [
    pytest.param((1, 3), (1, 3), True, False, id="equal"),
    pytest.param((0, 2), (2, 4), False, False, id="adjacent"),
    pytest.param((0, 1), (3, 4), False, False, id="apart"),
    pytest.param((1, 4), (1, 2), True, False, id="same start"),
    pytest.param((1, 4), (3, 4), True, False, id="same end"),
    pytest.param((0, 5), (2, 3), True, False, id="inside"),
    pytest.param((2, 3), (2, 3), True, False, id="equal of one token"),
    pytest.param((2, 3), (3, 4), False, False, id="adjacent of one token"),
    pytest.param((0, 2), (1, 3), True, True, id="crossing by one token"),
    pytest.param((0, 4), (1, 6), True, True, id="crossing by three tokens"),
]


@pytest.mark.parametrize("a, b, overlapping, crossing", RELATIONS)
@pytest.mark.parametrize("swap", [False, True])
def test_relations_of_two_spans(
    a: Tuple[int, int],
    b: Tuple[int, int],
    overlapping: bool,
    crossing: bool,
    swap: bool,
) -> None:
    if swap:
        a, b = b, a
    spans = [np.asarray([number]) for number in (*a, *b)]
    assert conflict_with_any(*spans, "flat").tolist() == [overlapping]
    assert conflict_with_any(*spans, "nested").tolist() == [crossing]
    assert conflict_with_any(*spans, "any").tolist() == [False]


@pytest.mark.parametrize(
    "one, two, expected",
    [
        ((0, 4), (0, 4), 1.0),
        ((0, 4), (2, 6), 2 / 6),
        ((0, 6), (2, 4), 2 / 6),
        ((0, 7), (0, 10), 0.7),
        ((0, 2), (2, 4), 0.0),
        ((0, 1), (5, 9), 0.0),
        ((3, 3), (3, 3), 0.0),
    ],
)
def test_iou_by_hand(
    one: Tuple[int, int], two: Tuple[int, int], expected: float
) -> None:
    for (start, end), (starts, ends) in ((one, two), (two, one)):
        assert iou(start, end, np.array([starts]), np.array([ends])).tolist() == [
            expected
        ]
