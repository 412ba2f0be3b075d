"""Ideal logits give the gold spans back."""

import pytest

from spacy_spanner.models.biaffine.codec import BiaffineCodec

from .helpers import EPSILONS, GOLD, Rows, found, ideal_logits, targets_of


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_candidates_of_ideal_logits_are_the_gold(
    rows: Rows, distance: int, multilabel: bool, epsilon: float
) -> None:
    codec = BiaffineCodec(epsilon, distance, multilabel=multilabel)
    logits = ideal_logits(codec, targets_of(codec, [rows], [5]))
    assert found(codec, logits, [5]) == [sorted(rows)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("multilabel", [False, True])
def test_candidates_of_ideal_logits_of_several_windows_are_the_gold(
    multilabel: bool, epsilon: float
) -> None:
    codec = BiaffineCodec(epsilon, multilabel=multilabel)
    gold = [GOLD["nested"], [], [(0, 1, 1)], GOLD["crossing"]]
    lengths = [4, 3, 1, 6]
    logits = ideal_logits(codec, targets_of(codec, gold, lengths))
    assert found(codec, logits, lengths) == [sorted(rows) for rows in gold]


SEVERAL_LABELS: Rows = [(1, 3, 0), (1, 3, 1), (1, 3, 2), (0, 4, 1)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_candidates_with_multilabel_give_several_labels_of_one_span(
    epsilon: float,
) -> None:
    codec = BiaffineCodec(epsilon, multilabel=True)
    targets = targets_of(codec, [SEVERAL_LABELS], [5])
    logits = ideal_logits(codec, targets, n_labels=3)
    assert found(codec, logits, [5], [0.5] * 3) == [sorted(SEVERAL_LABELS)]
