"""What a head predicts: groups, thresholds, odd inputs."""

from typing import List, Optional

import numpy as np
import pytest
from torch import Tensor, nn

from spacy_spanner.layers.torch_head import HeadInput, get_shim
from spacy_spanner.models.codec import Candidates, WindowBatch
from spacy_spanner.spans.table import Floats, Ints, SpanTable

from .heads import WIDTH, TokenCodec, head_of, plan_of, task_of, vectors_of


def test_head_candidates_by_hand() -> None:
    docs = [
        np.asarray([[9, -9, -9], [-9, -9, -9]], dtype="f"),
        np.asarray([[-9, -9, 9]], dtype="f"),
    ]
    output = head_of().predict(HeadInput(docs, task_of(plan_of([2, 1]))))
    found = zip(output.window.tolist(), output.spans.rows())
    assert sorted((window, *span[:3]) for window, span in found) == [
        (0, 0, 1, 0),
        (1, 0, 1, 2),
    ]
    np.testing.assert_allclose(output.spans.score, 1 / (1 + np.exp(-9.0)), rtol=1e-5)


def test_head_thresholds_go_by_label() -> None:
    docs = [np.zeros((1, WIDTH), dtype="f")]
    thresholds = np.asarray([0.5, 0.51, 0.4], dtype="f")
    task = task_of(plan_of([1]), thresholds=thresholds)
    output = head_of().predict(HeadInput(docs, task))
    assert output.spans.label.tolist() == [0, 2]


def test_head_candidates_below_threshold_after_rescore_are_dropped() -> None:
    class Halved(TokenCodec):
        def rescore(self, spans: SpanTable, window: Ints) -> Floats:
            return np.where(spans.label == 0, spans.score / 2, spans.score)

    docs = [np.full((1, WIDTH), 9.0, dtype="f")]
    task = task_of(plan_of([1]), codec=Halved())
    output = head_of().predict(HeadInput(docs, task))
    assert output.spans.label.tolist() == [1, 2]


@pytest.mark.parametrize("max_cells", [1, 30, 100_000])
def test_head_groups_do_not_change_candidates(max_cells: int) -> None:
    docs = vectors_of(5, 0, 2, 9, 1)
    plan = plan_of([5, 0, 2, 9, 1], max_window=4, stride=2)
    output = head_of().predict(HeadInput(docs, task_of(plan, max_cells=max_cells)))
    found = {
        (plan.doc[window], plan.start[window] + span.start, span.label)
        for window, span in zip(output.window, output.spans.rows())
    }
    expected = {
        (index, token, label)
        for index, doc in enumerate(docs)
        for token, label in zip(*np.nonzero(doc >= 0))
    }
    assert found == expected


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
    task = task_of(plan_of([16] * 4), codec=codec, max_cells=16 * 16 * 4 * 4)
    head.predict(HeadInput(vectors_of(*[16] * 4), task))
    assert codec.sizes == sizes


def test_head_no_docs_and_empty_docs_give_nothing() -> None:
    head = head_of()
    assert head.predict(HeadInput([], task_of(plan_of([])))).spans.n_spans == 0
    # Some encoders give empty documents no width.
    docs = [np.zeros((0, 0), dtype="f"), *vectors_of(0)]
    output = head.predict(HeadInput(docs, task_of(plan_of([0, 0]))))
    assert (output.spans.n_spans, output.loss) == (0, 0.0)


def test_head_other_width_fails() -> None:
    docs = [np.zeros((2, WIDTH + 1), dtype="f")]
    with pytest.raises(ValueError, match=r"SP009.*4 wide.*expect 3"):
        head_of().predict(HeadInput(docs, task_of(plan_of([2]))))
