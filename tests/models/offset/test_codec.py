"""The offset codec: targets, loss and candidates with a module that gives answers."""

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset.codec import OffsetCodec, OffsetTargets
from spacy_spanner.models.offset.offsets import OffsetClasses, label_cells
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
N_LABELS = 2

GOLD: Dict[str, Rows] = {
    "none": [],
    "one": [(1, 3, 0)],
    "nested": [(0, 4, 0), (1, 3, 1), (2, 3, 0)],
    "nested of one label with one start": [(0, 3, 0), (0, 2, 0), (0, 1, 0)],
    "crossing": [(0, 3, 0), (2, 5, 1)],
    "adjacent": [(0, 2, 0), (2, 4, 0), (4, 5, 1)],
    "one token": [(0, 1, 0), (3, 4, 1), (4, 5, 0)],
    "whole window": [(0, 5, 1)],
    "several labels": [(1, 3, 0), (1, 3, 1), (0, 4, 1)],
}


class GivenScores(nn.Module):
    """Answers with given scores, whatever it is asked."""

    def __init__(self, scores: Tensor, classes: OffsetClasses) -> None:
        super().__init__()
        self.scores = scores
        self.classes = classes

    def forward(self, batch: WindowBatch) -> Tensor:
        return self.scores


def batch_of(lengths: Sequence[int]) -> WindowBatch:
    return WindowBatch(torch.zeros(len(lengths), max(lengths), 1), np.asarray(lengths))


def targets_of(gold: Sequence[Rows], lengths: Sequence[int]) -> OffsetTargets:
    return OffsetCodec().targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        rng=np.random.default_rng(0),
    )


def classes_of_cells(targets: OffsetTargets, classes: OffsetClasses) -> Tensor:
    """The class of each cell: (batch, start, last, label)."""
    longest = int(targets.lengths.max())
    dense = torch.zeros(
        len(targets.lengths), longest, longest, N_LABELS, dtype=torch.int64
    )
    cells = label_cells(targets.gold, lengths=targets.lengths, classes=classes)
    dense[cells.window, cells.start, cells.last, cells.label] = torch.as_tensor(
        cells.offset
    )
    return dense


def ideal(targets: OffsetTargets, classes: OffsetClasses) -> GivenScores:
    """Answers by which the targets are nearly certain."""
    gold = classes_of_cells(targets, classes)
    return GivenScores(20.0 * F.one_hot(gold, classes.n_classes), classes)


def random_module(lengths: Sequence[int], classes: OffsetClasses) -> GivenScores:
    generator = torch.Generator().manual_seed(0)
    shape = (len(lengths), max(lengths), max(lengths), N_LABELS, classes.n_classes)
    return GivenScores(torch.randn(shape, generator=generator), classes)


def found(
    module: nn.Module,
    lengths: Sequence[int],
    decoding: str = "votes",
    thresholds: Sequence[float] = (0.5, 0.5),
) -> List[Rows]:
    """Candidates by window, sorted."""
    codec = OffsetCodec(decoding=decoding)
    given = codec.candidates(module, batch_of(lengths), torch.tensor(thresholds))
    windows: List[Rows] = [[] for _ in lengths]
    for window, *span in zip(*(column.tolist() for column in given[:4])):
        windows[window].append(tuple(span))
    return [sorted(rows) for rows in windows]


@pytest.mark.parametrize("decoding", ["centers_only", "votes", "all_votes"])
@pytest.mark.parametrize("size,sides", [(0, "both"), (2, "both"), (1, "end")])
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_candidates_of_ideal_scores_are_the_gold(
    rows: Rows, size: int, sides: str, decoding: str
) -> None:
    gold, lengths = [rows, [], [(0, 1, 1)]], [5, 3, 1]
    module = ideal(targets_of(gold, lengths), OffsetClasses(size, sides))
    assert found(module, lengths, decoding) == [sorted(rows), [], [(0, 1, 1)]]


def test_candidates_of_the_lower_triangle_and_of_padding_do_not_exist() -> None:
    classes = OffsetClasses(1, "both")
    scores = torch.zeros(2, 3, 3, N_LABELS, classes.n_classes)
    scores[..., 1] = 20.0  # every cell claims to be a center
    for rows, length in zip(found(GivenScores(scores, classes), [3, 1]), (3, 1)):
        assert len(rows) == N_LABELS * length * (length + 1) // 2
        assert all(0 <= start < end <= length for start, end, _ in rows)


def test_candidates_score_a_center_by_its_probability() -> None:
    classes = OffsetClasses(0, "both")
    scores = torch.tensor([0.25, 0.75]).log().expand(1, 1, 1, N_LABELS, 2)
    given = OffsetCodec().candidates(
        GivenScores(scores, classes), batch_of([1]), torch.tensor([0.5, 0.8])
    )
    assert given.label.tolist() == [0]
    assert given.score.tolist() == pytest.approx([0.75])


@pytest.mark.parametrize(
    "decoding,expected", [("centers_only", []), ("votes", [(0, 3, 0)])]
)
def test_candidates_hear_a_run_of_offsets_as_asked(
    decoding: str, expected: Rows
) -> None:
    classes = OffsetClasses(2, "both")
    module = ideal(targets_of([[(0, 3, 0)]], [3]), classes)
    module.scores[0, 0, 2] = 0.0  # the center itself says nothing
    assert found(module, [3], decoding) == [expected]


