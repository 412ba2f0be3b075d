"""Targets of the biaffine codec."""

import pytest

from spacy_spanner.models.biaffine.codec import BiaffineCodec

from .helpers import EPSILONS, GOLD, Rows, dense, targets_of


def test_targets_with_multilabel_give_each_label_of_a_span_its_own_mass() -> None:
    codec = BiaffineCodec(0.2, multilabel=True)
    targets = targets_of(codec, [[(1, 2, 0), (1, 2, 1)]], [3])
    # (1, 1) gets back the share of (2, 1) and (1, 0): 0.8 + 0.1.
    on_span = targets.mass[targets.cells.start[targets.cell] == 1][:2]
    assert on_span.tolist() == pytest.approx([0.9, 0.9])


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


def test_targets_of_the_softmax_give_a_span_its_first_label_alone() -> None:
    targets = targets_of(BiaffineCodec(0.0), [[(0, 1, 0), (0, 1, 1)]], [1])
    assert dense(targets).tolist() == [[1, 0]]
