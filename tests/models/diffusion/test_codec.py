"""The diffusion codec: loss and candidates."""

import warnings
from typing import Any, List, Sequence, Tuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from spacy_spanner.codec import WindowBatch
from spacy_spanner.models.diffusion import codec as codec_module
from spacy_spanner.models.diffusion.codec import DiffusionCodec
from spacy_spanner.models.diffusion.module import Denoised, DiffusionModule
from spacy_spanner.models.diffusion.noise import TokenSpans
from spacy_spanner.models.diffusion.tokens import (
    Moments,
    SpanFeatures,
    Tables,
    TokenMemory,
)
from spacy_spanner.types import SpanTable

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
        tables = Tables(window, window, [])
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


def found(
    codec: DiffusionCodec,
    module: nn.Module,
    lengths: Sequence[int],
    thresholds: Sequence[float] = (0.5, 0.5),
) -> List[Rows]:
    """Candidates by window, in the order of gold."""
    given = codec.candidates(module, batch_of(lengths), torch.tensor(thresholds))
    windows: List[Rows] = [[] for _ in lengths]
    for window, *span in zip(*(column.tolist() for column in given[:4])):
        windows[window].append(tuple(span))
    assert ((given.score >= 0) & (given.score <= 1)).all()
    return [sorted(rows) for rows in windows]


# ------------------------------------------------------------------ prediction


@pytest.mark.parametrize("score", ["class", "mean"])
@pytest.mark.parametrize("steps", [1, 2, 5, 10])
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_candidates_of_a_perfect_denoiser_are_the_gold(
    rows: Rows, steps: int, score: str
) -> None:
    codec = DiffusionCodec(steps, spans=max(len(rows), 1), score=score)
    assert found(codec, Oracle([rows]), [5], [0.7, 0.7]) == [sorted(rows)]


spans_of_six = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1)).map(
    lambda row: (min(row[:2]), max(row[:2]) + 1, row[2])
)
distinct = st.lists(spans_of_six, max_size=8, unique_by=lambda row: row[:2])


@given(
    gold=st.lists(distinct, min_size=1, max_size=3),
    steps=st.integers(1, 12),
    more=st.integers(0, 9),
    schedule=st.sampled_from(["cosine", "linear"]),
    eta=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=40, deadline=None)
def test_candidates_of_a_perfect_denoiser_are_the_gold_for_every_setting(
    gold: List[Rows], steps: int, more: int, schedule: str, eta: float
) -> None:
    n_spans = max(1, *map(len, gold)) + more
    codec = DiffusionCodec(steps, n_spans, eta, schedule=schedule)
    expected = [sorted(rows) for rows in gold]
    assert found(codec, Oracle(gold), [6] * len(gold)) == expected


def test_candidates_visit_the_timesteps_from_noise_to_clean() -> None:
    oracle = Oracle([[]])
    found(DiffusionCodec(steps=4, timesteps=100), oracle, [3])
    assert oracle.times == [99, 74, 49, 24]


def test_candidates_of_many_windows_are_denoised_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codec_module, "SPANS_AT_ONCE", 6)
    gold: List[Rows] = [[(0, 1, 0)], [], [(1, 3, 1)], [(0, 3, 0), (2, 3, 1)], []]
    oracle = Oracle(gold)
    assert found(DiffusionCodec(steps=1, spans=3), oracle, [3] * 5) == gold
    assert len(oracle.times) == 3  # two windows at once


def test_candidates_obey_the_threshold_of_each_label() -> None:
    oracle = Oracle([[(0, 1, 0), (1, 2, 1)]])
    assert found(DiffusionCodec(), oracle, [3], [2.0, 0.5]) == [[(1, 2, 1)]]


def test_candidates_with_threshold_zero_report_each_span_once() -> None:
    (rows,) = found(DiffusionCodec(spans=4), Oracle([[]]), [1], [0.0, 0.0])
    assert rows == [(0, 1, 0)]


