"""The loss of both stages, by hand."""

from dataclasses import replace
from math import log
from typing import List

import pytest
from torch import nn

from spacy_spanner.models.locate_label.codec import LocateLabelCodec

from .helpers import YES, Answers, Rows, Undecided, batch_of, targets_of
from .test_real_networks import real_batch, real_networks

# One positive of IoU 1, and a negative that overlaps by a half, in a window of 3.
LOSS_CODEC = LocateLabelCodec(
    window_sizes=[1, 2], negatives=None, filter_focus=0.0, soft_examples=1.0
)
LOSS_GOLD: Rows = [(0, 1, 0)]
# Seeds: (0, 0) is gold, (0, 1) has IoU 1/2, and (1, 1) none.


def loss_of(codec: LocateLabelCodec, module: nn.Module) -> float:
    return codec.loss(module, batch_of([2]), targets_of(codec, [LOSS_GOLD], [2])).item()


def test_loss_of_undecided_networks_by_hand() -> None:
    hard = replace(LOSS_CODEC, soft_examples=0.0)
    assert loss_of(hard, Undecided()) == pytest.approx(3 * log(2) + 3 * log(3))


def test_loss_weighs_unclear_examples_less() -> None:
    # Weights 1, 1/2, 1 in both stages.
    assert loss_of(LOSS_CODEC, Undecided()) == pytest.approx(2.5 * (log(2) + log(3)))


def test_loss_of_focal_stages_by_hand() -> None:
    codec = replace(LOSS_CODEC, filter_focus=2.0, class_focus=1.0, soft_examples=0.0)
    expected = 3 * 0.25 * log(2) + 3 * (2 / 3) * log(3)
    assert loss_of(codec, Undecided()) == pytest.approx(expected)


def test_loss_is_weighted_by_stage() -> None:
    codec = replace(LOSS_CODEC, filter_weight=3.0, class_weight=0.5)
    expected = 2.5 * (3 * log(2) + 0.5 * log(3))
    assert loss_of(codec, Undecided()) == pytest.approx(expected)


def test_loss_without_filter_and_regressor_is_that_of_the_classes() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, use_regressor=False)
    module = Undecided()
    assert loss_of(codec, module) == pytest.approx(2.5 * log(3))
    assert set(module.asked) == {"classify"}


def test_loss_of_moved_boundaries_by_hand() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, class_weight=0.0)
    # The positive seed is moved one token too far: 0.5, and 1 of 2 tokens is shared.
    module = Answers({(0, 0, 0): (0.0, 1.0)}, {})
    assert loss_of(codec, module) == pytest.approx(0.1 * (0.5 + 1 - 1 / 2))


def test_loss_of_moved_boundaries_weighs_unclear_examples_less() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, class_weight=0.0, seed_iou=0.5)
    # Now (0, 1), of IoU 1/2, is positive, too: one token too long, as it stays.
    loss = 0.5 + 1 - 1 / 2
    assert loss_of(codec, Answers({}, {})) == pytest.approx(0.1 * loss / 2)
    hard = replace(codec, soft_examples=0.0)
    assert loss_of(hard, Answers({}, {})) == pytest.approx(0.1 * loss)


def test_loss_classifies_adjusted_spans_by_the_gold_that_they_hit_now() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, regressor_weight=0.0)
    # The gold seed moves away, and a negative seed moves onto the gold.
    module = Answers({(0, 0, 0): (1.0, 1.0), (0, 1, 1): (-1.0, -1.0)}, {(0, 0, 0): 0})
    assert loss_of(codec, module) == pytest.approx(0.0, abs=1e-6)
    assert module.asked["classify"] == [(0, 0, 0), (0, 0, 1), (0, 1, 1)]


def test_loss_classifies_once_what_several_seeds_move_to() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, regressor_weight=0.0)
    # Two of the three seeds end at the gold.
    module = Answers({(0, 1, 1): (-1.0, -1.0)}, {(0, 0, 0): 0})
    loss_of(codec, module)
    assert module.asked["classify"] == [(0, 0, 0), (0, 0, 1)]


def test_loss_with_lower_entity_iou_accepts_what_nearly_fits() -> None:
    codec = replace(LOSS_CODEC, use_filter=False, regressor_weight=0.0, entity_iou=0.5)
    module = Answers({}, {(0, 0, 0): 0, (0, 0, 1): 0})
    assert loss_of(codec, module) == pytest.approx(0.0, abs=1e-6)
    strict = replace(codec, entity_iou=1.0)
    assert loss_of(strict, module) == pytest.approx(YES / 2)


def test_loss_of_the_second_stage_is_that_of_positives_and_passing_seeds() -> None:
    module = Answers({(0, 1, 1): (0.0, 0.0)}, {})
    loss_of(LOSS_CODEC, module)
    # (0, 0) is gold although the filter drops it; (0, 1) is dropped.
    assert module.asked["filter"] == [(0, 0, 0), (0, 0, 1), (0, 1, 1)]
    assert module.asked["regress"] == module.asked["classify"]
    assert module.asked["classify"] == [(0, 0, 0), (0, 1, 1)]


def test_loss_without_gold_teaches_no_entity() -> None:
    codec = replace(LOSS_CODEC, use_filter=False)
    targets = targets_of(codec, [[]], [2])
    loss = codec.loss(Answers({}, {}), batch_of([2]), targets)
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    loss = codec.loss(Answers({}, {(0, 0, 0): 1}), batch_of([2]), targets)
    assert loss.item() == pytest.approx(YES)


def test_loss_of_a_batch_is_the_sum_over_windows() -> None:
    gold: List[Rows] = [LOSS_GOLD, [], LOSS_GOLD]
    targets = targets_of(LOSS_CODEC, gold, [2, 1, 2])
    loss = LOSS_CODEC.loss(Undecided(), batch_of([2, 1, 2]), targets)
    assert loss.item() == pytest.approx(6 * (log(2) + log(3)), rel=1e-5)


def test_loss_without_any_seed_is_zero_and_runs_backward() -> None:
    codec = LocateLabelCodec(negatives=0, extra_negatives=0)
    module, batch = real_networks(), real_batch()
    targets = targets_of(codec, [[]] * len(batch.lengths), batch.lengths.tolist())
    assert len(targets.seeds.window) == 0
    loss = codec.loss(module, batch, targets)
    loss.backward()
    assert loss.item() == 0.0


def test_loss_of_gold_that_no_seed_fits_teaches_the_gold_alone() -> None:
    codec = replace(LOSS_CODEC, window_sizes=[50], use_regressor=False)
    targets = targets_of(codec, [LOSS_GOLD], [2])
    module = Undecided()
    loss = codec.loss(module, batch_of([2]), targets)
    assert module.asked["classify"] == [(0, 0, 0)]
    assert loss.item() == pytest.approx(log(2) + log(3))


@pytest.mark.parametrize("threshold, n_passing", [(0.0, 3), (0.5, 3), (1.0, 1)])
def test_loss_of_the_second_stage_by_the_filter_threshold(
    threshold: float, n_passing: int
) -> None:
    # Undecided, the filter gives one half to all; the positive seed always passes.
    module = Undecided()
    loss_of(replace(LOSS_CODEC, filter_threshold=threshold), module)
    assert len(module.asked["classify"]) == n_passing
