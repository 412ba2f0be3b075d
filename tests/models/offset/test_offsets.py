"""Which cells are centers, which point at an entity, and how ties are decided."""

from typing import Dict, List, Tuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.offset.offsets import OffsetClasses, label_cells, smooth_cells
from spacy_spanner.spans.layouts import FlatGold

Cell = Tuple[int, int]  # start, last
Gold = List[Tuple[int, int, int]]  # start, last, label

SIDES = ["both", "start", "end"]


def labels_by_cell(
    gold: Gold, length: int, size: int = 2, sides: str = "both", label: int = 0
) -> Dict[Cell, str]:
    """Names of the classes of one label in one window, without out of range."""
    columns = np.asarray(gold, dtype=np.int64).reshape(-1, 3).T
    classes = OffsetClasses(size, sides)
    cells = label_cells(
        FlatGold(np.zeros_like(columns[0]), *columns),
        lengths=np.asarray([length]),
        classes=classes,
    )
    return {
        (start, last): classes.names[offset - 1]
        for window, start, last, own, offset in zip(*(c.tolist() for c in cells))
        if own == label and window == 0
    }


@pytest.mark.parametrize(
    "size,sides,names",
    [
        (0, "both", ["0"]),
        (1, "both", ["0", "-1S", "1S", "-1E", "1E"]),
        (1, "start", ["0", "-1S", "1S"]),
        (2, "end", ["0", "-1E", "1E", "-2E", "2E"]),
    ],
)
def test_classes_are_ordered_by_preference(
    size: int, sides: str, names: List[str]
) -> None:
    classes = OffsetClasses(size, sides)
    assert classes.names == names
    assert classes.n_classes == len(names) + 1


@pytest.mark.parametrize("size", range(4))
def test_classes_are_as_many_as_in_the_paper(size: int) -> None:
    assert OffsetClasses(size, "both").n_classes == 4 * size + 2
    assert OffsetClasses(size, "start").n_classes == 2 * size + 2


def test_cells_around_one_entity_point_at_it() -> None:
    assert labels_by_cell([(2, 3, 0)], length=6) == {
        (2, 3): "0",
        (0, 3): "-2S",
        (1, 3): "-1S",
        (3, 3): "1S",
        (2, 2): "-1E",
        (2, 4): "1E",
        (2, 5): "2E",
    }


def test_cells_of_two_proteins_and_a_cell_type_as_in_the_paper() -> None:
    # "in human T cell NF-AT protein": T cell is a cell type (1), and there are two
    # proteins (0): NF-AT, and NF-AT protein.
    gold = [(4, 4, 0), (4, 5, 0), (2, 3, 1)]
    proteins = labels_by_cell(gold, length=6, size=1)
    assert proteins == {
        (4, 4): "0",
        (4, 5): "0",
        (3, 4): "-1S",
        (3, 5): "-1S",
        (5, 5): "1S",
    }
    assert labels_by_cell(gold, length=6, size=1, label=1) == {
        (2, 3): "0",
        (1, 3): "-1S",
        (3, 3): "1S",
        (2, 2): "-1E",
        (2, 4): "1E",
    }


def test_offsets_follow_the_sign_of_the_paper() -> None:
    cells = labels_by_cell([(1, 2, 0)], length=4, size=1)
    assert cells[1, 1] == "-1E"  # the entity is (i, j + 1)
    assert cells[2, 2] == "1S"  # the entity is (i - 1, j)


def test_no_offset_leaves_the_window_or_turns_a_span_around() -> None:
    assert labels_by_cell([(0, 0, 0)], length=2) == {(0, 0): "0", (0, 1): "1E"}
    assert labels_by_cell([(0, 0, 0)], length=1, size=3) == {(0, 0): "0"}


def test_center_wins_over_offsets_of_nested_entities_of_one_label() -> None:
    cells = labels_by_cell([(1, 4, 0), (1, 3, 0), (2, 4, 0)], length=6)
    assert [cells[c] for c in ((1, 4), (1, 3), (2, 4))] == ["0", "0", "0"]


def test_smaller_offset_wins() -> None:
    # (1, 4) is 1 behind the end of the first and 2 before the end of the second.
    assert labels_by_cell([(1, 3, 0), (1, 6, 0)], length=7)[1, 4] == "1E"
    assert labels_by_cell([(1, 3, 0), (1, 6, 0)], length=7)[1, 5] == "-1E"


def test_ties_go_to_the_start_then_to_the_negative_sign() -> None:
    # (2, 3) is 1 from the start of one entity, and 1 from the end of the other.
    assert labels_by_cell([(1, 3, 0), (2, 4, 0)], length=5)[2, 3] == "1S"
    # (1, 3) lies between two entities that differ by 2 in their end.
    assert labels_by_cell([(1, 2, 0), (1, 4, 0)], length=5)[1, 3] == "-1E"


def test_adjacent_entities_keep_their_own_cells() -> None:
    cells = labels_by_cell([(0, 1, 0), (2, 3, 0)], length=4, size=1)
    assert cells == {
        (0, 1): "0",
        (1, 1): "1S",
        (0, 0): "-1E",
        (0, 2): "1E",
        (2, 3): "0",
        (1, 3): "-1S",
        (3, 3): "1S",
        (2, 2): "-1E",
    }


def test_without_offsets_there_are_centers_only() -> None:
    gold = [(0, 1, 0), (1, 3, 0), (2, 2, 1)]
    assert labels_by_cell(gold, length=4, size=0) == {(0, 1): "0", (1, 3): "0"}


