"""Perfect networks give the gold spans back."""

from typing import Dict, List, Sequence, Tuple

from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.models.locate_label.codec import LocateLabelCodec

from .helpers import Answers, Cell, Rows, found


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
