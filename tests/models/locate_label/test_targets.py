"""Targets of the two-stage identifier, by hand."""

from typing import List

import numpy as np
import pytest

from spacy_spanner.models.locate_label.assignment import (
    SeedTargets,
    count_seeds,
    enumerate_seeds,
)
from spacy_spanner.models.locate_label.codec import LocateLabelCodec

from .helpers import Cell, targets_of


def positives(targets: SeedTargets) -> List[Cell]:
    seeds = targets.take(targets.positive).seeds
    return list(zip(*(column.tolist() for column in seeds)))


@pytest.mark.parametrize("sizes", [[1], [3, 1, 3], [2, 4, 9], list(range(1, 20))])
def test_seeds_that_exist_are_counted(sizes: List[int]) -> None:
    for n_tokens in range(1, 12):
        seeds = enumerate_seeds(np.asarray([n_tokens]), sizes)
        assert count_seeds(n_tokens, sizes) == len(seeds.window)


def test_targets_by_hand() -> None:
    codec = LocateLabelCodec(window_sizes=[1, 3], negatives=None)
    targets = targets_of(codec, [[(0, 4, 1), (1, 2, 0)], []], [4, 2])
    # Size 3 has 3/4 of (0, 4); size 1 hits (1, 2). All others are negative.
    assert positives(targets) == [(0, 0, 2), (0, 1, 1), (0, 1, 3)]
    assert len(targets.iou) == 6 + 2
    assert targets.gold[targets.positive].tolist() == [0, 1, 0]


def test_targets_add_gold_that_no_seed_hits() -> None:
    codec = LocateLabelCodec(window_sizes=[1], negatives=0, extra_negatives=0)
    targets = targets_of(codec, [[(0, 4, 1)]], [5])
    assert positives(targets)[-1] == (0, 0, 3)
    assert targets.gold.tolist() == [0] * 5


def test_targets_let_the_nearest_seeds_stand_for_much_longer_gold() -> None:
    targets = targets_of(LocateLabelCodec(window_sizes=[1, 3]), [[(1, 6, 0)]], [7])
    # 3/5 is not enough by itself; the last is the gold.
    assert positives(targets) == [(0, 1, 3), (0, 2, 4), (0, 3, 5), (0, 1, 5)]


def test_targets_without_regressor_add_gold_that_no_seed_equals() -> None:
    codec = LocateLabelCodec(use_regressor=False)
    targets = targets_of(codec, [[(3, 11, 0)]], [24])
    # Seeds of 6, 7, 9 and 11 tokens fit 8 well, but are nothing that could be it.
    exact = targets.positive & (targets.iou == 1)
    assert positives(targets.take(exact)) == [(0, 3, 10)]
    assert targets.positive.sum() > 5


def test_targets_without_regressor_add_no_gold_that_nearly_fits_if_that_will_do() -> (
    None
):
    codec = LocateLabelCodec(use_regressor=False, entity_iou=0.8)
    targets = targets_of(codec, [[(3, 11, 0)]], [24])
    assert not (targets.iou == 1).any()


def test_targets_without_regressor_leave_seeds_that_do_not_fit_negative() -> None:
    codec = LocateLabelCodec(use_regressor=False, window_sizes=[1, 3])
    assert positives(targets_of(codec, [[(1, 6, 0)]], [7])) == [(0, 1, 5)]


def test_targets_sample_negatives() -> None:
    codec = LocateLabelCodec(negatives=2, extra_negatives=1)
    targets = targets_of(codec, [[(0, 1, 1)], []], [10, 10])
    assert np.bincount(targets.seeds.window).tolist() == [1 + 2 + 1, 1]
