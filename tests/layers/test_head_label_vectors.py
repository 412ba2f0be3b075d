"""Label vectors, which a head gives to its windows."""

from typing import Any, List, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_spanner.layers.doc_arrays import TypedVectors
from spacy_spanner.layers.torch_head import loss_and_gradients
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.scored_spans import Candidates
from spacy_spanner.spans.table import SpanTable

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


class TypeCodec(TokenCodec):
    """Learns the label vectors alone: the gradient of each window's is its number."""

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        assert batch.types is not None
        number = torch.as_tensor([len(spans.start) for spans in targets])
        return (number[:, None, None] * batch.types).sum()

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        assert batch.types is not None
        window = torch.arange(len(batch.lengths))
        zero = torch.zeros_like(window)
        score = batch.types[:, 0, 0]
        return Candidates(window, zero, zero + 1, zero, score)


def typed(vectors: List[np.ndarray], segment: Sequence[int]) -> TypedVectors:
    """Number the segments: each value of a label vector tells its segment."""
    n_segments = max(segment) + 1
    types = np.ones((n_segments, 1, WIDTH), dtype="f")
    types *= np.arange(1, n_segments + 1, dtype="f")[:, None, None] / 10
    return TypedVectors(vectors, types, np.asarray(segment))


def test_head_gives_each_window_the_label_vectors_of_its_first_token() -> None:
    # Windows of document 0: tokens 0-2, 2-4, 3-5; its segments: tokens 0-3, 3-5.
    vectors = typed(vectors_of(5, 2), [0, 0, 0, 1, 1, 2, 2])
    plan = plan_of([5, 2], max_window=2, stride=0)
    assert plan.flat_start.tolist() == [0, 2, 3, 5]
    lowest = np.zeros(WIDTH, dtype="f")
    spans = find(head_of(), vectors, work_of(plan, TypeCodec()), lowest)
    found = dict(zip(spans.start.tolist(), spans.score.tolist()))
    assert found == pytest.approx({0: 0.1, 2: 0.1, 3: 0.2, 5: 0.3})


def test_head_adds_up_gradients_of_label_vectors_by_segment() -> None:
    vectors = typed(vectors_of(5, 2), [0, 0, 0, 1, 1, 2, 2])
    plan = plan_of([5, 2], max_window=2, stride=0)
    one = SpanTable.of([(0, 1, 0)])
    gold = [one, one, SpanTable.empty(), one]
    work = work_of(plan, TypeCodec())
    _, gradient = loss_and_gradients(head_of(), vectors, work, gold_of(gold))
    assert isinstance(gradient, TypedVectors)
    # Two of the windows of four begin in segment 0, one in each other, one is empty.
    assert gradient.types[:, 0, 0].tolist() == pytest.approx([2 / 4, 0, 1 / 4])
    assert gradient.segment.tolist() == vectors.segment.tolist()


def test_head_without_label_vectors_gives_none() -> None:
    seen = []

    class Codec(TokenCodec):
        def candidates(self, module: Any, batch: WindowBatch, _: Tensor) -> Candidates:
            seen.append(batch.types)
            return super().candidates(module, batch, torch.full((WIDTH,), 2.0))

    find(head_of(), vectors_of(3), work_of(plan_of([3]), Codec()))
    assert seen == [None]
