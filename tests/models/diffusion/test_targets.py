"""The gold of windows, repeated and noised."""

from typing import List, Tuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_spanner.models.diffusion.targets import (
    DiffusionTargets,
    expand,
    make_targets,
    repeat_rows,
)
from spacy_spanner.spans.layouts import PaddedGold, pad_gold
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
GOLD: List[Rows] = [[(0, 2, 1), (1, 2, 0)], [], [(2, 3, 1)]]


def table(*windows: Rows) -> PaddedGold:
    return pad_gold([SpanTable.of(rows) for rows in windows])


def targets(n_spans: int = 4, n_draws: int = 1, seed: int = 0) -> DiffusionTargets:
    return make_targets(
        [SpanTable.of(rows) for rows in GOLD],
        np.asarray([3, 2, 5]),
        n_spans=n_spans,
        n_draws=n_draws,
        n_steps=10,
        expansion="repeat",
        rng=np.random.default_rng(seed),
    )


def test_repeat_rows_keeps_copies_of_a_window_together() -> None:
    assert repeat_rows(table(*GOLD), 2).counts.tolist() == [2, 2, 0, 0, 1, 1]


def expanded(rows: Rows, n_spans: int, expansion: str, length: int = 9) -> Rows:
    spans = expand(
        table(rows),
        np.asarray([length]),
        n_spans=n_spans,
        expansion=expansion,
        rng=np.random.default_rng(0),
    )
    return list(zip(spans.start[0].tolist(), (spans.last[0] + 1).tolist()))  # type: ignore[arg-type]


def test_expand_repeats_all_gold_equally() -> None:
    found = expanded([(0, 2, 0), (3, 4, 1), (5, 8, 0)], 7, "repeat")
    counts = sorted(found.count(span) for span in [(0, 2), (3, 4), (5, 8)])  # type: ignore[arg-type]
    assert counts == [2, 2, 3]


def test_expand_repeats_the_gold_of_each_window_of_a_batch() -> None:
    gold = table([(0, 1, 0), (1, 2, 0), (2, 3, 0)], [(4, 7, 0)])
    spans = expand(
        gold,
        np.asarray([9, 9]),
        n_spans=5,
        expansion="repeat",
        rng=np.random.default_rng(0),
    )
    assert set(spans.start[0].tolist()) == {0, 1, 2}
    assert (spans.start[1].tolist(), spans.last[1].tolist()) == ([4] * 5, [6] * 5)


def test_expand_with_random_spans_keeps_each_gold_span_once() -> None:
    found = expanded([(0, 2, 0), (3, 4, 1)], 50, "random")
    assert {(0, 2), (3, 4)} == {*found[:2]}  # type: ignore[comparison-overlap]
    assert len({*found[2:]}) > 10


@pytest.mark.parametrize("expansion", ["repeat", "random"])
def test_expand_of_more_gold_than_spans_takes_different_ones(expansion: str) -> None:
    gold: Rows = [(i, i + 1, 0) for i in range(9)]
    found = expanded(gold, 4, expansion)
    assert len({*found}) == 4


def test_expand_of_more_gold_than_spans_takes_all_over_time() -> None:
    rng = np.random.default_rng(0)
    gold = table([(i, i + 1, 0) for i in range(9)])
    seen = set()
    for _ in range(30):
        spans = expand(gold, np.asarray([9]), n_spans=2, expansion="repeat", rng=rng)
        seen.update(spans.start[0].tolist())
    assert seen == set(range(9))


@pytest.mark.parametrize("n_spans, n_taught", [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_expand_teaches_the_gold_that_was_drawn(n_spans: int, n_taught: int) -> None:
    gold = table([(0, 1, 0), (1, 2, 0), (2, 3, 0)], [])
    spans = expand(
        gold,
        np.asarray([3, 3]),
        n_spans=n_spans,
        expansion="repeat",
        rng=np.random.default_rng(0),
    )
    assert spans.taught.sum(axis=1).tolist() == [n_taught, 0]
    assert set(spans.start[0].tolist()) == set(np.nonzero(spans.taught[0])[0].tolist())


@given(length=st.integers(1, 40), expansion=st.sampled_from(["repeat", "random"]))
@settings(deadline=None)
def test_expand_without_gold_draws_spans_inside_the_window(
    length: int, expansion: str
) -> None:
    for start, end in expanded([], 20, expansion, length):  # type: ignore[misc]
        assert 0 <= start < end <= length


def test_targets_have_a_row_for_each_draw() -> None:
    drawn = targets(n_draws=3)
    assert drawn.gold.counts.tolist() == [2, 2, 2, 0, 0, 0, 1, 1, 1]
    assert drawn.start.shape == drawn.last.shape == (9, 4)
    assert drawn.noise.shape == (9, 4, 2)
    assert drawn.time.shape == (9,)
    assert len({*drawn.time.tolist()}) > 1


def test_targets_draw_all_timesteps() -> None:
    times = {*targets(n_draws=60).time.tolist()}
    assert times == set(range(10))


def test_targets_draw_normal_noise() -> None:
    noise = targets(n_spans=2000).noise
    assert noise.dtype == np.float32
    assert abs(float(noise.mean())) < 0.05
    assert float(noise.std()) == pytest.approx(1.0, abs=0.05)


def test_targets_of_one_seed_are_equal_and_of_another_differ() -> None:
    first, second, other = targets(), targets(), targets(seed=1)
    assert np.array_equal(first.noise, second.noise)
    assert np.array_equal(first.time, second.time)
    assert not np.array_equal(first.noise, other.noise)
