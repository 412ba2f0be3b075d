"""The projection in front of most scorers."""

import pytest
import torch

from spacy_spanner.models.blocks.projection import Projection


@pytest.mark.parametrize("rate, behind", [("dropout", True), ("input_dropout", False)])
def test_projection_drops_in_front_of_the_map_or_behind_it(
    rate: str, behind: bool
) -> None:
    torch.manual_seed(0)
    rates = {"dropout": 0.0, "input_dropout": 0.0, rate: 0.5}
    projection, ones = Projection(6, 8, **rates), torch.ones(20, 6)
    dropped = projection.train()(ones) == 0
    assert bool(dropped.any()) is behind
    assert not (projection.eval()(ones) == 0).any()
    assert len(projection.train()(ones).unique(dim=0)) > 1