def test_candidates_hear_a_single_offset_without_the_rules() -> None:
    classes = OffsetClasses(2, "both")
    scores = torch.zeros(1, 3, 3, N_LABELS, classes.n_classes)
    scores[0, 0, 1, 1, 1 + classes.names.index("-1E")] = 20.0
    module = GivenScores(scores, classes)
    assert found(module, [3], "votes") == [[]]
    assert found(module, [3], "all_votes") == [[(0, 3, 1)]]


# ------------------------------------------------------------------------ loss


def dense_loss(
    module: GivenScores, targets: OffsetTargets, smoothing: float = 0.0
) -> Tensor:
    """Cross entropy over the upper triangle of the real tokens of each window."""
    gold = classes_of_cells(targets, module.classes)
    total = torch.zeros(())
    for window, length in enumerate(targets.lengths.tolist()):
        start, last = torch.triu_indices(length, length)
        total = total + F.cross_entropy(
            module.scores[window, start, last].flatten(0, 1),
            gold[window, start, last].flatten(),
            reduction="sum",
            label_smoothing=smoothing,
        )
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_loss_is_the_cross_entropy_over_the_upper_triangle(
    rows: Rows, size: int, smoothing: float
) -> None:
    lengths, classes = [5, 2], OffsetClasses(size, "both")
    targets = targets_of([rows, [(1, 2, 1)]], lengths)
    module = random_module(lengths, classes)
    codec = OffsetCodec(boundary_smoothing=0.0, label_smoothing=smoothing)
    loss = codec.loss(module, batch_of(lengths), targets)
    torch.testing.assert_close(loss, dense_loss(module, targets, smoothing))


def test_loss_of_ideal_scores_is_nearly_zero() -> None:
    targets = targets_of([GOLD["nested"]], [5])
    module = ideal(targets, OffsetClasses(2, "both"))
    codec = OffsetCodec(boundary_smoothing=0.0)
    assert codec.loss(module, batch_of([5]), targets) < 1e-3


def test_loss_is_smallest_at_the_smoothed_targets() -> None:
    lengths, classes = [3], OffsetClasses(1, "both")
    targets = targets_of([[(0, 2, 0)]], lengths)
    # (0, 1) cannot become (-1, 1); (1, 1), (0, 0) and (0, 2) get a quarter each.
    shares = torch.zeros(1, 3, 3, N_LABELS, classes.n_classes)
    shares[..., 0] = 1.0
    for (start, last), by_name in {
        (0, 0): {"0": 0.05, "-1E": 0.85},
        (0, 1): {"0": 0.85, "-1S": 0.05, "1E": 0.05, "-1E": 0.05},
        (0, 2): {"0": 0.05, "1E": 0.85},
        (1, 1): {"0": 0.05, "1S": 0.85},
        (1, 2): {"1S": 0.05, "1E": 0.05},
        (2, 2): {},
    }.items():
        for name, share in by_name.items():
            shares[0, start, last, 0, 1 + classes.names.index(name)] = share
            shares[0, start, last, 0, 0] -= share
    logits = shares.clamp(min=1e-9).log().requires_grad_()
    module = GivenScores(logits, classes)
    codec = OffsetCodec(boundary_smoothing=0.2)
    codec.loss(module, batch_of(lengths), targets).backward()
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, torch.zeros_like(logits), atol=1e-5, rtol=0)


def test_loss_does_not_look_at_the_lower_triangle() -> None:
    targets = targets_of([GOLD["one"]], [5])
    module = random_module([5], OffsetClasses(1, "both"))
    before = OffsetCodec().loss(module, batch_of([5]), targets)
    start, last = torch.tril_indices(5, 5, offset=-1)
    module.scores[0, start, last] += 7.0 * torch.arange(6)
    after = OffsetCodec().loss(module, batch_of([5]), targets)
    torch.testing.assert_close(before, after)


@pytest.mark.parametrize(
    "settings", [{"decoding": "some_votes"}, {"label_smoothing": 1.0}]
)
def test_codec_checks_its_settings(settings: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="SP002"):
        OffsetCodec(**settings)


def test_codec_loses_no_gold() -> None:
    assert OffsetCodec().lost(SpanTable.of(GOLD["several labels"])) == {}


def test_count_classes_compares_each_cell_with_its_gold() -> None:
    gold, lengths = [GOLD["nested"], [(0, 1, 1)]], [5, 2]
    targets, classes = targets_of(gold, lengths), OffsetClasses(1, "both")
    right, module = classes_of_cells(targets, classes), random_module(lengths, classes)
    counts = OffsetCodec().count_classes(module, batch_of(lengths), targets)
    assert counts.names == ["out of range", *classes.names]
    expected = np.zeros((classes.n_classes, classes.n_classes), dtype=int)
    for window, length in enumerate(lengths):
        for start, last in zip(*np.triu_indices(length)):
            for label in range(N_LABELS):
                answer = int(module.scores[window, start, last, label].argmax())
                expected[int(right[window, start, last, label]), answer] += 1
    assert counts.counts.tolist() == expected.tolist()
