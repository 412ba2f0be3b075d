"""Find centers without the scores of all classes.

The probability of a center is at most σ(c - o), of its score c and the score o of "out
of range", whatever the scores of the offsets are. This difference is one number for
each span and type, and mostly tells that the threshold cannot be reached. The scores of
all classes are computed for the few other spans.
"""

from typing import Iterator, List, Optional, Sequence, cast

import torch
from torch import Tensor

from ..blocks.padded_rows import rows_of
from ..codec import WindowBatch
from ..scored_spans import Candidates
from .fusion import Sides, SpanTypeFusion
from .module import OffsetModule
from .offsets import CENTER, OUT_OF_RANGE

# What rounding may do to the difference of two scores.
SLACK = 1e-3
# With more candidates than this share of all spans, scoring all at once is cheaper.
LARGEST_SHARE = 1 / 32
# Candidates whose classes are scored at once, which bounds memory.
AT_ONCE = 4096


def find_centers(
    network: OffsetModule, batch: WindowBatch, thresholds: Tensor
) -> Optional[Iterator[Candidates]]:
    """Find the spans whose probability of being a center reaches the threshold.

    network (OffsetModule): the module.
    thresholds (Tensor): (label,)
    RETURNS (Optional[Iterator[Candidates]]): those of some labels at a time; None if
        the scores of all classes should be computed: if they depend on other spans or
        too many spans are candidates, or on devices on which the host would have to
        wait for the number of candidates.
    """
    if not batch.vectors.is_cpu or not bool((thresholds > 0).all()):
        return None
    sides, types = network.sides_and_types(batch)
    if not network.scores_spans_alone(types):
        return None
    fusion = cast(SpanTypeFusion, network.fusion)
    prepared = fusion.sides(*sides)
    margin = fusion.weight[CENTER] - fusion.weight[OUT_OF_RANGE]
    n_tokens = batch.vectors.shape[1]
    n_pairs = len(batch.lengths) * n_tokens**2
    at_once = max(1, (batch.max_cells or n_pairs * types.shape[1]) // n_pairs)
    by_type = fusion.contract(types, fusion.weight).unflatten(1, (types.shape[1], -1))
    # A probability may round to 1.
    floor = thresholds.clamp(max=1 - 1e-6).logit() - SLACK
    found: List[Candidates] = []
    for first in range(0, types.shape[1], at_once):
        part = slice(first, first + at_once)
        some = fusion.contract(types[:, part], margin[None])
        possible = fusion.score_grid(prepared, some) >= floor[part]
        places = possible.nonzero()
        if len(places) > LARGEST_SHARE * possible.numel():
            return None
        window, start, last, label = places.unbind(1)
        cells = _real_spans(batch, window, start, last, label + first)
        for columns in zip(*(column.split(AT_ONCE) for column in cells)):
            found.append(_score(fusion, prepared, by_type[0], columns, thresholds))
    return iter(found)


def _real_spans(batch: WindowBatch, *columns: Tensor) -> List[Tensor]:
    """RETURNS (List[Tensor]): the columns without padding and the other half of the
    grid.
    """
    window, start, last, _ = columns
    inside = (start <= last) & (last < torch.as_tensor(batch.lengths)[window])
    rows = rows_of(inside)
    return [column[rows] for column in columns]


def _score(
    fusion: SpanTypeFusion,
    sides: Sides,
    by_type: Tensor,
    columns: Sequence[Tensor],
    thresholds: Tensor,
) -> Candidates:
    """Score all classes of some spans.

    by_type (Tensor): see `SpanTypeFusion.contract`. Shape: (label, class, feature)
    columns (Sequence[Tensor]): window, start, last and label. Shapes: (span,)
    RETURNS (Candidates): those whose center reaches the threshold.
    """
    window, start, last, label = columns
    vectors = fusion.features(sides, window, start, last)
    logits = (by_type[label] @ vectors[:, :, None]).squeeze(2)  # (span, class)
    score = logits.softmax(dim=1)[:, CENTER]
    rows = rows_of(score >= thresholds[label])
    window, start, last, label, score = (x[rows] for x in (*columns, score))
    return Candidates(window, start, last + 1, label, score)
