"""What the codecs of all models share."""

from typing import Any, Dict

import numpy as np
import pytest
import torch

from spacy_spanner.models.codec import SpanCodec
from spacy_spanner.models.scored_spans import (
    Candidates,
    all_labels,
    best_labels,
    best_or_none,
    join,
    only_best_class,
)
from spacy_spanner.spans.table import Bools, SpanTable


def test_best_labels_by_hand() -> None:
    scores = torch.tensor([[0.5, 0.4], [0.2, 0.3], [0.1, 0.1], [0.0, 0.9]])
    cell, label = best_labels(scores, torch.tensor([0.2, 0.3]))
    assert cell.tolist() == [0, 1, 3]
    assert label.tolist() == [0, 1, 1]


def test_best_labels_looks_at_labels_above_their_own_threshold_only() -> None:
    scores = torch.tensor([[0.3, 0.4]])
    cell, label = best_labels(scores, torch.tensor([0.2, 0.5]))
    assert (cell.tolist(), label.tolist()) == ([0], [0])


def test_best_labels_with_threshold_zero_keeps_a_score_of_zero() -> None:
    cell, label = best_labels(torch.zeros(1, 2), torch.zeros(2))
    assert (cell.tolist(), label.tolist()) == ([0], [0])


def test_best_labels_of_no_cells() -> None:
    cell, label = best_labels(torch.zeros(0, 2), torch.zeros(2))
    assert (cell.tolist(), label.tolist()) == ([], [])


def test_best_labels_noise_does_not_choose_between_equals() -> None:
    noise = torch.tensor([[0.0, 1e-7], [1e-7, 0.0], [0.0, 2e-5], [0.0, 2e-4]])
    _, label = best_labels(0.45 + noise, torch.zeros(2))
    assert label.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("n_cells", [0, 50])
def test_best_or_none_holds_a_place_for_cells_without_a_label(n_cells: int) -> None:
    scores = torch.rand(n_cells, 3, generator=torch.manual_seed(0))
    thresholds = torch.tensor([0.9, 0.7, 0.8])
    cell, label = best_labels(scores, thresholds)
    labels, found = best_or_none(scores, thresholds)
    places = torch.arange(n_cells)
    real = Candidates(places, places, places + 1, labels, found).real()
    assert real.window.tolist() == cell.tolist()
    assert len(cell) < n_cells or not n_cells
    assert real.label.tolist() == label.tolist()
    assert real.score.tolist() == scores[cell, label].tolist()


def test_all_labels_by_hand() -> None:
    scores = torch.tensor([[0.5, 0.4], [0.1, 0.3], [0.0, 0.1]])
    cell, label = all_labels(scores, torch.tensor([0.2, 0.3]))
    assert (cell.tolist(), label.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_candidates_at_cells_have_exclusive_ends_and_their_scores() -> None:
    columns = [torch.tensor(column) for column in ([0, 1], [2, 3], [4, 3])]
    scores = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    cell, label = torch.tensor([1, 0, 1]), torch.tensor([0, 1, 1])
    found = Candidates.at(columns, cell, label, scores)
    assert [column.tolist() for column in found[:4]] == [
        [1, 0, 1],
        [3, 2, 3],
        [4, 5, 4],
        [0, 1, 1],
    ]
    assert found.score.tolist() == scores[cell, label].tolist()


def test_only_best_class_leaves_the_most_probable_and_its_equals() -> None:
    classes = torch.tensor([[[0.5, 0.4, 0.1]], [[0.2, 0.4, 0.4]]])
    assert only_best_class(classes, "threshold") is classes
    best = only_best_class(classes, "argmax")
    expected = torch.tensor([[[0.5, -1.0, -1.0]], [[-1.0, 0.4, 0.4]]])
    assert best.tolist() == expected.tolist()


def test_join_keeps_the_order_of_the_parts() -> None:
    parts = [Candidates(*torch.arange(5)[:, None] + 10 * n) for n in (2, 1)]
    assert [column.tolist() for column in join(parts)] == [
        [20 + column, 10 + column] for column in range(5)
    ]


class PlainCodec(SpanCodec):
    """Implements what it must."""

    def targets(self, *_: Any, **__: Any) -> Any: ...

    def loss(self, *_: Any) -> Any: ...

    def candidates(self, *_: Any) -> Any: ...


def test_codec_by_default_loses_nothing_and_keeps_scores() -> None:
    spans = SpanTable.of([(0, 1, 0, 0.25), (0, 2, 0, 0.75)])
    assert PlainCodec().lost(spans) == {}
    assert PlainCodec().learnable(spans) == spans
    assert PlainCodec().rescore(spans, np.asarray([0, 0])).tolist() == [0.25, 0.75]


def test_codec_learns_what_no_reason_excludes() -> None:
    class Losing(PlainCodec):
        def lost(self, spans: SpanTable) -> Dict[str, Bools]:
            return {"early": spans.start == 0, "wide": spans.end - spans.start > 1}

    spans = SpanTable.of([(0, 1, 0), (1, 2, 0), (1, 3, 0), (0, 3, 0), (5, 6, 1)])
    kept = Losing().learnable(spans).rows()
    assert [row[:3] for row in kept] == [(1, 2, 0), (5, 6, 1)]


@pytest.mark.parametrize("name", ["targets", "loss", "candidates"])
def test_codec_without_one_of_its_three_methods_cannot_be_made(name: str) -> None:
    methods = {key: value for key, value in vars(PlainCodec).items() if key != name}
    methods = {key: value for key, value in methods.items() if not key.startswith("_")}
    incomplete: Any = type("Incomplete", (SpanCodec,), methods)
    with pytest.raises(TypeError, match=name):
        incomplete()
