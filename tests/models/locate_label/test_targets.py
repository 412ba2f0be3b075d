"""Targets of the two-stage identifier, by hand."""

import numpy as np

from spacy_spanner.models.locate_label.codec import LocateLabelCodec

from .helpers import targets_of


def test_targets_by_hand() -> None:
    codec = LocateLabelCodec(window_sizes=[1, 3], negatives=None)
    targets = targets_of(codec, [[(0, 4, 1), (1, 2, 0)], []], [4, 2])
    seeds = list(zip(*(column.tolist() for column in targets.seeds)))
    positive = [seed for seed, sign in zip(seeds, targets.positive) if sign]
    # Size 3 has 3/4 of (0, 4); size 1 hits (1, 2). All others are negative.
    assert positive == [(0, 0, 2), (0, 1, 1), (0, 1, 3)]
    assert len(seeds) == 6 + 2
    assert targets.gold[targets.positive].tolist() == [0, 1, 0]


def test_targets_add_gold_that_no_seed_hits() -> None:
    codec = LocateLabelCodec(window_sizes=[1], negatives=0, extra_negatives=0)
    targets = targets_of(codec, [[(0, 4, 1)]], [5])
    assert [column.tolist() for column in targets.seeds] == [[0], [0], [3]]
    assert targets.positive.tolist() == [True]


def test_targets_sample_negatives() -> None:
    codec = LocateLabelCodec(negatives=2, extra_negatives=1)
    targets = targets_of(codec, [[(0, 1, 1)], []], [10, 10])
    assert np.bincount(targets.seeds.window).tolist() == [1 + 2 + 1, 1]
