"""Where the settings of the biaffine model go: sizes, rates and targets."""

from typing import Any, Dict

import numpy as np
import pytest
import torch

from spacy_spanner.models.biaffine.codec import BiaffineCodec
from spacy_spanner.models.codec import WindowBatch

from ...helpers import SMALL_WIDTH, dropout_rates, new_module
from .helpers import dense, targets_of

FACTORY = "span_biaffine"

# No two numbers are equal, and none is a default.
DISTINCT: Dict[str, Any] = {
    "lstm_width": 10,
    "hidden_width": 12,
    "width_embedding": 7,
    "n_widths": 9,
    "dropout": 0.3,
    "input_dropout": 0.4,
}


def module_with(**settings: Any) -> Any:
    return new_module(FACTORY, **settings)


# ----------------------------------------------------------------------- sizes


def test_architecture_gives_the_width_table_its_own_sizes() -> None:
    module = module_with(**DISTINCT)
    assert module.width_embedding.weight.shape == (9, 7)
    assert module.width_scores.weight.shape == (4, 7)  # three labels and no entity


def test_architecture_gives_lstm_and_boundaries_their_own_widths() -> None:
    module = module_with(**DISTINCT)
    assert module.lstm.lstm.hidden_size == 5  # of 10, in each direction
    assert module.start.linear.weight.shape == (12, 10)
    assert module.last.linear.weight.shape == (12, 10)
    assert module.biaffine.weight.shape == (4, 13, 13)


def test_architecture_shares_an_embedding_from_n_widths_tokens_on() -> None:
    module = module_with(n_widths=3, lstm_width=0).eval()
    batch = WindowBatch(torch.zeros(1, 5, SMALL_WIDTH), np.asarray([5]))
    first, last = torch.zeros(5, dtype=torch.int64), torch.arange(5)
    scores = module(batch, first, first, last)
    # The tokens are alike, so spans differ in their width alone.
    torch.testing.assert_close(scores[2], scores[3])
    torch.testing.assert_close(scores[2], scores[4])
    assert not torch.allclose(scores[1], scores[2])


def test_architecture_gives_convolutions_their_number_and_width() -> None:
    module = module_with(**DISTINCT, conv_layers=3, conv_width=8)
    assert module.biaffine.weight.shape == (8, 13, 13)
    shapes = [layer.weight.shape for layer in module.convolution.layers]
    assert shapes == 3 * [(8, 8, 3, 3)]
    assert module.convolution.outer.weight.shape == (4, 8)


# --------------------------------------------------------------------- dropout


def test_architecture_gives_each_dropout_its_own_rate() -> None:
    assert dropout_rates(module_with(**DISTINCT)) == {
        "lstm.dropout": 0.4,
        "start.input_dropout": 0.4,
        "start.dropout": 0.3,
        "last.input_dropout": 0.4,
        "last.dropout": 0.3,
    }


# ------------------------------------------------------------------- smoothing


def test_targets_smooth_as_far_as_the_smoothing_distance() -> None:
    codec = BiaffineCodec(boundary_smoothing=0.2, smoothing_distance=2)
    targets = targets_of(codec, [[(1, 2, 0)]], [3])
    # 0.1 in four parts, 0.1 in eight; (1, 1) keeps two and five of these.
    a, b, g = 0.025, 0.0125, 0.8 + 2 * 0.025 + 5 * 0.0125
    # Cells: (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2).
    assert dense(targets)[:, 0].tolist() == pytest.approx([b, a, b, g, a, b])
