"""The paper's equations, written out with loops, against the settings for them."""

import math
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_spanner.evaluation.scorer import calibration_error, reliability_table
from spacy_spanner.models.biaffine.codec import BiaffineCodec
from spacy_spanner.models.biaffine.module import BiaffineModule, BiaffineSettings
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.spans.geometry import enumerate_spans
from spacy_spanner.spans.table import SpanTable

WIDTH, LABEL, TOKEN = 4, 2, 5
Row = Tuple[int, int, int]  # start, end, label


def paper_module() -> BiaffineModule:
    torch.manual_seed(0)
    settings = BiaffineSettings(
        lstm_width=6,
        hidden_width=5,
        width_embedding=3,
        n_widths=3,
        dropout=0.0,
        input_dropout=0.0,
    )
    module = BiaffineModule(WIDTH, LABEL, settings).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def batch_of(length: int = TOKEN) -> WindowBatch:
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(1, length, WIDTH, generator=generator, dtype=torch.float64)
    return WindowBatch(vectors, np.asarray([length]))


def spans_of(length: int) -> List[Tuple[int, int]]:
    return [(i, j) for i in range(length) for j in range(i, length)]


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))


def plain_scores(module: BiaffineModule, batch: WindowBatch) -> Tensor:
    """h = FFN(x), r = h^s U h^e + W [h^s; h^e; w] + b, span by span."""
    read = module.lstm.lstm(batch.vectors)[0][0]
    start, last = (
        [gelu(ffn.linear.weight @ x + ffn.linear.bias) for x in read]
        for ffn in (module.start, module.last)
    )
    weight = module.biaffine.weight
    linear = torch.cat(
        [weight[:, :-1, -1], weight[:, -1, :-1], module.width_scores.weight], dim=1
    )
    rows = []
    for i, j in spans_of(len(read)):
        width = module.width_embedding.weight[min(j - i, 2)]
        product = torch.stack([start[i] @ u @ last[j] for u in weight[:, :-1, :-1]])
        joined = torch.cat([start[i], last[j], width])
        rows.append(product + linear @ joined + weight[:, -1, -1])
    return torch.stack(rows)


def test_equations_1_to_3_scores_of_spans() -> None:
    module, batch = paper_module(), batch_of()
    cells = [torch.as_tensor(column) for column in enumerate_spans(batch.lengths)]
    fast, plain = module(batch, *cells), plain_scores(module, batch)
    torch.testing.assert_close(fast, plain)
    weights = torch.randn(fast.shape, dtype=torch.float64)
    wanted = list(module.parameters())
    for one, two in zip(
        torch.autograd.grad((fast * weights).sum(), wanted),
        torch.autograd.grad((plain * weights).sum(), wanted),
    ):
        torch.testing.assert_close(one, two)


# ------------------------------------------------------------------- smoothing


def plain_targets(
    gold: List[Row], length: int, epsilon: float, distance: int
) -> Dict[Tuple[int, int], List[float]]:
    """The probability of each class for each span: the gold span keeps 1 - ε; the spans
    at each distance d = 1..D share ε / D; what is impossible returns; what exceeds 1 is
    scaled; the rest is "no entity".
    """
    mass = {span: [0.0] * (LABEL + 1) for span in spans_of(length)}
    for start, end, label in gold:
        mass[start, end - 1][label + 1] += 1 - epsilon
        for d in range(1, distance + 1):
            around = [
                (i, j)
                for i in range(start - d, start + d + 1)
                for j in range(end - 1 - d, end + d)
                if abs(i - start) + abs(j - end + 1) == d
            ]
            for i, j in around:
                at = (i, j) if (i, j) in mass else (start, end - 1)
                mass[at][label + 1] += epsilon / distance / len(around)
    for classes in mass.values():
        total = max(sum(classes), 1.0)
        classes[:] = [share / total for share in classes]
        classes[0] = 1 - sum(classes)
    return mass


def plain_loss(scores: Tensor, targets: List[List[float]]) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for row, shares in zip(scores, targets):
        normalizer = row.exp().sum().log()
        for score, share in zip(row, shares):
            total = total - share * (score - normalizer)
    return total


