"""Parts of the denoiser: pooling, attention, distances, pointers."""

import math

import pytest
import torch
from torch.nn import functional as F

from spacy_spanner.models.diffusion.attention import Attention, DistanceBias
from spacy_spanner.models.diffusion.noise import TokenSpans
from spacy_spanner.models.diffusion.outputs import Pointer
from spacy_spanner.models.diffusion.tokens import (
    POOLINGS,
    SpanFeatures,
    SpanPooling,
    distance_table,
    sinusoids,
)


def test_sinusoids_by_hand() -> None:
    embedded = sinusoids(torch.tensor([2]), 4)[0].tolist()
    assert embedded == pytest.approx(
        [math.sin(2), math.sin(0.02), math.cos(2), math.cos(0.02)]
    )


@pytest.mark.parametrize("pooling", POOLINGS)
def test_span_pooling_adds_its_parts(pooling: str) -> None:
    torch.manual_seed(0)
    pool, vectors = SpanPooling(3, 5, pooling), torch.randn(1, 6, 3)
    spans = TokenSpans(torch.tensor([[1, 4, 0]]), torch.tensor([[3, 4, 5]]))
    found = pool(vectors).of(spans)[0]
    for row, (start, last) in enumerate([(1, 3), (4, 4), (0, 5)]):
        expected = torch.zeros(5)
        if pool.start is not None and pool.last is not None:
            expected = pool.start(vectors[0, start]) + pool.last(vectors[0, last])
        if pool.inside is not None:
            expected = expected + pool.inside(vectors[0, start : last + 1].mean(dim=0))
        torch.testing.assert_close(found[row], expected)
    assert (pool.start is None) == (pooling == "mean")
    assert (pool.inside is None) == (pooling == "boundaries")


def test_span_features_take_the_mean_by_sums_from_the_left() -> None:
    sums = torch.tensor([[[0.0], [1.0], [3.0], [6.0]]])
    spans = TokenSpans(torch.tensor([[0, 1]]), torch.tensor([[2, 1]]))
    features = SpanFeatures(-sums[:, :-1], sums[:, 1:], 0)
    assert features.of(spans).flatten().tolist() == [2.0, 2.0]


def test_attention_equals_its_definition() -> None:
    torch.manual_seed(0)
    attention = Attention(4, 2)
    x, tokens, bias = (
        torch.randn(1, 2, 4),
        torch.randn(1, 3, 4),
        torch.randn(1, 2, 2, 3),
    )
    found = attention(x, attention.keys_values(tokens), bias)
    query, key, value = (
        part[0].split(2, dim=-1)
        for part in (attention.query(x), attention.key(tokens), attention.value(tokens))
    )
    heads = [
        (query[h] @ key[h].T / math.sqrt(2) + bias[0, h]).softmax(-1) @ value[h]
        for h in range(2)
    ]
    torch.testing.assert_close(found[0], attention.output(torch.cat(heads, dim=-1)))


def test_distances_are_bounded_and_read_from_the_left() -> None:
    found = distance_table(torch.arange(50))
    assert found[0, :3].tolist() == [32, 33, 34]
    assert found[2, :3].tolist() == [30, 31, 32]
    assert found[40, [0, 7, 8, 9, 40, 49]].tolist() == [0, 0, 0, 1, 32, 41]
    assert found[0, 40:].tolist() == [64] * 10


def test_distance_bias_adds_both_tables_and_hides_padding() -> None:
    bias = DistanceBias(2)
    torch.nn.init.normal_(bias.start.weight)
    torch.nn.init.normal_(bias.last.weight)
    spans = TokenSpans(torch.tensor([[1]]), torch.tensor([[2]]))
    care = bias.care(distance_table(torch.arange(4)))
    found = bias(care, spans, torch.tensor([[True, True, True, False]]))
    assert found.shape == (1, 2, 1, 4)
    torch.testing.assert_close(
        found[0, :, 0, 0], bias.start.weight[31] + bias.last.weight[30]
    )
    assert (found[0, :, 0, 3] < -1000).all()


@pytest.mark.parametrize("kind", ["product", "sum"])
def test_pointer_compares_vectors_and_adds_what_the_distance_says(kind: str) -> None:
    torch.manual_seed(0)
    pointer = Pointer(4, kind)
    torch.nn.init.normal_(pointer.distance.weight)
    state, tokens, time = torch.randn(1, 1, 4), torch.randn(1, 3, 4), torch.randn(1, 4)
    mask = torch.ones(1, 3, dtype=torch.bool)
    care = pointer.care(time, torch.tensor([[30, 31, 32]]))
    found = pointer(state, pointer.keys(tokens, mask), care)[0, 0]
    keys = pointer.key(tokens)
    table = pointer.distance(F.gelu(time))[0]
    query = pointer.query(state)[0, 0]
    for token in range(3):
        if pointer.hidden is None:
            score = query @ keys[0, token] / 2
        else:
            score = pointer.hidden(F.relu(query + keys[0, token]))[0]
        torch.testing.assert_close(found[token], score + table[30 + token])
