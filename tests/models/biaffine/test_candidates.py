"""Candidates of the biaffine codec, their scores and thresholds."""

from typing import List, Sequence

import pytest
import torch
from torch import Tensor

from spacy_spanner.models.biaffine.codec import BiaffineCodec

from .helpers import GivenLogits, Rows, batch_of, found


def logits_of(probabilities: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(probabilities).log()


def test_candidates_score_is_the_probability_of_the_label() -> None:
    logits = logits_of([[0.2, 0.7, 0.1]]) + 3
    given = BiaffineCodec().candidates(
        GivenLogits(logits), batch_of([1]), torch.tensor([0.5, 0.5])
    )
    assert given.score.tolist() == pytest.approx([0.7])


def test_candidates_with_multilabel_score_each_label_against_no_entity() -> None:
    # Odds to "no entity" of 4 and of 1.5.
    logits = torch.tensor([[1.0, 4.0, 1.5]]).log()
    given = BiaffineCodec(multilabel=True).candidates(
        GivenLogits(logits), batch_of([1]), torch.tensor([0.5, 0.5])
    )
    assert given.label.tolist() == [0, 1]
    assert given.score.tolist() == pytest.approx([0.8, 0.6])


@pytest.mark.parametrize(
    "thresholds, expected",
    [
        ([0.5, 0.5], [(0, 1, 0), (0, 2, 1)]),
        ([0.9, 0.5], [(0, 2, 1)]),
        ([0.5, 0.9], [(0, 1, 0)]),
        ([0.9, 0.9], []),
        ([0.5, 0.2], [(0, 1, 0), (0, 2, 1), (1, 2, 1)]),
    ],
)
@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_obey_the_threshold_of_each_label(
    thresholds: List[float], expected: Rows, multilabel: bool
) -> None:
    nothing = 1e-4
    logits = logits_of([[0.2, 0.8, nothing], [0.4, nothing, 0.6], [0.7, nothing, 0.3]])
    codec = BiaffineCodec(multilabel=multilabel)
    assert found(codec, logits, [2], thresholds) == [expected]


@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_keep_a_score_equal_to_its_threshold(multilabel: bool) -> None:
    codec = BiaffineCodec(multilabel=multilabel)
    logits = torch.tensor([[0.0, 0.0]])
    assert found(codec, logits, [1], [0.5]) == [[(0, 1, 0)]]


def test_candidates_of_the_softmax_report_one_label_of_a_span() -> None:
    logits = logits_of([[0.1, 0.4, 0.5]])
    assert found(BiaffineCodec(), logits, [1], [0.1, 0.1]) == [[(0, 1, 1)]]


def test_candidates_with_threshold_zero_report_every_span() -> None:
    codec = BiaffineCodec(multilabel=True)
    rows = [(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert found(codec, torch.zeros(3, 3), [2], [0.0, 0.0]) == [rows]


def test_candidates_with_max_width_ask_for_the_band_only() -> None:
    # Of four tokens: four single ones and three pairs.
    logits = torch.tensor([[0.0, 9.0]]).expand(7, 2)
    (rows,) = found(BiaffineCodec(max_width=2), logits, [4], [0.5])
    assert max(end - start for start, end, _ in rows) == 2
    assert len(rows) == 7


def test_candidates_of_extreme_logits_have_scores_within_bounds() -> None:
    logits = torch.tensor([[-1e4, 1e4], [1e4, -1e4], [0.0, 1e4]])
    for multilabel in (False, True):
        given = BiaffineCodec(multilabel=multilabel).candidates(
            GivenLogits(logits), batch_of([2]), torch.tensor([0.0])
        )
        assert given.score.tolist() == [1.0, 0.0, 1.0]
