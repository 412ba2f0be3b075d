"""A head with known answers, and tasks for it."""

from typing import Any, List, Sequence

import numpy as np
import torch
from thinc.api import Model
from torch import Tensor, nn

from spacy_spanner.layers.head_work import HeadGold, HeadWork
from spacy_spanner.layers.torch_head import build_torch_head, get_shim
from spacy_spanner.models.codec import SpanCodec, WindowBatch
from spacy_spanner.models.scored_spans import Candidates
from spacy_spanner.spans.table import Bools, Floats, Ints, SpanTable
from spacy_spanner.spans.windows import WindowPlan, plan_windows

WIDTH = 3


class TokenCodec:
    """Label single tokens, each label by its own sigmoid."""

    def learnable(self, spans: SpanTable) -> Bools:
        return spans.end - spans.start == 1

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, **_: Any
    ) -> List[SpanTable]:
        return list(gold)

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        logits = module(batch.vectors)  # (batch, token, label)
        loss = nn.functional.softplus(logits[batch.mask]).sum()
        for window, spans in enumerate(targets):
            loss = loss - logits[window, spans.start, spans.label].sum()
        return loss

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        scores = module(batch.vectors).sigmoid()
        found = (scores >= thresholds) & batch.mask[..., None]
        window, start, label = found.nonzero(as_tuple=True)
        return Candidates(window, start, start + 1, label, scores[found])

    candidate_parts = SpanCodec.candidate_parts
    cells = SpanCodec.cells

    def rescore(self, spans: SpanTable, window: Ints) -> Floats:
        return spans.score


def head_of(n_labels: int = WIDTH) -> Model:
    """Build a head whose logit of a label is one value of the vector."""
    head = build_torch_head(nn.Linear)
    head.set_dim("nI", WIDTH)
    head.set_dim("nO", n_labels)
    head.initialize()
    with torch.no_grad():
        module = get_shim(head).module
        module.weight.copy_(torch.eye(n_labels, WIDTH))
        module.bias.zero_()
    return head


def plan_of(lengths: Sequence[int], **settings: Any) -> WindowPlan:
    defaults = {"mode": "doc", "max_window": 100, "stride": 0}
    return plan_windows(lengths, [None] * len(lengths), **{**defaults, **settings})


def work_of(
    plan: WindowPlan, codec: Any = None, max_cells: int = 1000, **limits: Any
) -> HeadWork:
    return HeadWork(codec or TokenCodec(), plan, max_cells, **limits)


def gold_of(spans: Sequence[SpanTable]) -> HeadGold:
    return HeadGold(list(spans), np.random.default_rng(0), len(spans))


def find(
    head: Model, vectors: List[np.ndarray], work: HeadWork, thresholds: Any = None
) -> SpanTable:
    """Let a head predict, by default what it finds more likely than not."""
    lowest = np.full(WIDTH, 0.5, dtype="f") if thresholds is None else thresholds
    return head.predict((vectors, work, lowest))


def vectors_of(*lengths: int) -> List[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=(length, WIDTH)).astype("f") for length in lengths]
