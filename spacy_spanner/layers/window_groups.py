"""Groups of windows of similar length, cut out of the vectors of all documents."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..models.blocks.padded_rows import to_device
from ..models.codec import WindowBatch
from ..spans.table import Ints
from ..spans.windows import WindowPlan, batch_windows

# In shorter windows, tokens cost more memory than spans do.
SHORT = 16


class Source(NamedTuple):
    """The source that windows are cut out of.

    flat (Tensor): all documents concatenated, and a row of zeros. (token + 1, width)
    types (Optional[Tensor]), segment (Optional[Ints]): see `TypedVectors`.
    """

    flat: Tensor
    types: Optional[Tensor] = None
    segment: Optional[Ints] = None

    def map(self, function: Callable[[Tensor], Tensor]) -> "Source":
        """RETURNS (Source): the function's results for the tensors."""
        types = None if self.types is None else function(self.types)
        return self._replace(flat=function(self.flat), types=types)


class Group(NamedTuple):
    """Windows that are visited at once, with what the device needs to know of them.

    windows (Ints): their numbers. Shape: (batch,)
    lengths (Ints): their tokens. Shape: (batch,)
    rows (Tensor): the row of each padded token in the source. Shape: (batch, token)
    sizes, numbers (Tensor): lengths and windows, on the device. Shape: (batch,)
    segment (Optional[Tensor]): where the vectors of their labels are. Shape: (batch,)
    """

    windows: Ints
    lengths: Ints
    rows: Tensor
    sizes: Tensor
    numbers: Tensor
    segment: Optional[Tensor]


def plan_groups(
    source: Source,
    plan: WindowPlan,
    max_cells: int,
    cells: Callable[[int], int],
    max_tokens: Optional[int] = None,
    extra: Sequence[NDArray] = (),
) -> Tuple[List[Group], List[Tensor]]:
    """Group the windows, and copy what the device needs to know of all groups at once.

    max_cells (int): limit of the cells of a group.
    cells (Callable): the cells of a window of so many tokens.
    max_tokens (Optional[int]): limit of padded tokens in a group.
    extra (Sequence[NDArray]): what else to copy.
    RETURNS (Tuple[List[Group], List[Tensor]]): the groups, and the copies of `extra`.
    """
    groups = batch_windows(
        plan.lengths, max_cells, cells=cells, shortest=SHORT, max_tokens=max_tokens
    )
    columns: List[NDArray] = []
    for group in groups:
        first, lengths = plan.flat_start[group], plan.lengths[group]
        position = np.arange(int(lengths.max()))
        index = first[:, None] + position  # (batch, token)
        # Positions after a window's end read the row of zeros.
        index[position >= lengths[:, None]] = source.flat.shape[0] - 1
        segments = [] if source.segment is None else [source.segment[first]]
        columns += [index, lengths, group, *segments]
    there = to_device([*columns, *extra], source.flat.device)
    size = len(columns) // max(1, len(groups))
    made = []
    for place, group in enumerate(groups):
        rows, sizes, numbers, *rest = there[place * size : (place + 1) * size]
        segment = rest[0] if rest else None
        lengths = plan.lengths[group]
        made.append(Group(group, lengths, rows, sizes, numbers, segment))
    return made, there[len(columns) :]


def read_group(source: Source, group: Group, max_cells: int) -> WindowBatch:
    """RETURNS (WindowBatch): the padded vectors of a group, and those of its labels."""
    # Not indexing, whose backward pass sorts.
    vectors = source.flat.index_select(0, group.rows.flatten())
    types = None
    if source.types is not None and group.segment is not None:
        types = source.types.index_select(0, group.segment)
    vectors = vectors.view(*group.rows.shape, -1)
    lengths, sizes = group.lengths, group.sizes
    return WindowBatch(vectors, lengths, types, max_cells, on_device=sizes)
