"""Networks that answer by heart, and what the codec makes of their answers."""

from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.models.locate_label.module import Spans
from spacy_spanner.spans.table import SpanTable

Rows = List[Tuple[int, int, int]]  # start, end, label
Cell = Tuple[int, int, int]  # window, start, last
N_LABELS = 2
YES, NO = 20.0, -20.0


class Answers(nn.Module):
    """Networks that know by heart what to say about each span.

    offsets (Dict[Cell, Tuple]): seeds that the filter keeps, and how they move.
    classes (Dict[Cell, int]): labels of spans; all others are no entities.
    """

    def __init__(
        self,
        offsets: Dict[Cell, Tuple[float, float]],
        classes: Dict[Cell, int],
        confidence: float = YES,
    ) -> None:
        super().__init__()
        self.offsets, self.classes, self.confidence = offsets, classes, confidence
        self.asked: Dict[str, List[Cell]] = {}

    def forward(self, batch: WindowBatch) -> "Answers":
        self.vectors = batch.vectors
        self.lengths = torch.as_tensor(batch.lengths)
        return self

    def look_up(self, stage: str, spans: Spans, answer: Callable) -> List:
        self.asked[stage] = list(zip(*(column.tolist() for column in spans)))
        return [answer(cell) for cell in self.asked[stage]]

    def filter(self, spans: Spans) -> Tensor:
        keep = self.look_up("filter", spans, lambda cell: cell in self.offsets)
        return torch.tensor([YES if kept else NO for kept in keep])

    def regress(self, spans: Spans) -> Tensor:
        moves = self.look_up("regress", spans, lambda c: self.offsets.get(c, (0, 0)))
        return torch.tensor(moves, dtype=torch.float32).view(-1, 2)

    def classify(self, spans: Spans) -> Tensor:
        labels = self.look_up("classify", spans, lambda c: self.classes.get(c, -1))
        scores = torch.zeros(len(labels), N_LABELS + 1)
        rows = torch.arange(len(labels))
        scores[rows, torch.tensor(labels, dtype=torch.int64) + 1] = self.confidence
        return scores


class Undecided(Answers):
    """Gives all answers the same score, and moves no span."""

    def __init__(self) -> None:
        super().__init__({}, {}, confidence=0.0)

    def filter(self, spans: Spans) -> Tensor:
        return torch.zeros(len(spans.window))


def batch_of(lengths: Sequence[int]) -> WindowBatch:
    return WindowBatch(torch.zeros(len(lengths), max(lengths), 1), np.asarray(lengths))


def targets_of(
    codec: LocateLabelCodec, gold: Sequence[Rows], lengths: Sequence[int]
) -> Any:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        rng=np.random.default_rng(0),
    )


def found(
    codec: LocateLabelCodec,
    module: nn.Module,
    lengths: Sequence[int],
    threshold: float = 0.5,
) -> List[Rows]:
    """Find the spans of each window, after Soft-NMS."""
    thresholds = torch.full((N_LABELS,), threshold)
    given = codec.candidates(module, batch_of(lengths), thresholds)
    window, start, end, label, score = (column.numpy() for column in given)
    spans = SpanTable(start, end, label, score)
    score = codec.rescore(spans, window)
    windows: List[Rows] = [[] for _ in lengths]
    for row in np.nonzero(score >= threshold)[0].tolist():
        windows[window[row]].append((start[row], end[row], label[row]))
    return [sorted(rows) for rows in windows]
