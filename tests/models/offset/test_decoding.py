"""Centers and votes: what the cells of hand-made grids are decoded to."""

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.offset.decoding import (
    Pointers,
    collect_pointers,
    decode_all_votes,
    decode_votes,
)
from spacy_spanner.models.offset.offsets import OffsetClasses, label_cells
from spacy_spanner.models.scored_spans import Candidates
from spacy_spanner.spans.geometry import enumerate_spans
from spacy_spanner.spans.layouts import FlatGold

Said = Dict[Tuple[int, int, str], float]  # (start, last, class): probability
Spans = Dict[Tuple[int, int], float]  # (start, last): score


def pointers_of(
    said: Said, length: int = 8, size: int = 2, sides: str = "both", limit: float = 0.5
) -> Tuple[Pointers, OffsetClasses]:
    """Let the cells of one window say something about one label."""
    classes = OffsetClasses(size, sides)
    lengths = np.asarray([length])
    cells = enumerate_spans(lengths)
    order = list(zip(cells.start.tolist(), cells.last.tolist()))
    probabilities = torch.zeros(len(order), 1, classes.n_classes - 1)
    for (start, last, name), value in said.items():
        row = order.index((start, last))
        probabilities[row, 0, classes.names.index(name)] = value
    pointers = collect_pointers(
        probabilities,
        *(torch.as_tensor(column) for column in cells),
        lengths=lengths,
        thresholds=torch.tensor([limit]),
        classes=classes,
    )
    return pointers, classes


def spans_of(found: Candidates) -> Spans:
    columns = (column.tolist() for column in found)
    return {
        (start, end - 1): pytest.approx(score)
        for _, start, end, _, score in zip(*columns)
    }


def voted(said: Said, **options: object) -> Spans:
    return spans_of(decode_votes(*pointers_of(said, **options)))  # type: ignore[arg-type]


CENTER: Said = {(2, 4, "0"): 0.9}
# All cells at the starts 3 and 4 with the last token 4 point at (2, 4).
RUN: Said = {(3, 4, "1S"): 0.8, (4, 4, "2S"): 0.6}


def test_center_is_found_with_its_probability() -> None:
    pointers, _ = pointers_of(CENTER)
    assert voted(CENTER) == spans_of(decode_all_votes(pointers)) == {(2, 4): 0.9}


def test_center_at_the_threshold_is_found() -> None:
    assert voted(CENTER, limit=0.9) == {(2, 4): 0.9}


def test_center_below_the_threshold_is_not_found() -> None:
    pointers, _ = pointers_of({(2, 4, "0"): 0.49})
    assert spans_of(decode_all_votes(pointers)) == {}


def test_all_votes_finds_what_a_single_offset_points_at() -> None:
    pointers, _ = pointers_of({**CENTER, (5, 7, "2E"): 0.7, (5, 6, "1E"): 0.8})
    assert spans_of(decode_all_votes(pointers)) == {(2, 4): 0.9, (5, 5): 0.8}


def test_votes_for_a_center_keep_its_score() -> None:
    assert voted({**CENTER, **RUN}) == {(2, 4): 0.9}


def test_votes_find_a_missing_center_by_a_run_and_score_it_by_the_mean() -> None:
    assert voted(RUN) == {(2, 4): 0.7}


def test_votes_of_both_directions_of_a_side_count_together() -> None:
    assert voted({(3, 4, "1S"): 0.8, (1, 4, "-1S"): 0.6}) == {(2, 4): 0.7}


def test_votes_of_two_sides_do_not_count_together() -> None:
    assert voted({(3, 4, "1S"): 0.8, (2, 5, "1E"): 0.8}) == {}


def test_votes_with_a_gap_are_no_run() -> None:
    assert voted({(4, 4, "2S"): 0.8, (0, 4, "-2S"): 0.8}) == {}


def test_votes_below_the_threshold_break_a_run() -> None:
    assert voted({(3, 4, "1S"): 0.4, (4, 4, "2S"): 0.9, (0, 4, "-2S"): 0.9}) == {}


def test_votes_of_the_surest_side_make_the_score() -> None:
    other_side = {(2, 3, "-1E"): 0.9, (2, 2, "-2E"): 0.8}
    assert voted({**RUN, **other_side}) == {(2, 4): 0.85}


def test_votes_beyond_a_run_do_not_count() -> None:
    # The direction of the negative sign has no run: its cell at distance 1 is silent.
    assert voted({**RUN, (0, 4, "-2S"): 1.0}) == {(2, 4): 0.7}


@pytest.mark.parametrize("size,count", [(1, 1), (2, 2), (3, 3)])
def test_votes_need_as_many_cells_as_the_largest_offset(size: int, count: int) -> None:
    run: Said = {(2, 4 + step, f"{step}E"): 0.8 for step in range(1, count + 1)}
    assert voted(run, size=size) == {(2, 4): 0.8}
    run.pop((2, 4 + count, f"{count}E"))
    assert voted(run, size=size) == {}


@pytest.mark.parametrize(
    "sides,found", [("start", {(2, 4): 0.7}), ("both", {(2, 4): 0.7})]
)
def test_votes_with_one_side(sides: str, found: Spans) -> None:
    assert voted(RUN, sides=sides) == found


def test_pointers_that_leave_the_window_are_dropped() -> None:
    said = {(0, 0, "1S"): 0.9, (5, 5, "-1E"): 0.9, (3, 3, "-1S"): 0.9}
    pointers, _ = pointers_of(said, length=6, size=1)
    assert len(pointers.start) == 0


