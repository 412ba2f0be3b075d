"""Where the settings of the offset network go: sizes, rates, classes and targets."""

from typing import Any, Dict, List

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset.codec import OffsetCodec
from spacy_spanner.models.offset.offsets import CENTER, OffsetClasses

from ...helpers import SMALL_WIDTH, dropout_rates, new_module
from .test_architecture import FACTORY
from .test_codec import N_LABELS, GivenScores, Rows, batch_of, found, targets_of
from .test_module import build, windows
from .test_offsets import masses

# No two numbers are equal, and none is a default.
DISTINCT: Dict[str, Any] = {
    "lstm_width": 10,
    "hidden_width": 12,
    "region_embedding": 5,
    "distance_embedding": 7,
    "n_distances": 9,
    "conv_layers": 4,
    "conv_width": 6,
    "dropout": 0.3,
    "input_dropout": 0.4,
}


def module_with(**settings: Any) -> Any:
    return new_module(FACTORY, **settings)


def zeros(n_tokens: int) -> WindowBatch:
    """One window whose tokens are all alike."""
    return WindowBatch(torch.zeros(1, n_tokens, SMALL_WIDTH), np.asarray([n_tokens]))


# ----------------------------------------------------------------------- sizes


def test_architecture_gives_each_place_embedding_its_own_size() -> None:
    fusion = module_with(**DISTINCT).fusion
    assert fusion.region.weight.shape == (2, 5)
    assert fusion.distance.weight.shape == (9, 7)


def test_architecture_gives_lstm_and_boundaries_their_own_widths() -> None:
    module = module_with(**DISTINCT)
    assert module.lstm.lstm.hidden_size == 5  # of 10, in each direction
    assert module.start.linear.weight.shape == (12, 10)
    assert module.last.linear.weight.shape == (12, 10)
    assert module.type_embedding.weight.shape == (3, 12)


def test_architecture_gives_convolutions_their_number_and_width() -> None:
    convolution = module_with(**DISTINCT).convolution
    assert len(convolution.layers) == 4
    assert {layer.weight.shape[0] for layer in convolution.layers} == {6}
    assert convolution.inner.out_features == 6


@pytest.mark.parametrize("reach", [False, True])
def test_architecture_lets_convolutions_reach_over_types_if_asked_to(
    reach: bool,
) -> None:
    module = module_with(conv_layers=1, conv_types=reach).eval()
    nn.init.normal_(module.convolution.outer.weight)
    before = module(zeros(3))
    with torch.no_grad():
        module.type_embedding.weight[0] += 1.0
    moved = (module(zeros(3)) - before).abs() > 1e-5
    # A kernel of three reads the types before and behind.
    assert moved.any(dim=-1).flatten(0, 2).any(dim=0).tolist() == [True, reach, False]


def test_architecture_shares_an_embedding_from_n_distances_tokens_on() -> None:
    scores = module_with(n_distances=3).eval()(zeros(5))[0, 0]  # (last, label, class)
    # The tokens are alike, so spans differ in their width alone.
    torch.testing.assert_close(scores[2], scores[3])
    torch.testing.assert_close(scores[2], scores[4])
    assert not torch.allclose(scores[1], scores[2])


@pytest.mark.parametrize(
    "sides,names",
    [
        ("both", ["0", "-1S", "1S", "-1E", "1E"]),
        ("start", ["0", "-1S", "1S"]),
        ("end", ["0", "-1E", "1E"]),
    ],
)
def test_architecture_has_offsets_of_the_given_sides(
    sides: str, names: List[str]
) -> None:
    module = module_with(max_offset=1, offset_sides=sides)
    assert module.classes.names == names


# --------------------------------------------------------------------- dropout


def test_architecture_gives_each_dropout_its_own_rate() -> None:
    assert dropout_rates(module_with(**DISTINCT)) == {
        "lstm.dropout": 0.4,
        "start.input_dropout": 0.4,
        "start.dropout": 0.3,
        "last.input_dropout": 0.4,
        "last.dropout": 0.3,
        "convolution.dropout": 0.3,
    }


def test_module_gives_type_inputs_the_rates_of_the_boundaries() -> None:
    projection = build(type_inputs=True, dropout=0.3, input_dropout=0.4).type_projection
    assert projection.dropout.p == 0.3
    assert projection.input_dropout.p == 0.4