def module_of(seed: int = 0, **options: Any) -> DiffusionModule:
    sizes = {"lstm_width": 8, "hidden_width": 16, "ffn_width": 16, "n_widths": 4}
    parts = {"self_attention": True, "cross_attention": True, "n_layers": 1}
    kinds = {"pooling": "both", "pointer": "product", "classifier": "denoised"}
    rates = {"dropout": 0.0, "input_dropout": 0.0, "n_heads": 2}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DiffusionModule(6, 2, **{**sizes, **parts, **kinds, **rates, **options})  # type: ignore[arg-type]


def raw_candidates(codec: DiffusionCodec, lengths: Sequence[int]) -> List[Any]:
    module = module_of().eval()
    with torch.inference_mode():
        given = codec.candidates(module, batch_of(lengths, 6), torch.zeros(2))
    return [column.tolist() for column in given]


def test_candidates_neither_read_nor_write_the_global_random_state() -> None:
    codec = DiffusionCodec(spans=7)
    torch.manual_seed(1)
    np.random.seed(1)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1]
    first = raw_candidates(codec, [4, 3])
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)
    torch.manual_seed(2)
    assert raw_candidates(codec, [4, 3]) == first


@pytest.mark.parametrize("self_attention", [False, True])
def test_candidates_have_the_scores_of_their_spans_alone(self_attention: bool) -> None:
    module = module_of(self_attention=self_attention).eval()
    lengths, codec = [5, 2, 4], DiffusionCodec(spans=7, steps=3)
    batch = batch_of(lengths, 6)
    with torch.inference_mode():
        given = codec.candidates(module, batch, torch.zeros(2))
        memory = module.encode(batch)
        spans = zip(given.window, given.start, given.end)
        for number, (window, start, end) in enumerate(spans):
            at = TokenSpans(start.view(1, 1), end.view(1, 1) - 1)
            own = memory.take(slice(int(window), int(window) + 1))
            classes = module.classify(own, None, at)[0, 0].softmax(dim=0)
            label = given.label[number]
            assert given.score[number].item() == pytest.approx(
                classes[label + 1].item(), abs=1e-6
            )
    keys = list(zip(*(column.tolist() for column in given[:3])))
    assert len(keys) == len(set(keys)) > len(lengths)


def test_candidates_depend_on_the_seed() -> None:
    def noise_of(seed: int) -> List[int]:
        oracle = Oracle([[]])
        found(DiffusionCodec(seed=seed), oracle, [99])
        return oracle.noisy[0].start[0].tolist()

    assert noise_of(0) == noise_of(0) != noise_of(1)


def test_candidates_of_more_spans_begin_with_the_same_noise() -> None:
    few, many = Oracle([[]]), Oracle([[]])
    found(DiffusionCodec(spans=3), few, [99])
    found(DiffusionCodec(spans=8), many, [99])
    assert torch.equal(few.noisy[0].last, many.noisy[0].last[:, :3])


def test_candidates_of_a_denoiser_that_is_right_come_closer_to_the_truth() -> None:
    oracle = Oracle([[(40, 45, 0)]])
    found(DiffusionCodec(), oracle, [99])
    distance = [
        (spans.start - 40).abs().float().mean().item() for spans in oracle.noisy
    ]
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] < distance[0] / 2


# -------------------------------------------------------------------- training


def targets_of(
    codec: DiffusionCodec, gold: Sequence[Rows], lengths: Sequence[int], seed: int = 0
) -> Any:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        n_labels=2,
        rng=np.random.default_rng(seed),
    )


def loss_of(codec: DiffusionCodec, module: nn.Module, gold: Sequence[Rows]) -> Tensor:
    lengths = [5] * len(gold)
    targets = targets_of(codec, gold, lengths)
    return codec.loss(module, batch_of(lengths, 6), targets)


@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_loss_of_a_perfect_denoiser_is_next_to_nothing(rows: Rows) -> None:
    codec = DiffusionCodec(train_spans=12, repeats=None)
    assert loss_of(codec, Oracle([rows]), [rows]).item() < 1e-4


