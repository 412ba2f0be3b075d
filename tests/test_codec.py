"""What the codecs of all models share."""

import torch

from spacy_spanner.codec import best_labels


def test_best_labels_by_hand() -> None:
    scores = torch.tensor([[0.5, 0.4], [0.2, 0.3], [0.1, 0.1], [0.0, 0.9]])
    cell, label = best_labels(scores, torch.tensor([0.2, 0.3]))
    assert cell.tolist() == [0, 1, 3]
    assert label.tolist() == [0, 1, 1]


def test_best_labels_looks_at_labels_above_their_own_threshold_only() -> None:
    scores = torch.tensor([[0.3, 0.4]])
    cell, label = best_labels(scores, torch.tensor([0.2, 0.5]))
    assert (cell.tolist(), label.tolist()) == ([0], [0])


def test_best_labels_with_threshold_zero_keeps_a_score_of_zero() -> None:
    cell, label = best_labels(torch.zeros(1, 2), torch.zeros(2))
    assert (cell.tolist(), label.tolist()) == ([0], [0])


def test_best_labels_of_no_cells() -> None:
    cell, label = best_labels(torch.zeros(0, 2), torch.zeros(2))
    assert (cell.tolist(), label.tolist()) == ([], [])
