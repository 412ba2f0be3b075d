"""Models get other labels."""

from typing import Any

import pytest
import torch
from thinc.api import Model
from torch import nn

from spacy_spanner.layers.resizing import copy_rows, find_rows, resize_labels
from spacy_spanner.layers.span_model import build_span_model
from spacy_spanner.layers.torch_shim import get_shim

WIDTH = 3


class Pairs(nn.Module):
    """Scores of pairs of labels, and two rows of each label after a shared one."""

    def __init__(self, n_in: int, n_labels: int) -> None:
        super().__init__()
        self.pairs = nn.Parameter(torch.randn(n_labels, n_labels))
        self.rows = nn.Parameter(torch.randn(1 + 2 * n_labels, n_in))
        self.shared = nn.Parameter(torch.randn(n_in))


class Uneven(nn.Module):
    """A tensor whose size is the square of the number of labels."""

    def __init__(self, n_in: int, n_labels: int) -> None:
        super().__init__()
        self.pairs = nn.Parameter(torch.randn(n_labels**2))


def model_of(module: Any, n_labels: int) -> Any:
    """RETURNS (Model): a model with this head."""
    model = build_span_model(Model("encoder", lambda *_: None), module)
    head = model.get_ref("output_layer")
    head.set_dim("nI", WIDTH)
    head.set_dim("nO", n_labels)
    head.initialize()
    return model


def test_rows_of_labels_go_with_them() -> None:
    model = model_of(Pairs, 3)
    shim = get_shim(model.get_ref("output_layer"))
    before, old_id = shim.module, shim.id
    before.shared.requires_grad_(False)
    resize_labels(model, [2, None, 0, None], seed=0)
    after = shim.module
    assert model.get_ref("output_layer").get_dim("nO") == 4
    assert shim.sizes == (WIDTH, 4) and shim.id != old_id
    assert torch.equal(after.pairs[[0, 2]][:, [0, 2]], before.pairs[[2, 0]][:, [2, 0]])
    kept = after.rows[[0, 1, 2, 5, 6]]
    assert torch.equal(kept, before.rows[[0, 5, 6, 1, 2]])
    assert torch.equal(after.shared, before.shared)
    assert not after.shared.requires_grad and after.rows.requires_grad


def test_the_global_generator_is_not_used() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    model = model_of(Pairs, 2)
    torch.manual_seed(1)
    resize_labels(model, [0, 1, None], seed=0)
    assert torch.equal(torch.rand(1), expected)


def test_models_that_do_not_tell_their_rows_stay() -> None:
    model = model_of(Uneven, 2)
    before = get_shim(model.get_ref("output_layer")).module
    with pytest.raises(ValueError, match=r"SP252.*'pairs'"):
        resize_labels(model, [0, 1, None], seed=0)
    assert get_shim(model.get_ref("output_layer")).module is before


def test_scalars_are_copied() -> None:
    rows = find_rows((), (), 2, [0])
    assert rows == []
    target = torch.zeros(())
    copy_rows(torch.ones(()), target, rows)
    assert target == 1
