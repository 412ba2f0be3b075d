"""What a head predicts: groups, thresholds, odd inputs."""

from typing import Any, List, Optional, Sequence

import numpy as np
import pytest
from torch import Tensor, nn

from spacy_spanner.layers.torch_head import get_shim, loss_and_gradients
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.scored_spans import Candidates
from spacy_spanner.spans.table import Floats, Ints, SpanTable

from .heads import (
    WIDTH,
    TokenCodec,
    find,
    gold_of,
    head_of,
    plan_of,
    vectors_of,
    work_of,
)


def test_head_candidates_by_hand() -> None:
    docs = [
        np.asarray([[9, -9, -9], [-9, -9, -9]], dtype="f"),
        np.asarray([[-9, -9, 9]], dtype="f"),
    ]
    found = find(head_of(), docs, work_of(plan_of([2, 1])))
    # On the tokens of both documents.
    assert sorted(span[:3] for span in found.rows()) == [(0, 1, 0), (2, 3, 2)]
    np.testing.assert_allclose(found.score, 1 / (1 + np.exp(-9.0)), rtol=1e-5)


def test_head_thresholds_go_by_label() -> None:
    docs = [np.zeros((1, WIDTH), dtype="f")]
    thresholds = np.asarray([0.5, 0.51, 0.4], dtype="f")
    found = find(head_of(), docs, work_of(plan_of([1])), thresholds)
    assert found.label.tolist() == [0, 2]


def test_head_reports_the_scores_of_rescore() -> None:
    class Halved(TokenCodec):
        def rescore(self, spans: SpanTable, window: Ints) -> Floats:
            return np.where(spans.label == 0, spans.score / 2, spans.score)

    docs = [np.full((1, WIDTH), 9.0, dtype="f")]
    found = find(head_of(), docs, work_of(plan_of([1]), Halved()))
    assert found.label.tolist() == [0, 1, 2]
    assert found.score.tolist() == pytest.approx([0.5, 1.0, 1.0], abs=1e-3)


@pytest.mark.parametrize("max_cells", [1, 30, 100_000])
def test_head_groups_do_not_change_candidates(max_cells: int) -> None:
    docs = vectors_of(5, 0, 2, 9, 1)
    plan = plan_of([5, 0, 2, 9, 1], max_window=4, stride=2)
    spans = find(head_of(), docs, work_of(plan, max_cells=max_cells))
    found = set(zip(spans.start.tolist(), spans.label.tolist()))
    assert found == set(zip(*(np.nonzero(np.concatenate(docs) >= 0))))


class CountingCodec(TokenCodec):
    """Notes how many windows it is shown at once."""

    def __init__(self) -> None:
        self.sizes: List[int] = []

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        self.sizes.append(len(batch.lengths))
        return super().candidates(module, batch, thresholds)


@pytest.mark.parametrize("declared,sizes", [(None, [4]), (8, [2, 2]), (99, [1] * 4)])
def test_head_groups_by_the_scores_that_a_module_computes_for_a_pair(
    declared: Optional[int], sizes: List[int]
) -> None:
    head, codec = head_of(), CountingCodec()
    if declared is not None:
        get_shim(head).module.scores_per_pair = declared  # type: ignore[assignment]
    # Four windows of 16 tokens; without a declaration a pair has 4 scores.
    work = work_of(plan_of([16] * 4), codec, max_cells=16 * 16 * 4 * 4)
    find(head, vectors_of(*[16] * 4), work)
    assert codec.sizes == sizes


def test_head_groups_by_what_a_codec_counts_in_either_direction() -> None:
    class Seeds(CountingCodec):
        def cells(self, *sizes: Any, in_training: bool) -> int:
            _, n_labels, n_tokens = sizes
            return n_tokens * n_labels * (3 if in_training else 2)

        def targets(self, gold: Sequence[SpanTable], *_: Any, **__: Any) -> List:
            self.sizes.append(len(gold))
            return list(gold)

    head, codec = head_of(), Seeds()
    vectors: Any = vectors_of(*[16] * 4)
    work = work_of(plan_of([16] * 4), codec, max_cells=3 * 16 * WIDTH * 2)
    find(head, vectors, work)
    loss_and_gradients(head, vectors, work, gold_of([SpanTable.empty()] * 4))
    assert codec.sizes == [3, 1, 2, 2]


def test_head_no_docs_and_empty_docs_give_nothing() -> None:
    head = head_of()
    assert find(head, [], work_of(plan_of([]))).n_spans == 0
    # Some encoders give empty documents no width.
    docs = [np.zeros((0, 0), dtype="f"), *vectors_of(0)]
    assert find(head, docs, work_of(plan_of([0, 0]))).n_spans == 0


def test_head_other_width_fails() -> None:
    docs = [np.zeros((2, WIDTH + 1), dtype="f")]
    with pytest.raises(ValueError, match=r"SP009.*width 4.*expect width 3"):
        find(head_of(), docs, work_of(plan_of([2])))


def test_head_prediction_has_no_way_back() -> None:
    work, lowest = work_of(plan_of([2])), np.full(WIDTH, 0.5, dtype="f")
    found, backprop = head_of().begin_update((vectors_of(2), work, lowest))
    with pytest.raises(TypeError, match="prediction"):
        backprop(found)


@pytest.mark.parametrize("n_docs", [1, 2, 4])
def test_head_hands_few_candidates_of_each_window_to_the_host(n_docs: int) -> None:
    class Counting(TokenCodec):
        def rescore(self, spans: SpanTable, window: Ints) -> Floats:
            sizes.append(np.bincount(window).tolist())
            return spans.score

    sizes: List[List[int]] = []
    cuts: List[None] = []
    docs = [np.ones((8, WIDTH), dtype="f")] * n_docs
    # Two windows of a document with 12 candidates each, all of which tie.
    plan = plan_of([8] * n_docs, max_window=4)
    limits = {"max_candidates": 5, "report_cut": lambda: cuts.append(None)}
    spans = find(head_of(), docs, work_of(plan, Counting(), 10, **limits))
    assert sizes == [[5] * (2 * n_docs)]
    assert cuts
    assert set(zip(spans.start[:5] % 4, spans.label[:5])) == {
        *((0, label) for label in range(3)),
        *((1, label) for label in range(2)),
    }


def test_head_reports_no_cut_where_no_window_has_too_many() -> None:
    cuts: List[None] = []
    limits = {"max_candidates": 12, "report_cut": lambda: cuts.append(None)}
    work = work_of(plan_of([4, 4]), **limits)
    assert find(head_of(), [np.ones((4, WIDTH), dtype="f")] * 2, work).n_spans == 24
    assert not cuts