def test_dropout_of_the_convolution_alone_makes_training_passes_differ() -> None:
    module = build(dropout=0.5, input_dropout=0.0).eval()
    batch = windows([4])
    torch.testing.assert_close(module(batch), module(batch), rtol=0, atol=0)
    module.convolution.train()
    assert not torch.allclose(module(batch), module(batch))


# ------------------------------------------------------------------- smoothing


def masses_in_loss(codec: OffsetCodec, rows: Rows, length: int) -> Tensor:
    """The target mass of the center of label 0, for all cells: (start, last)."""
    scores = torch.zeros(1, length, length, N_LABELS, 2, requires_grad=True)
    module = GivenScores(scores, OffsetClasses(0, "both"))
    targets = targets_of([rows], [length])
    codec.loss(module, batch_of([length]), targets).backward()
    assert scores.grad is not None
    # The gradient of a cross entropy is softmax - target, and two equal scores have
    # the softmax 0.5.
    return (0.5 - scores.grad[0, :, :, 0, CENTER]).triu()


def test_loss_smooths_as_far_as_the_smoothing_distance() -> None:
    codec = OffsetCodec(boundary_smoothing=0.2, smoothing_distance=2)
    # 0.1 in four parts, 0.1 in eight; (1, 1) keeps two and five of these.
    a, b, g = 0.025, 0.0125, 0.8 + 2 * 0.025 + 5 * 0.0125
    torch.testing.assert_close(
        masses_in_loss(codec, [(1, 2, 0)], length=3),
        torch.tensor([[b, a, b], [0.0, g, a], [0.0, 0.0, b]]),
        atol=1e-6,
        rtol=0,
    )


def test_smoothing_gives_each_of_two_rings_half_of_epsilon() -> None:
    soft = masses([(1, 3, 0)], length=5, epsilon=0.2, distance=2, size=0)
    # 0.1 in four parts, 0.1 in eight; (1, 5) and (-1, 3) go back to (1, 3).
    near, far = pytest.approx(0.025), pytest.approx(0.0125)
    assert soft == {
        (1, 3, 0, "0"): pytest.approx(0.8 + 2 * 0.0125),
        (0, 3, 0, "0"): near,
        (2, 3, 0, "0"): near,
        (1, 2, 0, "0"): near,
        (1, 4, 0, "0"): near,
        (1, 1, 0, "0"): far,
        (3, 3, 0, "0"): far,
        (0, 2, 0, "0"): far,
        (0, 4, 0, "0"): far,
        (2, 2, 0, "0"): far,
        (2, 4, 0, "0"): far,
    }


# --------------------------------------------------------- decoding, and the start


def test_all_votes_hear_an_offset_at_the_threshold() -> None:
    classes = OffsetClasses(1, "both")
    scores = torch.full((1, 3, 3, N_LABELS, classes.n_classes), -torch.inf)
    scores[..., 0] = 0.0  # out of range
    # As likely as out of range: one half, without any rounding.
    scores[0, 0, 1, 1, CENTER + classes.names.index("-1E")] = 0.0
    module = GivenScores(scores, classes)
    assert found(module, [3], "all_votes", [0.5, 0.5]) == [[(0, 3, 1)]]


@pytest.mark.parametrize("conv_layers", [0, 2])
def test_new_module_gives_each_class_the_odds_of_seven_below_out_of_range(
    conv_layers: int,
) -> None:
    # Narrow and without places, so that the other random weights hardly matter.
    narrow = {"hidden_width": 4, "region_embedding": 0, "distance_embedding": 0}
    module = module_with(**narrow, conv_layers=conv_layers).eval()
    probabilities = module(zeros(3)).softmax(dim=-1)
    odds = probabilities[..., CENTER:] / probabilities[..., :CENTER]
    # e^-7 = 0.000912, and 1 / (1 + 9 · 0.000912) = 0.9919.
    torch.testing.assert_close(odds, torch.full_like(odds, 0.000912), rtol=0.1, atol=0)
    assert probabilities[..., 0].min() > 0.991
    assert probabilities[..., 0].max() < 0.993
