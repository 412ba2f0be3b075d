"""The codec of the two-stage identifier: targets, loss and candidates."""

import logging
from dataclasses import replace
from math import log
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from spacy_spanner.codec import WindowBatch
from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.models.locate_label.module import LocateLabelModule, Spans
from spacy_spanner.types import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
Cell = Tuple[int, int, int]  # window, start, last
N_LABELS = 2
YES, NO = 20.0, -20.0


class Answers(nn.Module):
    """Networks that know by heart what to say about each span.

    offsets (Dict[Cell, Tuple]): seeds that the filter keeps, and how they move.
    classes (Dict[Cell, int]): labels of spans; all others are no entities.
    """

    def __init__(
        self,
        offsets: Dict[Cell, Tuple[float, float]],
        classes: Dict[Cell, int],
        confidence: float = YES,
    ) -> None:
        super().__init__()
        self.offsets, self.classes, self.confidence = offsets, classes, confidence
        self.asked: Dict[str, List[Cell]] = {}

    def forward(self, batch: WindowBatch) -> "Answers":
        self.vectors = batch.vectors
        self.lengths = torch.as_tensor(batch.lengths)
        return self

    def look_up(self, stage: str, spans: Spans, answer: Callable) -> List:
        self.asked[stage] = list(zip(*(column.tolist() for column in spans)))
        return [answer(cell) for cell in self.asked[stage]]

    def filter(self, spans: Spans) -> Tensor:
        keep = self.look_up("filter", spans, lambda cell: cell in self.offsets)
        return torch.tensor([YES if kept else NO for kept in keep])

    def regress(self, spans: Spans) -> Tensor:
        moves = self.look_up("regress", spans, lambda c: self.offsets.get(c, (0, 0)))
        return torch.tensor(moves, dtype=torch.float32).view(-1, 2)

    def classify(self, spans: Spans) -> Tensor:
        labels = self.look_up("classify", spans, lambda c: self.classes.get(c, -1))
        scores = torch.zeros(len(labels), N_LABELS + 1)
        rows = torch.arange(len(labels))
        scores[rows, torch.tensor(labels, dtype=torch.int64) + 1] = self.confidence
        return scores


def batch_of(lengths: Sequence[int]) -> WindowBatch:
    return WindowBatch(torch.zeros(len(lengths), max(lengths), 1), np.asarray(lengths))


def targets_of(
    codec: LocateLabelCodec, gold: Sequence[Rows], lengths: Sequence[int]
) -> Any:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        n_labels=N_LABELS,
        rng=np.random.default_rng(0),
    )


def found(
    codec: LocateLabelCodec,
    module: nn.Module,
    lengths: Sequence[int],
    threshold: float = 0.5,
) -> List[Rows]:
    """Find the spans of each window, after Soft-NMS."""
    thresholds = torch.full((N_LABELS,), threshold)
    given = codec.candidates(module, batch_of(lengths), thresholds)
    window, start, end, label, score = (column.numpy() for column in given)
    spans = SpanTable(start, end, label, score)
    score = codec.rescore(spans, window)
    windows: List[Rows] = [[] for _ in lengths]
    for row in np.nonzero(score >= threshold)[0].tolist():
        windows[window[row]].append((start[row], end[row], label[row]))
    return [sorted(rows) for rows in windows]


# ----------------------------------------------------------------- round trip


def perfect_networks(
    codec: LocateLabelCodec, gold: Sequence[Rows], lengths: Sequence[int]
) -> Answers:
    """Let one seed pass for each gold span: itself, or else the best that is free."""
    offsets: Dict[Cell, Tuple[float, float]] = {}
    classes: Dict[Cell, int] = {}
    for window, rows in enumerate(gold):
        for start, end, label in sorted(rows, key=lambda row: row[1] - row[0]):
            size = min(end - start, codec.largest_seed)
            seeds = ((window, s, s + size - 1) for s in range(start, end - size + 1))
            seed = next(cell for cell in seeds if cell not in offsets)
            offsets[seed] = (start - seed[1], end - 1 - seed[2])
            classes[window, start, end - 1] = label
    return Answers(offsets, classes)


@st.composite
def gold_windows(draw: st.DrawFn) -> Tuple[List[int], List[Rows]]:
    """Draw windows with distinct spans, some longer than every seed."""
    lengths = draw(st.lists(st.integers(1, 30), min_size=1, max_size=3))
    gold = []
    for length in lengths:
        spans = draw(
            st.lists(
                st.tuples(st.integers(0, length - 1), st.integers(1, length)),
                max_size=5,
                unique=True,
            )
        )
        kept = {(start, min(start + size, length)) for start, size in spans}
        gold.append([(*span, draw(st.integers(0, 1))) for span in sorted(kept)])
    return lengths, gold


