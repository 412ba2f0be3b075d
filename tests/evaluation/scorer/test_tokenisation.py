"""Predictions on tokens that are not those of the gold."""

from typing import List

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_spanner.evaluation.scorer import score_spans

from ...helpers import Gold, annotate
from .helpers import prf


def retokenized(
    words: List[str], spaces: List[bool], predicted: Gold, gold: Gold
) -> Example:
    """Gold spans refer to the tokens "New York - based"."""
    vocab = Vocab()
    reference = Doc(
        vocab, words=["New", "York", "-", "based"], spaces=[True, False, False, False]
    )
    doc = annotate(Doc(vocab, words=words, spaces=spaces), predicted)
    doc.spans["ents"].attrs["scores"] = np.full(len(predicted), 0.75, dtype="f")
    return Example(doc, annotate(reference, gold))


@pytest.mark.parametrize(
    "predicted,gold,expected",
    [
        ((0, 2), (0, 4), 1.0),
        ((1, 2), (1, 4), 1.0),
        ((0, 1), (0, 1), 1.0),
        ((0, 2), (0, 2), 0.0),
    ],
)
def test_scorer_prediction_on_fewer_tokens(
    predicted: tuple, gold: tuple, expected: float
) -> None:
    example = retokenized(
        ["New", "York-based"], [True, False], [(*predicted, "A")], [(*gold, "A")]
    )
    scores = score_spans([example])
    assert scores["spans_ents_f"] == expected
    assert scores["spans_ents_flat_f"] == expected
    # One span of confidence 0.75, right or wrong.
    assert scores["spans_ents_ece"] == pytest.approx(0.25 if expected else 0.75)


def test_scorer_prediction_without_place_counts_for_calibration_only() -> None:
    example = retokenized(
        ["New", "Y", "ork-", "based"],
        [True, False, False, False],
        [(0, 1, "A"), (1, 2, "A")],
        [(0, 1, "A")],
    )
    scores = score_spans([example])
    # As spaCy's own scorer, which leaves out what cannot be aligned.
    assert prf(scores, "spans_ents_flat") == [1.0, 1.0, 1.0]
    assert prf(scores) == [1.0, 1.0, 1.0]
    # Two spans of confidence 0.75, one right: |1.5 - 1| / 2.
    assert scores["spans_ents_ece"] == pytest.approx(0.25)
