"""Spans that are scored alone have the scores that they have in the grid."""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset import centers
from spacy_spanner.models.offset.codec import OffsetCodec
from spacy_spanner.models.offset.module import OffsetModule, OffsetSettings, take_cells
from spacy_spanner.spans.geometry import enumerate_spans

LENGTHS = np.asarray([9, 1, 4])
N_IN, N_LABELS = 6, 3

Found = Dict[Tuple[int, ...], float]


def build(**settings: Any) -> OffsetModule:
    torch.manual_seed(0)
    sizes = {"lstm_width": 8, "hidden_width": 5}
    module = OffsetModule(N_IN, N_LABELS, OffsetSettings(**sizes, **settings)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        module.fusion.weight.normal_()  # as many entities as others
    return module


def batch_of(max_cells: Optional[int] = None) -> WindowBatch:
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(len(LENGTHS), max(LENGTHS), N_IN, generator=generator)
    return WindowBatch(vectors, LENGTHS, None, max_cells)


def found(module: OffsetModule, thresholds: Tensor, batch: WindowBatch) -> Found:
    with torch.inference_mode():
        spans = OffsetCodec().candidates(module, batch, thresholds)
    columns: List[List[Any]] = [column.tolist() for column in spans]
    return {row[:4]: row[4] for row in zip(*columns)}


@pytest.mark.parametrize("settings", [{}, {"distance_embedding": 0}, {"max_offset": 0}])
def test_spans_have_the_scores_and_gradients_of_the_grid(
    settings: Dict[str, Any],
) -> None:
    module, batch = build(**settings).double(), batch_of()
    batch = batch._replace(vectors=batch.vectors.double())
    columns = [torch.as_tensor(column) for column in enumerate_spans(LENGTHS)]
    results = []
    for scores in (
        module.score_spans(batch, columns),
        take_cells(module(batch), *columns),
    ):
        module.zero_grad()
        scores.square().sum().backward()
        gradients = [weight.grad for weight in module.parameters()]
        results.append((scores, *gradients))
    for alone, in_grid in zip(*results):
        torch.testing.assert_close(alone, in_grid)


@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.6, 1.0])
@pytest.mark.parametrize("max_cells", [None, 1, 500])
def test_centers_are_those_of_the_grid(
    threshold: float, max_cells: Optional[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, batch = build(), batch_of(max_cells)
    thresholds = torch.tensor([threshold, 0.9 * threshold, threshold])
    with monkeypatch.context() as patch:
        patch.setattr(centers, "LARGEST_SHARE", -1.0)  # scores all classes
        expected = found(module, thresholds, batch)
    monkeypatch.setattr(centers, "LARGEST_SHARE", 1.0)
    monkeypatch.setattr(centers, "AT_ONCE", 7)
    assert found(module, thresholds, batch) == pytest.approx(expected, abs=1e-5)
    assert expected or threshold == 1.0


def test_a_threshold_of_zero_reports_all_spans() -> None:
    n_spans = sum(n * (n + 1) // 2 for n in LENGTHS)
    reported = found(build(), torch.zeros(N_LABELS), batch_of())
    assert len(reported) == n_spans * N_LABELS