@given(gold_windows(), st.sampled_from([[1, 2, 3, 4, 5, 6, 7, 9, 11], [2, 9]]))
def test_perfect_networks_give_the_gold(
    windows: Tuple[List[int], List[Rows]], sizes: List[int]
) -> None:
    lengths, gold = windows
    codec = LocateLabelCodec(window_sizes=sizes)
    networks = perfect_networks(codec, gold, lengths)
    assert found(codec, networks, lengths) == gold


def test_perfect_networks_find_an_entity_of_twice_the_largest_seed() -> None:
    codec = LocateLabelCodec(window_sizes=[1, 2, 4])
    gold: List[Rows] = [[(1, 9, 1), (2, 4, 0)]]
    networks = perfect_networks(codec, gold, [10])
    assert found(codec, networks, [10]) == gold
    assert (0, 1, 8) in networks.asked["classify"]


# ------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name, value",
    [
        ("window_sizes", []),
        ("window_sizes", [0, 1]),
        ("window_sizes", 3),
        ("max_seed", 0),
        ("use_filter", 1),
        ("use_regressor", "no"),
        ("filter_threshold", 1.1),
        ("seed_iou", -0.1),
        ("entity_iou", 1.1),
        ("soft_examples", -1.0),
        ("soft_examples", float("inf")),
        ("negatives", -1),
        ("extra_negatives", None),
        ("filter_focus", -1),
        ("class_focus", None),
        ("filter_weight", -1),
        ("regressor_weight", "1"),
        ("class_weight", -0.1),
        ("soft_nms", None),
        ("nms_iou", 2),
        ("nms_decay", -0.1),
    ],
)
def test_codec_rejects_setting(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{name}'"):
        LocateLabelCodec(**{name: value})


def test_lost_counts_second_labels() -> None:
    spans = SpanTable.of([(0, 40, 0), (1, 2, 0), (1, 2, 1)])
    (wide, repeated) = LocateLabelCodec().lost(spans).values()
    assert not wide.any()
    assert repeated.tolist() == [False, False, True]


@pytest.mark.parametrize("settings", [{"max_seed": 3}, {"window_sizes": [1, 3]}])
def test_lost_without_regressor_counts_what_is_wider_than_seeds(settings: Dict) -> None:
    spans = SpanTable.of([(0, 3, 0), (0, 4, 0)])
    wide, _ = LocateLabelCodec(use_regressor=False, **settings).lost(spans).values()
    assert wide.tolist() == [False, True]


# -------------------------------------------------------------------- targets


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


# ----------------------------------------------------------------------- loss

# One positive of IoU 1, and a negative that overlaps by a half, in a window of 3.
LOSS_CODEC = LocateLabelCodec(
    window_sizes=[1, 2], negatives=None, filter_focus=0.0, soft_examples=1.0
)
LOSS_GOLD: Rows = [(0, 1, 0)]
# Seeds: (0, 0) is gold, (0, 1) has IoU 1/2, and (1, 1) none.


def loss_of(codec: LocateLabelCodec, module: nn.Module) -> float:
    return codec.loss(module, batch_of([2]), targets_of(codec, [LOSS_GOLD], [2])).item()


class Undecided(Answers):
    """Gives all answers the same score, and moves no span."""

    def __init__(self) -> None:
        super().__init__({}, {}, confidence=0.0)

    def filter(self, spans: Spans) -> Tensor:
        return torch.zeros(len(spans.window))


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


# ----------------------------------------------------------------- candidates


def test_candidates_ask_about_all_spans_up_to_the_largest_seed() -> None:
    # Also size 2, which training leaves out.
    codec = LocateLabelCodec(window_sizes=[1, 3])
    module = Answers({}, {})
    assert found(codec, module, [4]) == [[]]
    assert len(module.asked["filter"]) == 4 + 3 + 2
    assert found(replace(codec, max_seed=2), module, [4]) == [[]]
    assert len(module.asked["filter"]) == 4 + 3


def test_candidates_without_filter_classify_every_seed() -> None:
    codec = LocateLabelCodec(use_filter=False)
    module = Answers({}, {(0, 1, 2): 1})
    assert found(codec, module, [4]) == [[(1, 3, 1)]]
    assert "filter" not in module.asked
    assert len(module.asked["classify"]) == 10


def test_candidates_without_regressor_move_nothing() -> None:
    codec = LocateLabelCodec(use_regressor=False)
    module = Answers({(0, 0, 0): (0, 1)}, {(0, 0, 0): 0, (0, 0, 1): 1})
    assert found(codec, module, [4]) == [[(0, 1, 0)]]
    assert "regress" not in module.asked


def test_candidates_moved_to_one_span_are_classified_once() -> None:
    offsets = {(0, 0, 0): (1.0, 2.0), (0, 1, 1): (0.0, 1.0), (1, 0, 0): (0.0, 0.0)}
    module = Answers(offsets, {(0, 1, 2): 1})
    assert found(LocateLabelCodec(), module, [3, 3]) == [[(1, 3, 1)], []]
    assert module.asked["classify"] == [(0, 1, 2), (1, 0, 0)]


@pytest.mark.parametrize("threshold, kept", [(0.49, True), (0.51, False)])
def test_candidates_pass_the_filter_at_its_threshold(
    threshold: float, kept: bool
) -> None:
    codec = LocateLabelCodec(filter_threshold=threshold)
    module = Undecided()
    found(codec, module, [1])
    assert module.asked["classify"] == ([(0, 0, 0)] if kept else [])


def test_candidates_report_the_best_label_that_reaches_its_threshold() -> None:
    # The label has e / (e + 2), about 0.58.
    module = Answers({(0, 0, 0): (0, 0)}, {(0, 0, 0): 1}, confidence=1.0)
    assert found(LocateLabelCodec(), module, [1], threshold=0.57) == [[(0, 1, 1)]]
    assert found(LocateLabelCodec(), module, [1], threshold=0.58) == [[]]


def test_candidates_of_windows_without_tokens_are_none() -> None:
    module = Answers({}, {})
    assert found(LocateLabelCodec(), module, [0, 1]) == [[], []]


def test_candidates_tell_the_log_how_many_seeds_are_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, logger="spacy"):
        found(LocateLabelCodec(), Answers({(0, 0, 0): (0, 0)}, {}), [2])
    assert caplog.messages == ["The filter kept 1 of 3 seeds."]


