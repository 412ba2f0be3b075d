"""Candidates of the diffusion codec."""

from typing import Any, List, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from spacy_spanner.models.diffusion import codec as codec_module
from spacy_spanner.models.diffusion.codec import DiffusionCodec
from spacy_spanner.models.diffusion.noise import TokenSpans

from ...generated import cases
from .helpers import GOLD, Oracle, Rows, batch_of, module_of


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
@settings(max_examples=cases(40), deadline=None)
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
