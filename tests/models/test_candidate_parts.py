"""Candidates in parts are those of the whole batch, and parts are small."""

from typing import Any, Dict, Iterator, List

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_spanner.models.biaffine.codec import BiaffineCodec
from spacy_spanner.models.bound import keep_best_of_parts
from spacy_spanner.models.codec import SpanCodec, WindowBatch
from spacy_spanner.models.offset.codec import OffsetCodec
from spacy_spanner.models.scored_spans import Candidates

from ..helpers import SMALL_WIDTH, new_module

LENGTHS = np.asarray([9, 12, 1])
WHOLE = {"lstm_width": 4, "conv_layers": 1, "conv_types": True}
CASES = [
    pytest.param("span_biaffine", {}, BiaffineCodec(), id="softmax"),
    pytest.param("span_biaffine", {}, BiaffineCodec(multilabel=True), id="sigmoid"),
    pytest.param("span_offset", {}, OffsetCodec(), id="centers"),
    pytest.param("span_offset", {}, OffsetCodec(decoding="votes"), id="votes"),
    pytest.param(
        "span_offset", {"conv_layers": 1}, OffsetCodec(decoding="all_votes"), id="conv"
    ),
    pytest.param("span_offset", {"span_network": True}, OffsetCodec(), id="network"),
    pytest.param("span_offset", WHOLE, OffsetCodec(), id="conv over types"),
]


def module_of(factory: str, settings: Dict[str, Any]) -> Any:
    module = new_module(factory, **settings).eval()
    torch.manual_seed(0)
    for name, weight in module.named_parameters():
        if not name.startswith("lstm"):  # such that scores differ
            torch.nn.init.normal_(weight, std=0.3)
    return module


def batch_of(max_cells: int) -> WindowBatch:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(3, int(LENGTHS.max()), SMALL_WIDTH, generator=generator)
    batch = WindowBatch(vectors, LENGTHS, None, max_cells)
    return batch._replace(vectors=vectors * batch.mask[..., None])


def sorted_rows(found: Candidates) -> np.ndarray:
    columns = [column.double().numpy() for column in found]
    return np.stack(columns, axis=1)[np.lexsort(columns[3::-1])]


@pytest.mark.parametrize("factory,settings,codec", CASES)
@pytest.mark.parametrize("max_cells", [1, 300])
def test_candidate_parts_are_the_candidates(
    factory: str, settings: Dict[str, Any], codec: SpanCodec, max_cells: int
) -> None:
    module, lowest = module_of(factory, settings), torch.tensor([0.1, 0.0, 0.2])
    with torch.no_grad():
        whole = codec.candidates(module, batch_of(10**9), lowest)
        parts = list(codec.candidate_parts(module, batch_of(max_cells), lowest))
    assert len(parts) > 1 or settings is WHOLE
    found, _ = keep_best_of_parts(parts, None)
    assert len(found.score) > 50
    np.testing.assert_allclose(sorted_rows(found), sorted_rows(whole), atol=1e-6)


def test_offset_module_computes_no_more_scores_at_once_than_max_cells() -> None:
    module: Any = module_of("span_offset", {})
    sizes: List[int] = []

    def note(_: Any, inputs: Any, output: Tensor) -> None:
        sizes.append(output.numel())

    module.fusion.register_forward_hook(note)
    n_classes = module.classes.n_classes
    pairs = len(LENGTHS) * int(LENGTHS.max()) ** 2
    for n_labels in (1, 2, 3):
        sizes.clear()
        limit = n_labels * pairs * n_classes
        grids: Iterator[Tensor] = module.in_parts(batch_of(limit))
        assert sum(grid.shape[3] for grid in grids) == 3
        assert max(sizes) == limit
        assert len(sizes) == -(-3 // n_labels)
