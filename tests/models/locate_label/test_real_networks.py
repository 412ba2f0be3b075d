"""Loss and candidates of real networks: alone as in a batch, and gradients."""

from typing import List

import numpy as np
import torch

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.models.locate_label.module import (
    LocateLabelModule,
    LocateLabelSettings,
)

from .helpers import N_LABELS, Rows, targets_of

REAL_GOLD: List[Rows] = [[(0, 3, 0), (1, 2, 1)], [], [(0, 6, 1)], [(0, 1, 0)]]
REAL_LENGTHS = [4, 3, 7, 1]


def real_networks() -> LocateLabelModule:
    torch.manual_seed(0)
    settings = LocateLabelSettings(
        lstm_width=4, hidden_width=8, offsets="linear", dropout=0.0, input_dropout=0.0
    )
    return LocateLabelModule(3, N_LABELS, settings).double()


def real_batch() -> WindowBatch:
    generator = torch.Generator().manual_seed(0)
    shape = (len(REAL_LENGTHS), max(REAL_LENGTHS), 3)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    return WindowBatch(3 * vectors, np.asarray(REAL_LENGTHS))


def alone(batch: WindowBatch, row: int) -> WindowBatch:
    length = REAL_LENGTHS[row]
    return WindowBatch(batch.vectors[[row], :length], np.asarray([length]))


def test_loss_of_a_window_does_not_depend_on_its_batch() -> None:
    codec, module, batch = LocateLabelCodec(), real_networks(), real_batch()
    together = codec.loss(module, batch, targets_of(codec, REAL_GOLD, REAL_LENGTHS))
    single = [
        codec.loss(
            module, alone(batch, row), targets_of(codec, [rows], [REAL_LENGTHS[row]])
        )
        for row, rows in enumerate(REAL_GOLD)
    ]
    torch.testing.assert_close(together, torch.stack(single).sum())


def test_candidates_of_a_window_do_not_depend_on_its_batch() -> None:
    codec, module, batch = LocateLabelCodec(), real_networks().eval(), real_batch()
    thresholds = torch.full((N_LABELS,), 0.3)
    together = codec.candidates(module, batch, thresholds)
    assert len(together.window) > 10
    for row in range(len(REAL_LENGTHS)):
        single = codec.candidates(module, alone(batch, row), thresholds)
        mine = together.window == row
        for one, two in zip(single[1:], together[1:]):
            torch.testing.assert_close(one, two[mine])


def test_loss_gives_every_weight_a_gradient() -> None:
    codec, module = LocateLabelCodec(), real_networks()
    targets = targets_of(codec, REAL_GOLD, REAL_LENGTHS)
    codec.loss(module, real_batch(), targets).backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []
