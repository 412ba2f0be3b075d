"""The paper's equations, written out with loops, against the settings that have them.

The numbers are those of the paper; equations that the code never evaluates on their own
are tested inside the loss (Sections 3.5 and 3.6).
"""

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.locate_label import soft_nms as module_of_nms
from spacy_spanner.models.locate_label.boundaries import adjust
from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.models.locate_label.losses import regression_loss, soft_weights
from spacy_spanner.models.locate_label.module import (
    LocateLabelModule,
    LocateLabelSettings,
    SpanMLP,
    Spans,
)
from spacy_spanner.models.locate_label.soft_nms import queued_soft_nms, soft_nms
from spacy_spanner.spans.table import SpanTable

WIDTH, TOKEN, LABEL = 4, 6, 2
PAPER: Dict[str, Any] = {
    "window_sizes": [1, 2, 4],
    "all_seeds": False,
    "soft_examples": 1.0,
    "negatives": 5,
    "extra_negatives": 0,
    "nearest_seeds": False,
    "weigh_offsets": False,
    "filter_in_training": False,
    "learn_once": False,
    "decision": "argmax",
    "nms_queue": True,
}
Row = Tuple[int, int, int, float]  # start, end, label, score


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def paper_module() -> LocateLabelModule:
    torch.manual_seed(0)
    settings = LocateLabelSettings(
        lstm_width=0, hidden_width=5, dropout=0.0, input_dropout=0.0
    )
    module = LocateLabelModule(WIDTH, LABEL, settings).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module


def batch_of(length: int = TOKEN) -> WindowBatch:
    return WindowBatch(draw(1, length, WIDTH), np.asarray([length]))


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))


def mlp(network: SpanMLP, pooled: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """One hidden layer on the concatenation of the three vectors."""
    maps = (network.pooled, network.left, network.right)
    weight = torch.cat([layer.weight for layer in maps], dim=1)
    hidden = gelu(weight @ torch.cat([pooled, left, right]) + network.pooled.bias)
    return network.output.weight @ hidden + network.output.bias


class Plain:
    """Filter, regressor and classifier of one window, span by span."""

    def __init__(self, module: LocateLabelModule, vectors: Tensor) -> None:
        self.module, self.vectors = module, vectors

    def inside(self, network: SpanMLP, start: int, last: int) -> Tensor:
        pooled = self.vectors[start : last + 1].amax(dim=0)
        return mlp(network, pooled, self.vectors[start], self.vectors[last])

    def filter(self, start: int, last: int) -> Tensor:
        return 1 / (1 + (-self.inside(self.module.filter_mlp, start, last)[0]).exp())

    def classes(self, start: int, last: int) -> Tensor:
        scores = self.inside(self.module.class_mlp, start, last).exp()
        return scores / scores.sum()

    def offsets(self, start: int, last: int) -> Tensor:
        before, after = self.module.edges
        left = self.vectors[start - 1] if start else before
        is_last = last + 1 == len(self.vectors)
        right = after if is_last else self.vectors[last + 1]
        pooled = self.vectors[start : last + 1].amax(dim=0)
        return mlp(self.module.offset_mlp, pooled, left, right)


def all_spans() -> List[Tuple[int, int]]:
    return [(i, j) for i in range(TOKEN) for j in range(i, TOKEN)]


def columns_of(spans: List[Tuple[int, int]]) -> Spans:
    rows = [(0, start, last) for start, last in spans]
    return Spans(*torch.tensor(rows).T)


def test_sections_3_2_to_3_4_filter_regressor_and_classifier() -> None:
    module, batch = paper_module(), batch_of()
    reader, plain = module(batch), Plain(module, batch.vectors[0])
    spans = columns_of(all_spans())
    for fast, slow in (
        (reader.filter(spans).sigmoid(), plain.filter),
        (reader.regress(spans), plain.offsets),
        (reader.classify(spans).softmax(dim=-1), plain.classes),
    ):
        expected = torch.stack([slow(*span) for span in all_spans()])
        torch.testing.assert_close(fast, expected)


def moved(
    start: int, last: int, offsets: Tensor, length: int = TOKEN
) -> Tuple[int, int]:
    """Equation 8, with the old span where the new one would be empty."""
    first = max(0, start + int((offsets[0] + 0.5).floor()))
    end = min(length - 1, last + int((offsets[1] + 0.5).floor()))
    return (first, end) if first <= end else (start, last)


def test_equation_8_boundaries_move_by_rounded_offsets() -> None:
    spans = all_spans()
    offsets = 2 * draw(len(spans), 2)
    adjusted = adjust(columns_of(spans), offsets, torch.tensor([TOKEN]))
    found = list(zip(adjusted.start.tolist(), adjusted.last.tolist()))
    assert found == [moved(*span, row) for span, row in zip(spans, offsets)]


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_equation_11_weights_of_soft_examples(eta: float) -> None:
    iou = torch.tensor([1.0, 0.8, 0.6, 0.2, 0.0])
    positive = torch.tensor([True, True, False, False, False])
    expected = [
        fit**eta if is_entity else (1 - fit) ** eta
        for fit, is_entity in zip(iou.tolist(), positive.tolist())
    ]
    assert soft_weights(iou, positive, eta).tolist() == pytest.approx(expected)


def offset_loss(start: float, end: float, gold: Tuple[int, int], t: Tensor) -> Tensor:
    """Smooth L1 of both offsets (Equation 14), and 1 - overlap (Equation 15)."""
    total = torch.zeros((), dtype=torch.float64)
    for offset, right in zip(t, (gold[0] - start, gold[1] - end)):
        gap = (offset - right).abs()
        total = total + (0.5 * gap**2 if gap < 1 else gap - 0.5)
    moved_start, moved_end = start + t[0], end + t[1]
    shared = min(moved_end, torch.tensor(gold[1])) - max(
        moved_start, torch.tensor(gold[0])
    )
    hull = max(moved_end, torch.tensor(gold[1])) - min(
        moved_start, torch.tensor(gold[0])
    )
    return total + 1 - shared / max(hull, torch.tensor(1.0))


def test_equations_14_and_15_have_no_weights() -> None:
    seeds, gold = [(0, 2), (1, 4), (3, 3)], [(0, 2), (1, 6), (2, 5)]
    offsets = draw(3, 2).requires_grad_()
    start, end = torch.tensor(gold).T
    loss = regression_loss(columns_of(seeds), offsets, start, end, torch.ones(3))
    plain = torch.stack(
        [
            offset_loss(first, last + 1, span, t)
            for (first, last), span, t in zip(seeds, gold, offsets)
        ]
    ).sum()
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(
        torch.autograd.grad(loss, offsets), torch.autograd.grad(plain, offsets)
    )


def fit(one: Tuple[int, int], two: Tuple[int, int]) -> float:
    """Intersection over union of spans with exclusive ends."""
    shared = max(0, min(one[1], two[1]) - max(one[0], two[0]))
    return shared / (max(one[1], two[1]) - min(one[0], two[0]))


def paper_loss(plain: Plain, gold: List[Tuple[int, int, int]], targets: Any) -> Tensor:
    """Section 3.5: λ1 focal filter loss + λ2 regression + λ3 classification, over the
    seeds of training: all pass on to the second stage, as often as they occur.
    """
    total = torch.zeros((), dtype=torch.float64)
    for start, last in zip(targets.seeds.start, targets.seeds.last):
        fits = [fit((start, last + 1), span[:2]) for span in gold]
        best = int(np.argmax(fits))
        is_positive = fits[best] >= 0.7
        weight = fits[best] if is_positive else 1 - fits[best]
        p = plain.filter(start, last)
        p = p if is_positive else 1 - p
        total = total - weight * (1 - p) ** 2 * p.log()
        t = plain.offsets(start, last)
        if is_positive:
            total = total + 0.1 * offset_loss(start, last + 1, gold[best][:2], t)
        start, last = moved(start, last, t)
        fits = [fit((start, last + 1), span[:2]) for span in gold]
        best = int(np.argmax(fits))
        is_entity = fits[best] >= 1.0
        weight = fits[best] if is_entity else 1 - fits[best]
        p = plain.classes(start, last)[gold[best][2] + 1 if is_entity else 0]
        total = total - weight * p.log()
    return total


def test_section_3_5_loss_of_all_stages() -> None:
    module, batch = paper_module(), batch_of()
    codec = LocateLabelCodec(**PAPER)
    gold = [(0, 3, 0), (1, 3, 1), (4, 5, 1)]
    targets = codec.targets(
        [SpanTable.of(gold)], batch.lengths, rng=np.random.default_rng(0)
    )
    loss = codec.loss(module, batch, targets)
    plain = paper_loss(Plain(module, batch.vectors[0]), gold, targets)
    torch.testing.assert_close(loss, plain, rtol=1e-6, atol=1e-6)
    for one, two in zip(
        torch.autograd.grad(loss, list(module.parameters())),
        torch.autograd.grad(plain, list(module.parameters())),
    ):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


def test_section_3_5_seeds_of_training_have_five_negatives_for_each_positive() -> None:
    codec = LocateLabelCodec(**{**PAPER, "window_sizes": [1, 2, 3]})
    # Two of the seeds are entities; no other seed reaches an overlap of 0.7.
    gold = SpanTable.of([(0, 2, 0), (4, 5, 1)])
    targets = codec.targets([gold], np.asarray([20]), rng=np.random.default_rng(0))
    assert (~targets.positive).sum() == 5 * targets.positive.sum() == 10


def test_prediction_uses_the_window_sizes_of_training() -> None:
    module, batch = paper_module(), batch_of(8)
    reader = module(batch)
    codec = LocateLabelCodec(**PAPER, filter_threshold=0.0)
    cells = codec._seeds_of_prediction(batch)
    widths = (cells.last - cells.start + 1).unique()
    assert widths.tolist() == [1, 2, 4]
    kept = codec.locate(reader, cells).kept
    assert len(kept.start) == 8 + 7 + 5


# ------------------------------------------------------------------ Algorithm 1


def algorithm_1(rows: List[Row], window: List[int], k: float, u: float) -> List[float]:
    """Take the best span out of the queue, lower what is left, and repeat."""
    scores = [row[3] for row in rows]
    queue = list(range(len(rows)))

    def preference(row: int) -> Tuple[float, int, int, int]:
        return (-round(float(np.float32(scores[row])), 4), *rows[row][:3])

    while queue:
        best = min(queue, key=preference)
        queue.remove(best)
        for other in queue:
            near = window[best] == window[other]
            if near and fit(rows[best][:2], rows[other][:2]) >= k:
                scores[other] *= u
    return scores


def queued(rows: List[Row], window: List[int], k: float, u: float) -> List[float]:
    table = SpanTable.of(rows)
    columns = np.asarray(window, dtype=np.int64)
    return queued_soft_nms(table, columns, threshold=k, decay=u).tolist()


def test_algorithm_1_visits_a_lowered_span_after_those_that_are_better_now() -> None:
    # (0, 4) lowers (0, 5) below (1, 6), which then is visited first and lowers it, too.
    rows: List[Row] = [(0, 4, 0, 0.9), (0, 5, 0, 0.8), (1, 6, 0, 0.75)]
    window, k, u = [0, 0, 0], 0.6, 0.9
    expected = [0.9, 0.8 * 0.9 * 0.9, 0.75]
    np.testing.assert_allclose(queued(rows, window, k, u), expected, rtol=1e-6)
    fixed = soft_nms(SpanTable.of(rows), np.zeros(3, dtype=int), threshold=k, decay=u)
    np.testing.assert_allclose(fixed, [0.9, 0.72, 0.675], rtol=1e-6)


span_rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 7),
        st.integers(1, 6),
        st.integers(0, 1),
        st.integers(1, 99),
    ),
    max_size=14,
    unique_by=lambda row: row[:4],
)


@given(span_rows, st.sampled_from([0.3, 0.5, 0.6]), st.sampled_from([0.5, 0.8, 0.9]))
def test_algorithm_1_by_the_queue(rows: List[Tuple], k: float, u: float) -> None:
    spans: List[Row] = [
        (start, start + width, label, score / 100)
        for _, start, width, label, score in rows
    ]
    window = [row[0] for row in rows]
    np.testing.assert_allclose(
        queued(spans, window, k, u), algorithm_1(spans, window, k, u), rtol=1e-5
    )


@given(span_rows)
def test_algorithm_1_of_one_window_at_a_time_is_that_of_all(rows: List[Tuple]) -> None:
    spans: List[Row] = [(row[1], row[1] + row[2], row[3], row[4] / 100) for row in rows]
    window = [row[0] for row in rows]
    together = queued(spans, window, 0.5, 0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module_of_nms, "CELLS_AT_ONCE", 1)
        assert queued(spans, window, 0.5, 0.8) == together


@pytest.mark.parametrize("decision,expected", [("argmax", [1]), ("threshold", [0, 1])])
def test_argmax_reports_a_label_only_if_it_beats_no_entity(
    decision: str, expected: List[int]
) -> None:
    class Reader:
        lengths = torch.tensor([2])

        def classify(self, spans: Spans) -> Tensor:
            return torch.tensor([[0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]).log()

    codec = LocateLabelCodec(
        use_filter=False, use_regressor=False, window_sizes=[1], decision=decision
    )
    batch = WindowBatch(torch.zeros(1, 2, 1), np.asarray([2]))
    found = codec.candidates(lambda _: Reader(), batch, torch.tensor([0.2, 0.2]))  # type: ignore[arg-type]
    assert found.label.tolist() == expected