@pytest.mark.parametrize(
    "epsilon,distance", [(0.0, 1), (0.1, 1), (0.2, 1), (0.3, 1), (0.1, 2), (0.3, 2)]
)
def test_section_3_2_cross_entropy_with_boundary_smoothing(
    epsilon: float, distance: int
) -> None:
    module, batch = paper_module(), batch_of()
    gold: List[Row] = [(0, 1, 0), (1, 3, 1), (1, 4, 0), (4, 5, 1)]
    codec = BiaffineCodec(boundary_smoothing=epsilon, smoothing_distance=distance)
    targets = codec.targets(
        [SpanTable.of(gold)], batch.lengths, rng=np.random.default_rng(0)
    )
    loss = codec.loss(module, batch, targets)
    shares = plain_targets(gold, TOKEN, epsilon, distance)
    plain = plain_loss(plain_scores(module, batch), list(shares.values()))
    torch.testing.assert_close(loss, plain, rtol=1e-6, atol=1e-6)
    wanted = list(module.parameters())
    for one, two in zip(
        torch.autograd.grad(loss, wanted), torch.autograd.grad(plain, wanted)
    ):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3])
def test_section_4_4_cross_entropy_with_label_smoothing(alpha: float) -> None:
    module, batch = paper_module(), batch_of()
    gold: List[Row] = [(0, 2, 0), (3, 4, 1)]
    codec = BiaffineCodec(boundary_smoothing=0.0, label_smoothing=alpha)
    targets = codec.targets(
        [SpanTable.of(gold)], batch.lengths, rng=np.random.default_rng(0)
    )
    shares = [
        [(1 - alpha) * share + alpha / (LABEL + 1) for share in classes]
        for classes in plain_targets(gold, TOKEN, 0.0, 1).values()
    ]
    plain = plain_loss(plain_scores(module, batch), shares)
    torch.testing.assert_close(codec.loss(module, batch, targets), plain)


# ------------------------------------------------------ decision and calibration


class Given(torch.nn.Module):
    """A module with given scores."""

    def __init__(self, probabilities: List[List[float]]) -> None:
        super().__init__()
        self.scores = torch.tensor(probabilities).log()

    def forward(self, batch: WindowBatch, *columns: Any, **kwargs: Any) -> Tensor:
        return self.scores


def found(decision: str, threshold: float, multilabel: bool = False) -> List[Row]:
    rows = [[0.5, 0.4, 0.1], [0.3, 0.3, 0.4], [0.2, 0.45, 0.35]]
    codec = BiaffineCodec(decision=decision, multilabel=multilabel)
    lowest = torch.full((LABEL,), threshold)
    given = codec.candidates(Given(rows), batch_of(2), lowest)
    columns = (given.start, given.end, given.label)
    return list(zip(*(column.tolist() for column in columns)))  # type: ignore[arg-type]


def test_section_3_1_the_most_probable_class_decides() -> None:
    # Spans (0, 0), (0, 1), (1, 1); the first is most probably no entity.
    assert found("argmax", 0.0) == [(0, 2, 1), (1, 2, 0)]
    assert found("argmax", 0.42) == [(1, 2, 0)]
    assert found("threshold", 0.38) == [(0, 1, 0), (0, 2, 1), (1, 2, 0)]


def test_argmax_of_several_labels_compares_each_with_no_entity() -> None:
    expected = [(0, 2, 0), (0, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert found("argmax", 0.0, multilabel=True) == expected


def test_section_5_1_calibration_error_over_ten_bins() -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 101, size=200) / 100  # many on the limits
    correct = generator.random(200) < scores
    expected = 0.0
    for k in range(1, 11):
        # The first bin also has the scores of 0.
        inside = [
            row
            for row, score in enumerate(scores)
            if max(1, math.ceil(round(10 * score, 6))) == k
        ]
        if inside:
            accuracy = sum(correct[row] for row in inside) / len(inside)
            confidence = sum(scores[row] for row in inside) / len(inside)
            expected += len(inside) / len(scores) * abs(accuracy - confidence)
    table = reliability_table(scores.astype("f"), correct.astype("f"))
    assert calibration_error(table) == pytest.approx(expected, abs=1e-6)
