"""A denoiser that knows the gold, one that has learned nothing, and their windows."""

from typing import Any, List, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.diffusion.module import (
    Denoised,
    DiffusionModule,
    DiffusionSettings,
)
from spacy_spanner.models.diffusion.noise import TokenSpans
from spacy_spanner.models.diffusion.tokens import (
    Moments,
    SpanFeatures,
    Tables,
    TokenMemory,
)

Rows = List[Tuple[int, int, int]]  # start, end, label
CERTAIN = 30.0

GOLD = {
    "none": [],
    "one": [(1, 3, 0)],
    "nested": [(0, 4, 0), (1, 3, 1), (2, 3, 0)],
    "crossing": [(0, 3, 0), (2, 5, 1)],
    "adjacent": [(0, 2, 0), (2, 4, 0), (4, 5, 1)],
    "one token": [(0, 1, 0), (3, 4, 1), (4, 5, 0)],
    "whole window": [(0, 5, 1)],
}


class Oracle(nn.Module):
    """Always returns the gold: the k-th noisy span should be the k-th gold span."""

    reads_denoised = True

    def __init__(self, gold: Sequence[Rows], n_labels: int = 2) -> None:
        super().__init__()
        self.gold, self.n_labels = gold, n_labels
        self.times: List[int] = []
        self.noisy: List[TokenSpans] = []

    def encode(self, batch: WindowBatch) -> TokenMemory:
        # What the oracle needs to know is which windows it is asked for.
        window = torch.arange(len(batch.lengths))
        nothing = SpanFeatures(window, window, 0)
        tables = Tables(window, None, None, [])
        return TokenMemory(batch.mask, nothing, None, [], window, window, tables)

    def moments(self, memory: TokenMemory, time: Tensor) -> Moments:
        return Moments(time, time, time)

    def forward(
        self, memory: TokenMemory, spans: TokenSpans, moments: Moments
    ) -> Denoised:
        self.times.append(int(moments.vector[0]))
        self.noisy.append(spans)
        start, last = (
            torch.zeros(*spans.start.shape, memory.mask.shape[1]) for _ in range(2)
        )
        for row, window in enumerate(memory.start_keys.tolist()):
            rows = self.gold[window]
            for span in range(spans.start.shape[1]) if rows else ():
                first, end, _ = rows[span % len(rows)]
                start[row, span, first] = last[row, span, end - 1] = CERTAIN
        return Denoised(memory.start_keys[:, None, None], start, last)

    def classify(self, memory: TokenMemory, state: Tensor, spans: TokenSpans) -> Tensor:
        classes = torch.zeros(*spans.start.shape, self.n_labels + 1)
        classes[:, :, 0] = CERTAIN
        for row, window in enumerate(memory.start_keys.tolist()):
            for start, end, label in self.gold[window]:
                same = (spans.start[row] == start) & (spans.last[row] == end - 1)
                classes[row, same, label + 1] = 2 * CERTAIN
        return classes


def batch_of(lengths: Sequence[int], width: int = 1) -> WindowBatch:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(len(lengths), max(lengths), width, generator=generator)
    return WindowBatch(vectors, np.asarray(lengths))


def module_of(seed: int = 0, **options: Any) -> DiffusionModule:
    sizes = {"lstm_width": 8, "hidden_width": 16, "ffn_width": 16, "n_widths": 4}
    parts = {"self_attention": True, "cross_attention": True, "n_layers": 1}
    kinds = {"pooling": "both", "pointer": "product", "classifier": "denoised"}
    rates = {"dropout": 0.0, "input_dropout": 0.0, "n_heads": 2}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        options = {**sizes, **parts, **kinds, **rates, **options}
        return DiffusionModule(6, 2, DiffusionSettings(**options))
