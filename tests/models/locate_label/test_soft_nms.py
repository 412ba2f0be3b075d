"""Soft-NMS step by step, and against the loop that defines it."""

from typing import List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.locate_label.soft_nms import soft_nms
from spacy_spanner.spans.table import SpanTable

Row = Tuple[int, int, int, float]  # start, end, label, score


def rescored(
    rows: List[Row], window: List[int] | None = None, k: float = 0.6, u: float = 0.9
) -> List[float]:
    windows = np.asarray(window or [0] * len(rows), dtype=np.int64)
    return soft_nms(SpanTable.of(rows), windows, threshold=k, decay=u).tolist()


def by_definition(
    rows: List[Row], window: List[int], k: float, u: float
) -> List[float]:
    """Visit spans by descending score, and look at all pairs."""
    order = sorted(
        range(len(rows)),
        key=lambda i: (-round(rows[i][3], 4), rows[i][0], rows[i][1], rows[i][2]),
    )
    scores = [row[3] for row in rows]
    for place, better in enumerate(order):
        for worse in order[place + 1 :]:
            (s1, e1, *_), (s2, e2, *_) = rows[better], rows[worse]
            shared = min(e1, e2) - max(s1, s2)
            fit = shared / (max(e1, e2) - min(s1, s2))
            if window[better] == window[worse] and shared > 0 and fit >= k:
                scores[worse] *= u
    return scores


def test_soft_nms_of_five_spans_step_by_step() -> None:
    rows: List[Row] = [
        (0, 5, 0, 0.9),
        (0, 4, 1, 0.8),
        (1, 5, 0, 0.7),
        (0, 1, 0, 0.6),
        (6, 7, 0, 0.5),
    ]
    # (0, 5) is best: 4/5 of (0, 4) and of (1, 5). (0, 4) is next: 3/5 of (1, 5). The
    # last two have no neighbour: (0, 1) is 1/5 of (0, 5).
    expected = [0.9, 0.8 * 0.9, 0.7 * 0.9 * 0.9, 0.6, 0.5]
    np.testing.assert_allclose(rescored(rows), expected, rtol=1e-6)


def test_soft_nms_order_of_rows_does_not_matter() -> None:
    rows: List[Row] = [(1, 5, 0, 0.7), (6, 7, 0, 0.5), (0, 5, 0, 0.9), (0, 4, 1, 0.8)]
    np.testing.assert_allclose(rescored(rows), [0.567, 0.5, 0.9, 0.72], rtol=1e-6)


def test_soft_nms_of_a_crossing_pair_lowers_the_worse() -> None:
    # 3 of 5 tokens are shared.
    rows: List[Row] = [(0, 4, 0, 0.6), (1, 5, 0, 0.8)]
    np.testing.assert_allclose(rescored(rows), [0.54, 0.8], rtol=1e-6)


def test_soft_nms_threshold_itself_counts() -> None:
    # 7/10, which in floating point is not 1 - 3/10.
    rows: List[Row] = [(0, 10, 0, 0.9), (3, 10, 0, 0.8)]
    np.testing.assert_allclose(rescored(rows, k=0.7), [0.9, 0.72], rtol=1e-6)
    np.testing.assert_allclose(rescored(rows, k=0.71), [0.9, 0.8], rtol=1e-6)


def test_soft_nms_of_equal_scores_prefers_the_earlier_start_then_end() -> None:
    rows: List[Row] = [(1, 5, 0, 0.8), (0, 5, 0, 0.8), (0, 4, 0, 0.8)]
    np.testing.assert_allclose(rescored(rows), [0.648, 0.72, 0.8], rtol=1e-6)


def test_soft_nms_of_one_span_with_two_labels_lowers_the_worse() -> None:
    rows: List[Row] = [(0, 2, 1, 0.5), (0, 2, 0, 0.5), (0, 2, 2, 0.7)]
    np.testing.assert_allclose(rescored(rows), [0.405, 0.45, 0.7], rtol=1e-6)


def test_soft_nms_looks_into_each_window_alone() -> None:
    rows: List[Row] = [(0, 2, 0, 0.9), (0, 2, 0, 0.8), (0, 2, 1, 0.7)]
    np.testing.assert_allclose(rescored(rows, [0, 1, 1]), [0.9, 0.8, 0.63], rtol=1e-6)


def test_soft_nms_of_a_short_neighbour_in_between_reaches_further() -> None:
    # In the order of starts, (1, 2) stands between two that are neighbours.
    rows: List[Row] = [(0, 9, 0, 0.9), (1, 2, 0, 0.8), (1, 9, 0, 0.7)]
    np.testing.assert_allclose(rescored(rows), [0.9, 0.8, 0.63], rtol=1e-6)


def test_soft_nms_of_no_spans() -> None:
    assert rescored([]) == []


def test_soft_nms_leaves_the_given_scores_alone() -> None:
    spans = SpanTable.of([(0, 2, 0, 0.9), (0, 2, 1, 0.8)])
    soft_nms(spans, np.zeros(2, dtype=np.int64), threshold=0.6, decay=0.5)
    assert spans.score.tolist() == pytest.approx([0.9, 0.8])


@st.composite
def tables(draw: st.DrawFn) -> Tuple[List[Row], List[int]]:
    spans = draw(
        st.lists(
            st.tuples(
                st.integers(0, 2),
                st.integers(0, 12),
                st.integers(1, 8),
                st.integers(0, 1),
            ),
            unique=True,
            max_size=25,
        )
    )
    scores = [draw(st.integers(0, 20)) / 20 for _ in spans]
    rows = [
        (start, start + size, label, score)
        for (_, start, size, label), score in zip(spans, scores)
    ]
    return rows, [span[0] for span in spans]


@given(tables(), st.sampled_from([0.0, 0.2, 0.5, 0.6, 0.7, 1.0]), st.floats(0, 1))
def test_soft_nms_equals_the_definition(
    given_spans: Tuple[List[Row], List[int]], k: float, u: float
) -> None:
    rows, window = given_spans
    np.testing.assert_allclose(
        rescored(rows, window, k, u), by_definition(rows, window, k, u), 1e-5, 1e-6
    )


@given(tables())
def test_soft_nms_never_raises_a_score_and_keeps_the_best(
    given_spans: Tuple[List[Row], List[int]],
) -> None:
    rows, window = given_spans
    scores = rescored(rows, window)
    assert all(new <= np.float32(row[3]) for new, row in zip(scores, rows))
    for one in set(window):
        mine = [i for i, w in enumerate(window) if w == one]
        assert max(scores[i] for i in mine) == pytest.approx(
            max(rows[i][3] for i in mine)
        )
