"""What the head of a span model visits, and what it learns from."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from ..models.codec import SpanCodec
from ..spans.missing import Marks, missing_rates
from ..spans.table import Floats, Ints, SpanTable
from ..spans.windows import WindowPlan


class HeadWork(NamedTuple):
    """Which windows a head visits, and with which model.

    codec (SpanCodec): the model's mathematics and settings.
    plan (WindowPlan): the windows of a batch of documents.
    max_cells (Union[int, str]): limit of the cells that are visited at once, see
        `SpanCodec.cells`, or "auto".
    max_candidates (Optional[int]): candidates of a window that prediction keeps; all if
        None.
    report_cut (Callable): called if a window had more.
    r_drop (float): in training, the weight of how far two passes disagree; 0 for a
        single pass.
    """

    codec: SpanCodec
    plan: WindowPlan
    max_cells: Union[int, str]
    max_candidates: Optional[int] = None
    report_cut: Callable[[], None] = lambda: None
    r_drop: float = 0.0


class HeadGold(NamedTuple):
    """What a head learns from.

    spans (List[SpanTable]): the gold of each window.
    rng (Generator): source of sampling for the targets.
    n_windows (int): the loss is a mean over this many windows. More than those of the
        plan if the batch is shared with other processes.
    marks (Sequence[Marks]): what is known about each window besides its gold; empty if
        the annotation of all is complete.
    overlap (str): which entities may exist together.
    """

    spans: List[SpanTable]
    rng: np.random.Generator
    n_windows: int
    marks: Sequence[Marks] = ()
    overlap: str = "any"

    def of(self, group: Ints) -> List[SpanTable]:
        """RETURNS (List[SpanTable]): the gold of some windows."""
        return [self.spans[window] for window in group.tolist()]

    def missing_rates(
        self, group: Ints, lengths: Ints, n_labels: int
    ) -> Optional[Floats]:
        """RETURNS (Optional[Floats]): see `spans.missing`, for some windows."""
        if not self.marks:
            return None
        marks = [self.marks[window] for window in group.tolist()]
        return missing_rates(marks, self.of(group), lengths, n_labels, self.overlap)