# --------------------------------------------------------------- real networks

REAL_GOLD: List[Rows] = [[(0, 3, 0), (1, 2, 1)], [], [(0, 6, 1)], [(0, 1, 0)]]
REAL_LENGTHS = [4, 3, 7, 1]


def real_networks() -> LocateLabelModule:
    torch.manual_seed(0)
    rates = {"dropout": 0.0, "input_dropout": 0.0}
    sizes = {"lstm_width": 4, "hidden_width": 8, "offsets": "linear"}
    return LocateLabelModule(3, N_LABELS, **sizes, **rates).double()


def real_batch() -> WindowBatch:
    generator = torch.Generator().manual_seed(0)
    shape = (len(REAL_LENGTHS), max(REAL_LENGTHS), 3)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    return WindowBatch(3 * vectors, np.asarray(REAL_LENGTHS))


def alone(batch: WindowBatch, row: int) -> WindowBatch:
    length = REAL_LENGTHS[row]
    return WindowBatch(batch.vectors[[row], :length], np.asarray([length]))


def test_loss_of_a_window_does_not_depend_on_its_batch() -> None:
    codec, module, batch = LocateLabelCodec(), real_networks(), real_batch()
    together = codec.loss(module, batch, targets_of(codec, REAL_GOLD, REAL_LENGTHS))
    single = [
        codec.loss(
            module, alone(batch, row), targets_of(codec, [rows], [REAL_LENGTHS[row]])
        )
        for row, rows in enumerate(REAL_GOLD)
    ]
    torch.testing.assert_close(together, torch.stack(single).sum())


def test_candidates_of_a_window_do_not_depend_on_its_batch() -> None:
    codec, module, batch = LocateLabelCodec(), real_networks().eval(), real_batch()
    thresholds = torch.full((N_LABELS,), 0.3)
    together = codec.candidates(module, batch, thresholds)
    assert len(together.window) > 10
    for row in range(len(REAL_LENGTHS)):
        single = codec.candidates(module, alone(batch, row), thresholds)
        mine = together.window == row
        for one, two in zip(single[1:], together[1:]):
            torch.testing.assert_close(one, two[mine])


def test_loss_gives_every_weight_a_gradient() -> None:
    codec, module = LocateLabelCodec(), real_networks()
    targets = targets_of(codec, REAL_GOLD, REAL_LENGTHS)
    codec.loss(module, real_batch(), targets).backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []


@pytest.mark.parametrize("soft_nms, expected", [(True, 0.72), (False, 0.8)])
def test_rescore_lowers_neighbours_if_asked_to(soft_nms: bool, expected: float) -> None:
    codec = LocateLabelCodec(soft_nms=soft_nms)
    spans = SpanTable.of([(0, 5, 0, 0.9), (0, 4, 1, 0.8)])
    score: Optional[np.ndarray] = codec.rescore(spans, np.zeros(2, dtype=np.int64))
    np.testing.assert_allclose(score, [0.9, expected], rtol=1e-6)
