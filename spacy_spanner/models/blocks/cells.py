"""The spans of a batch as tensors, listed where the scores will be."""

from typing import List, Optional

import torch
from torch import Tensor

from ...spans.geometry import SpanCells, enumerate_spans
from ..codec import WindowBatch
from .padded_rows import to_device


def span_columns(
    batch: WindowBatch,
    max_width: Optional[int] = None,
    listed: Optional[SpanCells] = None,
) -> List[Tensor]:
    """List every span of every window, as `spans.geometry.enumerate_spans` does. There
    are far more of them than tokens, so a GPU lists them itself.

    max_width (Optional[int]): leave out spans of more tokens.
    listed (Optional[SpanCells]): these spans, if the host has listed them.
    RETURNS (List[Tensor]): window, start and last. Shapes: (cell,)
    """
    if not batch.vectors.is_cpu:
        return list_on_device(batch, max_width)
    cells = enumerate_spans(batch.lengths, max_width) if listed is None else listed
    return to_device(cells, batch.vectors.device)


def list_on_device(batch: WindowBatch, max_width: Optional[int]) -> List[Tensor]:
    """List spans without copying and without waiting; see `span_columns`."""
    lengths, device = batch.sizes, batch.vectors.device
    longest = batch.vectors.shape[1]
    widest = longest if max_width is None else min(max_width, longest)
    n_tokens = int(batch.lengths.sum())
    # The number of cells, known on the host: those of all widths up to the widest.
    shorter = batch.lengths.clip(max=widest)
    n_cells = int((shorter * batch.lengths - shorter * (shorter - 1) // 2).sum())
    windows = torch.arange(len(batch.lengths), device=device)
    window = windows.repeat_interleave(lengths, output_size=n_tokens)
    start = torch.arange(n_tokens, device=device)
    start = start - (lengths.cumsum(0) - lengths).index_select(0, window)
    counts = (lengths.index_select(0, window) - start).clamp(max=widest)
    token = torch.arange(n_tokens, device=device)
    token = token.repeat_interleave(counts, output_size=n_cells)
    # How far a cell is from the first of its token.
    first = (counts.cumsum(0) - counts).index_select(0, token)
    further = torch.arange(n_cells, device=device) - first
    start = start.index_select(0, token)
    return [window.index_select(0, token), start, start + further]