def test_pointers_keep_windows_and_labels_apart() -> None:
    lengths = np.asarray([1, 2])
    cells = enumerate_spans(lengths)  # (0, 0) of the first, then three of the second
    probabilities = torch.zeros(4, 2, 1)
    probabilities[0, 1] = probabilities[3, 0] = 0.75
    pointers = collect_pointers(
        probabilities,
        *(torch.as_tensor(column) for column in cells),
        lengths=lengths,
        thresholds=torch.tensor([0.5, 0.6]),
        classes=OffsetClasses(0, "both"),
    )
    rows = [column.tolist() for column in decode_all_votes(pointers)]
    assert rows == [[0, 1], [0, 1], [1, 2], [1, 0], [0.75, 0.75]]


def test_thresholds_are_those_of_the_label() -> None:
    cells = enumerate_spans(np.asarray([1]))
    pointers = collect_pointers(
        torch.tensor([[[0.5], [0.5]]]),
        *(torch.as_tensor(column) for column in cells),
        lengths=np.asarray([1]),
        thresholds=torch.tensor([0.6, 0.4]),
        classes=OffsetClasses(0, "both"),
    )
    assert pointers.label.tolist() == [1]


# ------------------------------------------------------------------ properties


def perfect(
    gold: Sequence[Tuple[int, int, int]], length: int, classes: OffsetClasses
) -> Pointers:
    """Let every cell say what the targets of the gold say."""
    columns = np.asarray(gold, dtype=np.int64).reshape(-1, 3).T
    lengths = np.asarray([length])
    gold_columns = FlatGold(np.zeros_like(columns[0]), *columns)
    entries = label_cells(gold_columns, lengths=lengths, classes=classes)
    cells = enumerate_spans(lengths)
    keys = cells.start * length + cells.last
    row = np.searchsorted(keys, entries.start * length + entries.last)
    probabilities = torch.zeros(len(keys), 2, classes.n_classes - 1)
    probabilities[row, entries.label, entries.offset - 1] = 1.0
    return collect_pointers(
        probabilities,
        *(torch.as_tensor(column) for column in cells),
        lengths=lengths,
        thresholds=torch.tensor([0.5, 0.5]),
        classes=classes,
    )


@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 1))),
    st.integers(0, 3),
    st.sampled_from(["both", "start", "end"]),
)
def test_perfect_scores_decode_to_the_gold(
    length: int, pairs: List[Tuple[int, int, int]], size: int, sides: str
) -> None:
    gold = sorted(
        {(min(a, b), max(a, b), label) for a, b, label in pairs if max(a, b) < length}
    )
    classes = OffsetClasses(size, sides)
    pointers = perfect(gold, length, classes)
    found = [decode_all_votes(pointers)]
    if size:
        found.append(decode_votes(pointers, classes))
    for candidates in found:
        columns = (candidates.start, candidates.end - 1, candidates.label)
        assert sorted(zip(*(c.tolist() for c in columns))) == gold
        assert candidates.score.tolist() == [1.0] * len(gold)


def random_pointers(seed: int, limit: float) -> Tuple[Pointers, OffsetClasses]:
    generator = torch.Generator().manual_seed(seed)
    classes = OffsetClasses(2, "both")
    lengths = np.asarray([6, 3])
    cells = enumerate_spans(lengths)
    shape = (len(cells.start), 2, classes.n_classes)
    probabilities: Tensor = torch.randn(shape, generator=generator).mul(2).softmax(-1)
    pointers = collect_pointers(
        probabilities[..., 1:],
        *(torch.as_tensor(column) for column in cells),
        lengths=lengths,
        thresholds=torch.tensor([limit, limit]),
        classes=classes,
    )
    return pointers, classes


def keyed(found: Candidates) -> Dict[Tuple[int, ...], float]:
    *columns, scores = (column.tolist() for column in found)
    return dict(zip(zip(*columns), scores))


@given(st.integers(0, 50), st.sampled_from([0.1, 0.2, 0.3]))
def test_rules_find_no_less_than_centers_and_no_more_than_all_votes(
    seed: int, limit: float
) -> None:
    pointers, classes = random_pointers(seed, limit)
    center = pointers.votes[:, 0]
    window, start, last, label = (column[center > 0] for column in pointers[:4])
    found = Candidates(window, start, last + 1, label, center[center > 0])
    centers = keyed(found)
    votes = keyed(decode_votes(pointers, classes))
    everything = keyed(decode_all_votes(pointers))
    assert centers.keys() <= votes.keys() <= everything.keys()
    assert all(votes[key] == score for key, score in centers.items())
    assert all(limit <= score <= 1 for score in votes.values())


def naive_votes(pointers: Pointers, row: int, size: int) -> Optional[float]:
    """The rules as loops over sides, signs and distances."""
    votes = pointers.votes[row].tolist()
    if votes[0]:
        return votes[0]
    names = OffsetClasses(size, "both").names
    means = []
    for side in "SE":
        run = []
        for sign in ("-", ""):
            for step in range(1, size + 1):
                vote = votes[names.index(f"{sign}{step}{side}")]
                if not vote:
                    break
                run.append(vote)
        if len(run) >= size:
            means.append(sum(run) / len(run))
    return max(means, default=None)


@given(st.integers(0, 50))
def test_rules_equal_a_loop_over_sides_and_directions(seed: int) -> None:
    pointers, classes = random_pointers(seed, 0.1)
    expected = {}
    for row, key in enumerate(zip(*(column.tolist() for column in pointers[:4]))):
        score = naive_votes(pointers, row, 2)
        window, start, last, label = key
        if score is not None:
            expected[window, start, last + 1, label] = pytest.approx(score)
    assert keyed(decode_votes(pointers, classes)) == expected
