"""Reliability tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.evaluation.counts import Reading
from spacy_spanner.evaluation.scorer import (
    calibration_error,
    collect_confidence,
    reliability_table,
)

PAIRS = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), max_size=30)


def test_collect_confidence_by_hand() -> None:
    gold = {(0, 1, "A")}
    predicted = {(0, 1, "A"): 0.9, (1, 2, "A"): 0.5, (2, 3, "A"): None}
    confidence, correct = collect_confidence([Reading(gold, predicted, [0.7, None])])
    assert confidence.tolist() == pytest.approx([0.9, 0.5, 0.7])
    assert correct.tolist() == [1.0, 0.0, 0.0]


@given(PAIRS)
def test_reliability_table_holds_every_span_once(pairs: list) -> None:
    confidence = np.asarray([score for score, _ in pairs], dtype="f")
    correct = np.asarray([right for _, right in pairs], dtype="f")
    table = reliability_table(confidence, correct)
    assert len(table) == 10
    assert sum(row.n_spans for row in table) == len(pairs)
    for row in table:
        if row.confidence is not None:
            assert row.low - 1e-6 <= row.confidence <= row.high + 1e-6
    error = calibration_error(table)
    assert error is None if not pairs else 0 <= error <= 1
