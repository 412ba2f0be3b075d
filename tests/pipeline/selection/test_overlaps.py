"""Which of several overlapping spans are kept."""

from typing import Callable

import numpy as np
import pytest
from spacy.language import Language

from spacy_spanner.spans.overlap import by_length, by_preference, resolve_overlaps
from spacy_spanner.spans.table import SpanTable

from ...helpers import CROSSING, scored_spans, spans_of, time_limit, trained_copy
from .helpers import COURT, with_settings


def test_overlap_any_keeps_crossing_spans(factory: str) -> None:
    nlp = trained_copy(factory, "crossing", overlap="any")
    assert spans_of(nlp(CROSSING[0][0])) == [(1, 4, "PER"), (3, 5, "LOC")]


@pytest.mark.parametrize("overlap", ["nested", "flat"])
def test_overlap_nested_and_flat_keep_better_of_crossing(
    factory: str, overlap: str
) -> None:
    nlp = trained_copy(factory, "crossing", overlap="any")
    both = scored_spans(nlp(CROSSING[0][0]))
    assert len(both) == 2
    with_settings(nlp, overlap=overlap)
    best = max(both, key=lambda span: span[3])
    assert scored_spans(nlp(CROSSING[0][0])) == [best]


def test_overlap_nested_keeps_span_inside_another(own_nlp: Language) -> None:
    with_settings(own_nlp, overlap="nested")
    assert spans_of(own_nlp(COURT))[:2] == [(0, 4, "ORG"), (1, 2, "GPE")]


def test_overlap_flat_keeps_better_of_nested(own_nlp: Language) -> None:
    outer, inner, apart = scored_spans(own_nlp(COURT))
    with_settings(own_nlp, overlap="flat")
    best = outer if outer[3] >= inner[3] else inner
    assert scored_spans(own_nlp(COURT)) == [best, apart]


@pytest.mark.parametrize("order", [by_preference, by_length])
def test_near_ties_are_decided_by_position_not_by_noise(order: Callable) -> None:
    noisy = SpanTable.of([(0, 4, 0, 0.9342719), (2, 6, 0, 0.9342722)])
    assert [span.start for span in order(noisy).rows()] == [0, 2]


def test_selection_among_many_crossing_spans_is_linear() -> None:
    starts = np.arange(40_000)
    # Every ninth is best, and crosses the eight on either side of it.
    score = np.where(starts % 9 == 0, 0.9, 0.5).astype("f")
    spans = SpanTable(starts, starts + 9, np.zeros_like(starts), score)
    with time_limit(10):
        kept = resolve_overlaps(spans, "nested")
    assert kept.start.tolist() == list(range(0, 40_000, 9))