@pytest.mark.parametrize("pointer_loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("classifier", ["denoised", "noisy"])
@pytest.mark.parametrize("draws", [1, 3])
def test_loss_is_finite_and_teaches_with_and_without_gold(
    draws: int, classifier: str, pointer_loss: str
) -> None:
    codec = DiffusionCodec(draws=draws, train_spans=6, pointer_loss=pointer_loss)
    for gold in ([GOLD["nested"], [], GOLD["crossing"]], [[], []]):
        module = module_of(classifier=classifier)
        loss = loss_of(codec, module, gold)
        assert torch.isfinite(loss) and loss > 0
        loss.backward()
        output = module.classifier.output[-1]
        assert output.weight.grad is not None and output.weight.grad.any()


def test_loss_of_a_window_without_gold_teaches_no_entity_only() -> None:
    module = module_of()
    loss_of(DiffusionCodec(train_spans=6), module, [[]]).backward()
    bias = module.classifier.output[-1].bias.grad
    assert bias is not None and bias[0] < 0 and (bias[1:] > 0).all()
    assert module.start.query.weight.grad is None or not (
        module.start.query.weight.grad.any()
    )


def test_loss_with_no_entity_weight_of_zero_ignores_windows_without_gold() -> None:
    codec = DiffusionCodec(train_spans=6, no_entity_weight=0.0)
    assert loss_of(codec, module_of(), [[]]).item() == 0.0


def test_loss_of_windows_is_the_sum_over_windows() -> None:
    codec = DiffusionCodec(train_spans=6, draws=2)
    gold, lengths = [GOLD["nested"], [], GOLD["crossing"]], [4, 2, 5]
    batch, module = batch_of(lengths, 6), module_of().eval()
    targets = targets_of(codec, gold, lengths)
    together = codec.loss(module, batch, targets)
    alone = []
    for row, length in enumerate(lengths):
        own = slice(2 * row, 2 * row + 2)
        part = targets._replace(
            gold=type(targets.gold)(*(column[own] for column in targets.gold)),
            **{name: getattr(targets, name)[own] for name in targets._fields[1:]},
        )
        window = WindowBatch(batch.vectors[[row], :length], np.asarray([length]))
        alone.append(codec.loss(module, window, part).item())
    assert together.item() == pytest.approx(sum(alone), rel=1e-5)


def test_loss_of_draws_is_their_mean() -> None:
    gold = [GOLD["nested"]]
    single = [
        loss_of(DiffusionCodec(train_spans=6, draws=n), module_of().eval(), gold).item()
        for n in (1, 20)
    ]
    assert single[1] == pytest.approx(single[0], rel=0.5)


def test_targets_leave_out_second_labels_of_a_span() -> None:
    codec = DiffusionCodec()
    rows: Rows = [(0, 2, 0), (0, 2, 1), (1, 2, 1)]
    (lost,) = codec.lost(SpanTable.of(rows)).values()
    assert lost.tolist() == [False, True, False]
    assert targets_of(codec, [rows], [3]).gold.numbers.tolist() == [2]


def test_targets_warn_once_of_windows_with_more_gold_than_spans() -> None:
    codec_module._warn_of_few_spans.cache_clear()
    many: Rows = [(i, i + 1, 0) for i in range(5)]
    with pytest.warns(UserWarning, match="SW040.* 4 spans"):
        targets_of(DiffusionCodec(spans=4), [many], [5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        targets_of(DiffusionCodec(spans=4), [many], [5])
        targets_of(DiffusionCodec(spans=5), [many], [5])


# ------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name, value",
    [
        ("steps", 0),
        ("spans", 0),
        ("spans", 2.5),
        ("eta", 1.1),
        ("train_spans", 0),
        ("draws", 0),
        ("timesteps", 0),
        ("schedule", "square"),
        ("scale", 0),
        ("expansion", "none"),
        ("repeats", 0),
        ("distance_cost", -1),
        ("no_entity_weight", -1),
        ("pointer_loss", "hinge"),
        ("score", "product"),
        ("seed", -1),
    ],
)
def test_codec_rejects_a_setting_out_of_its_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"SP002.*{name}"):
        DiffusionCodec(**{name: value})


def test_rescore_leaves_scores_as_they_are() -> None:
    spans = SpanTable.of([(0, 1, 0, 0.25), (0, 2, 0, 0.75)])
    assert DiffusionCodec().rescore(spans, np.asarray([0, 0])).tolist() == [0.25, 0.75]