def test_windows_are_kept_apart() -> None:
    cells = label_cells(
        FlatGold(np.asarray([1, 0]), *np.zeros((3, 2), dtype=np.int64)),
        lengths=np.asarray([1, 2]),
        classes=OffsetClasses(1, "both"),
    )
    rows = list(zip(*(column.tolist() for column in cells)))
    # Class 1 is the center, 5 is "1E": it only fits into the longer window.
    assert rows == [(0, 0, 0, 0, 1), (1, 0, 0, 0, 1), (1, 0, 1, 0, 5)]


@st.composite
def windows(draw: st.DrawFn) -> Tuple[int, Gold]:
    """Draw a window of a few tokens, and entities of two labels in it."""
    length = draw(st.integers(1, 8))
    boundary = st.integers(0, length - 1)
    pairs = st.tuples(boundary, boundary, st.integers(0, 1))
    spans = draw(st.lists(pairs, max_size=6))
    return length, [(min(a, b), max(a, b), label) for a, b, label in spans]


@given(windows(), st.integers(0, 3), st.sampled_from(SIDES), st.integers(0, 1))
def test_every_class_points_at_a_gold_span(
    window: Tuple[int, Gold], size: int, sides: str, label: int
) -> None:
    length, gold = window
    entities = {(start, last) for start, last, own in gold if own == label}
    cells = labels_by_cell(gold, length, size, sides, label)
    assert {cell for cell, name in cells.items() if name == "0"} == entities
    for (start, last), name in cells.items():
        move = int(name.rstrip("SE"))
        target = (start, last - move) if name.endswith("E") else (start - move, last)
        assert target in entities
        assert 0 <= start <= last < length


@given(windows(), st.integers(0, 3), st.sampled_from(SIDES))
def test_every_cell_has_the_smallest_offset_that_it_can_have(
    window: Tuple[int, Gold], size: int, sides: str
) -> None:
    length, gold = window
    entities = {(start, last) for start, last, own in gold if own == 0}
    cells = labels_by_cell(gold, length, size, sides)
    for start in range(length):
        for last in range(start, length):
            moves = [
                abs(start - s) + abs(last - e)
                for s, e in entities
                if (s == start and (sides != "start" or e == last))
                or (e == last and sides != "end")
            ]
            smallest = min((move for move in moves if move <= size), default=None)
            name = cells.get((start, last))
            assert (name and abs(int(name.rstrip("SE")))) == smallest


# ------------------------------------------------------------------- smoothing


def masses(
    gold: Gold, length: int, epsilon: float, distance: int = 1, size: int = 2
) -> Dict[Tuple[int, int, int, str], float]:
    """Mass by (start, last, label, class), without what is out of range."""
    columns = np.asarray(gold, dtype=np.int64).reshape(-1, 3).T
    classes = OffsetClasses(size, "both")
    soft = smooth_cells(
        FlatGold(np.zeros_like(columns[0]), *columns),
        lengths=np.asarray([length]),
        classes=classes,
        epsilon=epsilon,
        distance=distance,
    )
    found: Dict[Tuple[int, int, int, str], float] = {}
    for _, start, last, label, offset, mass in zip(*(c.tolist() for c in soft)):
        key = (start, last, label, classes.names[offset - 1])
        found[key] = found.get(key, 0.0) + mass
    return found


def test_smoothing_of_zero_gives_hard_targets() -> None:
    gold: Gold = [(1, 2, 0), (2, 2, 1)]
    hard = labels_by_cell(gold, length=4)
    soft = masses(gold, length=4, epsilon=0.0)
    assert {key[:2]: key[3] for key in soft if key[2] == 0} == hard
    assert set(soft.values()) == {1.0}


def test_smoothing_shares_the_center_with_the_spans_around() -> None:
    soft = masses([(1, 2, 0)], length=4, epsilon=0.2, size=0)
    assert soft == {
        (1, 2, 0, "0"): pytest.approx(0.8),
        (0, 2, 0, "0"): pytest.approx(0.05),
        (2, 2, 0, "0"): pytest.approx(0.05),
        (1, 1, 0, "0"): pytest.approx(0.05),
        (1, 3, 0, "0"): pytest.approx(0.05),
    }


def test_smoothing_moves_offsets_along_with_the_center() -> None:
    soft = masses([(1, 2, 0)], length=4, epsilon=0.2, size=1)
    # The cell is 1 before the start, or the entity itself if that starts at 0.
    assert soft[0, 2, 0, "-1S"] == pytest.approx(0.8)
    assert soft[0, 2, 0, "0"] == pytest.approx(0.05)


def test_smoothing_gives_back_the_share_of_impossible_moves() -> None:
    soft = masses([(0, 0, 0)], length=1, epsilon=0.3, distance=2)
    assert soft == {(0, 0, 0, "0"): pytest.approx(1.0)}


@given(
    windows(), st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.3]), st.integers(1, 2)
)
def test_smoothing_never_puts_more_than_one_on_a_cell_and_label(
    window: Tuple[int, Gold], size: int, epsilon: float, distance: int
) -> None:
    length, gold = window
    soft = masses(gold, length, epsilon, distance, size)
    totals: Dict[Tuple[int, int, int], float] = {}
    for (*cell, _), mass in soft.items():
        totals[tuple(cell)] = totals.get(tuple(cell), 0.0) + mass  # type: ignore[index]
    assert all(total < 1 + 1e-5 for total in totals.values())


@given(windows(), st.sampled_from([0.0, 0.1, 0.3]), st.integers(1, 2))
def test_smoothing_leaves_the_entities_the_surest_centers(
    window: Tuple[int, Gold], epsilon: float, distance: int
) -> None:
    length, gold = window
    soft = masses(gold, length, epsilon, distance)
    assert all(soft[entity[0], entity[1], entity[2], "0"] >= 0.69 for entity in gold)
