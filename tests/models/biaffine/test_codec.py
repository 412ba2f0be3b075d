"""The biaffine codec: targets, loss and candidates."""

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacy_spanner.codec import WindowBatch
from spacy_spanner.models.biaffine.codec import BiaffineCodec, BiaffineTargets
from spacy_spanner.types import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
EPSILONS = [0.0, 0.1, 0.3]

GOLD: Dict[str, Rows] = {
    "none": [],
    "one": [(1, 3, 0)],
    "nested": [(0, 4, 0), (1, 3, 1), (2, 3, 0)],
    "nested with one start": [(0, 3, 0), (0, 2, 1), (0, 1, 0)],
    "crossing": [(0, 3, 0), (2, 5, 1)],
    "adjacent": [(0, 2, 0), (2, 4, 0), (4, 5, 1)],
    "one token": [(0, 1, 0), (3, 4, 1), (4, 5, 0)],
    "whole window": [(0, 5, 1)],
    "first and last boundary": [(0, 1, 1), (0, 5, 0), (4, 5, 1)],
}


class GivenLogits(nn.Module):
    """Answers with given logits, whatever it is asked."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, batch: WindowBatch, *cells: Tensor, **options: Any) -> Tensor:
        assert len(cells[0]) == len(self.logits)
        return self.logits


def batch_of(lengths: Sequence[int]) -> WindowBatch:
    return WindowBatch(torch.zeros(len(lengths), max(lengths), 1), np.asarray(lengths))


def targets_of(
    codec: BiaffineCodec,
    gold: Sequence[Rows],
    lengths: Sequence[int],
    n_labels: int = 2,
) -> BiaffineTargets:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        n_labels=n_labels,
        rng=np.random.default_rng(0),
    )


def dense(targets: BiaffineTargets, n_labels: int = 2) -> Tensor:
    """Mass of each label on each cell: (cell, label)."""
    masses = torch.zeros(len(targets.cells.window), n_labels)
    masses[targets.cell, targets.label] = torch.as_tensor(targets.mass)
    return masses


def ideal_logits(
    codec: BiaffineCodec, targets: BiaffineTargets, n_labels: int = 2
) -> Tensor:
    """The logits at which the loss is smallest: (cell, class)."""
    masses = dense(targets, n_labels)
    if codec.multilabel:
        margins = masses.logit(eps=1e-6)
        return torch.cat([torch.zeros(len(masses), 1), margins], dim=1)
    rest = 1 - masses.sum(dim=1, keepdim=True)
    return torch.cat([rest, masses], dim=1).clamp(min=1e-6).log()


def found(
    codec: BiaffineCodec,
    logits: Tensor,
    lengths: Sequence[int],
    thresholds: Sequence[float] = (0.5, 0.5),
) -> List[Rows]:
    """Candidates by window, in the order of gold."""
    given = codec.candidates(
        GivenLogits(logits), batch_of(lengths), torch.tensor(thresholds)
    )
    windows: List[Rows] = [[] for _ in lengths]
    for window, *span in zip(*(column.tolist() for column in given[:4])):
        windows[window].append(tuple(span))
    return [sorted(rows) for rows in windows]


# ----------------------------------------------------------------- round trip


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_candidates_of_ideal_logits_are_the_gold(
    rows: Rows, distance: int, multilabel: bool, epsilon: float
) -> None:
    codec = BiaffineCodec(epsilon, distance, multilabel=multilabel)
    logits = ideal_logits(codec, targets_of(codec, [rows], [5]))
    assert found(codec, logits, [5]) == [sorted(rows)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_of_ideal_logits_of_several_windows_are_the_gold(
    multilabel: bool, epsilon: float
) -> None:
    codec = BiaffineCodec(epsilon, multilabel=multilabel)
    gold = [GOLD["nested"], [], [(0, 1, 1)], GOLD["crossing"]]
    lengths = [4, 3, 1, 6]
    logits = ideal_logits(codec, targets_of(codec, gold, lengths))
    assert found(codec, logits, lengths) == [sorted(rows) for rows in gold]


SEVERAL_LABELS: Rows = [(1, 3, 0), (1, 3, 1), (1, 3, 2), (0, 4, 1)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_candidates_with_multilabel_give_several_labels_of_one_span(
    epsilon: float,
) -> None:
    codec = BiaffineCodec(epsilon, multilabel=True)
    targets = targets_of(codec, [SEVERAL_LABELS], [5], n_labels=3)
    logits = ideal_logits(codec, targets, n_labels=3)
    assert found(codec, logits, [5], [0.5] * 3) == [sorted(SEVERAL_LABELS)]


def test_targets_with_multilabel_give_each_label_of_a_span_its_own_mass() -> None:
    codec = BiaffineCodec(0.2, multilabel=True)
    targets = targets_of(codec, [[(1, 2, 0), (1, 2, 1)]], [3])
    # (1, 1) gets back the share of (2, 1) and (1, 0): 0.8 + 0.1.
    on_span = targets.mass[targets.cells.start[targets.cell] == 1][:2]
    assert on_span.tolist() == pytest.approx([0.9, 0.9])


# -------------------------------------------------------------------- targets


def test_targets_list_every_cell_of_every_window() -> None:
    targets = targets_of(BiaffineCodec(), [[], []], [1, 2])
    cells = list(zip(*(column.tolist() for column in targets.cells)))
    assert cells == [(0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)]
    assert targets.mass.tolist() == []


def test_targets_of_hard_gold_point_at_its_cells() -> None:
    targets = targets_of(
        BiaffineCodec(0.0), [[(0, 2, 1)], [(1, 2, 0), (0, 1, 0)]], [3, 2]
    )
    # Cells: six of the first window, then (0, 0), (0, 1), (1, 1) of the second.
    assert dense(targets).nonzero().tolist() == [[1, 1], [6, 0], [8, 0]]
    assert targets.mass.tolist() == [1.0, 1.0, 1.0]


def test_targets_ignore_exact_duplicates() -> None:
    targets = targets_of(BiaffineCodec(0.0), [[(0, 2, 1), (0, 2, 1)]], [3])
    assert targets.mass.tolist() == [1.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_targets_hold_as_much_mass_as_gold_spans(rows: Rows, epsilon: float) -> None:
    targets = targets_of(BiaffineCodec(epsilon, 2), [rows], [5])
    assert targets.mass.sum() == pytest.approx(len(rows), abs=1e-5)


def test_targets_with_max_width_leave_out_wider_cells_and_gold() -> None:
    codec = BiaffineCodec(0.1, max_width=2)
    targets = targets_of(codec, [[(0, 3, 0), (1, 2, 1)]], [3])
    cells = list(zip(targets.cells.start.tolist(), targets.cells.last.tolist()))
    assert cells == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
    assert set(targets.label.tolist()) == {1}
    assert targets.mass.sum() == pytest.approx(1.0)


def test_targets_of_the_softmax_give_a_span_with_two_labels_no_more_than_one() -> None:
    targets = targets_of(BiaffineCodec(0.0), [[(0, 1, 0), (0, 1, 1)]], [1])
    assert dense(targets).sum() <= 1


def lost(codec: BiaffineCodec, rows: Rows) -> List[List[bool]]:
    return [mask.tolist() for mask in codec.lost(SpanTable.of(rows)).values()]


def test_lost_without_max_width_is_nothing() -> None:
    assert lost(BiaffineCodec(), [(0, 1, 0), (0, 200, 0)]) == [[False] * 2] * 2


def test_lost_with_max_width_is_what_is_wider() -> None:
    too_wide, _ = lost(BiaffineCodec(max_width=3), [(0, 1, 0), (1, 4, 0), (1, 5, 0)])
    assert too_wide == [False, False, True]


def test_lost_of_the_softmax_is_the_second_label_of_a_span() -> None:
    rows: Rows = [(0, 2, 0), (0, 3, 0), (0, 2, 1), (0, 2, 2)]
    assert lost(BiaffineCodec(), rows)[1] == [False, False, True, True]
    assert lost(BiaffineCodec(multilabel=True), rows)[1] == [False] * 4


# ----------------------------------------------------------------- candidates


def logits_of(probabilities: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(probabilities).log()


def test_candidates_score_is_the_probability_of_the_label() -> None:
    logits = logits_of([[0.2, 0.7, 0.1]]) + 3
    given = BiaffineCodec().candidates(
        GivenLogits(logits), batch_of([1]), torch.tensor([0.5, 0.5])
    )
    assert given.score.tolist() == pytest.approx([0.7])


def test_candidates_with_multilabel_score_each_label_against_no_entity() -> None:
    # Odds to "no entity" of 4 and of 1.5.
    logits = torch.tensor([[1.0, 4.0, 1.5]]).log()
    given = BiaffineCodec(multilabel=True).candidates(
        GivenLogits(logits), batch_of([1]), torch.tensor([0.5, 0.5])
    )
    assert given.label.tolist() == [0, 1]
    assert given.score.tolist() == pytest.approx([0.8, 0.6])


@pytest.mark.parametrize(
    "thresholds, expected",
    [
        ([0.5, 0.5], [(0, 1, 0), (0, 2, 1)]),
        ([0.9, 0.5], [(0, 2, 1)]),
        ([0.5, 0.9], [(0, 1, 0)]),
        ([0.9, 0.9], []),
        ([0.5, 0.2], [(0, 1, 0), (0, 2, 1), (1, 2, 1)]),
    ],
)
@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_obey_the_threshold_of_each_label(
    thresholds: List[float], expected: Rows, multilabel: bool
) -> None:
    nothing = 1e-4
    logits = logits_of([[0.2, 0.8, nothing], [0.4, nothing, 0.6], [0.7, nothing, 0.3]])
    codec = BiaffineCodec(multilabel=multilabel)
    assert found(codec, logits, [2], thresholds) == [expected]


@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_keep_a_score_equal_to_its_threshold(multilabel: bool) -> None:
    codec = BiaffineCodec(multilabel=multilabel)
    logits = torch.tensor([[0.0, 0.0]])
    assert found(codec, logits, [1], [0.5]) == [[(0, 1, 0)]]


def test_candidates_of_the_softmax_report_one_label_of_a_span() -> None:
    logits = logits_of([[0.1, 0.4, 0.5]])
    assert found(BiaffineCodec(), logits, [1], [0.1, 0.1]) == [[(0, 1, 1)]]


def test_candidates_with_threshold_zero_report_every_span() -> None:
    codec = BiaffineCodec(multilabel=True)
    rows = [(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert found(codec, torch.zeros(3, 3), [2], [0.0, 0.0]) == [rows]


def test_candidates_with_max_width_ask_for_the_band_only() -> None:
    # Of four tokens: four single ones and three pairs.
    logits = torch.tensor([[0.0, 9.0]]).expand(7, 2)
    (rows,) = found(BiaffineCodec(max_width=2), logits, [4], [0.5])
    assert max(end - start for start, end, _ in rows) == 2
    assert len(rows) == 7


def test_candidates_of_extreme_logits_have_scores_within_bounds() -> None:
    logits = torch.tensor([[-1e4, 1e4], [1e4, -1e4], [0.0, 1e4]])
    for multilabel in (False, True):
        given = BiaffineCodec(multilabel=multilabel).candidates(
            GivenLogits(logits), batch_of([2]), torch.tensor([0.0])
        )
        assert given.score.tolist() == [1.0, 0.0, 1.0]


def test_rescore_leaves_scores_as_they_are() -> None:
    spans = SpanTable.of([(0, 1, 0, 0.25), (0, 2, 0, 0.75)])
    assert BiaffineCodec().rescore(spans, np.asarray([0, 0])).tolist() == [0.25, 0.75]


# ----------------------------------------------------------------------- loss


def random_logits(n_cells: int, n_classes: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n_cells, n_classes, generator=generator)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_of_the_softmax_equals_dense_cross_entropy(
    epsilon: float, label_smoothing: float
) -> None:
    codec = BiaffineCodec(epsilon, 2, label_smoothing)
    targets = targets_of(codec, [GOLD["nested"], GOLD["crossing"]], [4, 5])
    logits = random_logits(10 + 15, 3)
    masses = dense(targets)
    wanted = torch.cat([1 - masses.sum(dim=1, keepdim=True), masses], dim=1)
    wanted = (1 - label_smoothing) * wanted + label_smoothing / 3
    expected = -(wanted * logits.log_softmax(dim=1)).sum()
    loss = codec.loss(GivenLogits(logits), batch_of([4, 5]), targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_with_multilabel_equals_dense_binary_cross_entropy(
    epsilon: float, label_smoothing: float
) -> None:
    codec = BiaffineCodec(epsilon, 2, label_smoothing, multilabel=True)
    targets = targets_of(codec, [GOLD["nested"], GOLD["crossing"]], [4, 5])
    logits = random_logits(10 + 15, 3)
    wanted = (1 - label_smoothing) * dense(targets) + label_smoothing / 2
    margins = logits[:, 1:] - logits[:, :1]
    expected = F.binary_cross_entropy_with_logits(margins, wanted, reduction="sum")
    loss = codec.loss(GivenLogits(logits), batch_of([4, 5]), targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_loss_has_no_slope_at_ideal_logits(epsilon: float, multilabel: bool) -> None:
    codec = BiaffineCodec(epsilon, multilabel=multilabel)
    targets = targets_of(codec, [GOLD["nested"]], [5])
    logits = ideal_logits(codec, targets).requires_grad_()
    codec.loss(GivenLogits(logits), batch_of([5]), targets).backward()
    assert logits.grad is not None
    assert logits.grad.abs().max().item() < 1e-5


@pytest.mark.parametrize("multilabel", [False, True])
def test_loss_of_windows_is_the_sum_over_windows(multilabel: bool) -> None:
    codec = BiaffineCodec(multilabel=multilabel)
    gold, lengths = [GOLD["nested"], [], GOLD["crossing"]], [4, 2, 5]
    logits = random_logits(10 + 3 + 15, 3)
    together = codec.loss(
        GivenLogits(logits), batch_of(lengths), targets_of(codec, gold, lengths)
    )
    alone = [
        codec.loss(
            GivenLogits(part), batch_of([length]), targets_of(codec, [rows], [length])
        )
        for part, rows, length in zip(logits.split([10, 3, 15]), gold, lengths)
    ]
    assert together.item() == pytest.approx(
        sum(part.item() for part in alone), rel=1e-5
    )


def test_loss_without_gold_teaches_no_entity() -> None:
    codec = BiaffineCodec()
    targets = targets_of(codec, [[]], [2])
    # Three cells of three equal classes.
    loss = codec.loss(GivenLogits(torch.zeros(3, 3)), batch_of([2]), targets)
    assert loss.item() == pytest.approx(3 * np.log(3))


# ------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name, value",
    [
        ("boundary_smoothing", -0.1),
        ("boundary_smoothing", 1.0),
        ("boundary_smoothing", "0.1"),
        ("boundary_smoothing", True),
        ("boundary_smoothing", None),
        ("smoothing_distance", 0),
        ("smoothing_distance", 1.0),
        ("smoothing_distance", None),
        ("label_smoothing", -0.1),
        ("label_smoothing", 1.0),
        ("label_smoothing", float("nan")),
        ("max_width", 0),
        ("max_width", 2.5),
        ("max_width", True),
    ],
)
def test_codec_rejects_a_setting_out_of_its_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"SP002.*{name}"):
        BiaffineCodec(**{name: value})


@pytest.mark.parametrize(
    "name, value",
    [
        ("boundary_smoothing", 0),
        ("boundary_smoothing", 0.99),
        ("smoothing_distance", 3),
        ("label_smoothing", 0.0),
        ("max_width", 1),
        ("max_width", None),
    ],
)
def test_codec_accepts_a_setting_at_its_limits(name: str, value: Any) -> None:
    assert getattr(BiaffineCodec(**{name: value}), name) == value
