"""From candidates to spans: thresholds, temperature and overlaps in one pass."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_spanner.pipeline import prediction
from spacy_spanner.pipeline.calibration import Calibration
from spacy_spanner.pipeline.prediction import (
    Thresholds,
    choose_spans,
    in_groups,
    read_thresholds,
    split_by_doc,
    white_space,
)
from spacy_spanner.settings import SpanSettings
from spacy_spanner.spans.table import SpanTable

N_TOKENS = 12
NO_SPACE = np.zeros(N_TOKENS, dtype=bool)


@st.composite
def tables(draw: st.DrawFn) -> SpanTable:
    """Candidates of two labels on twelve tokens."""
    n_spans = draw(st.integers(0, 12))
    rows = []
    for _ in range(n_spans):
        start = draw(st.integers(0, N_TOKENS - 1))
        end = draw(st.integers(start + 1, N_TOKENS))
        score = draw(st.floats(0, 1, width=32))
        rows.append((start, end, draw(st.integers(0, 1)), score))
    return SpanTable.of(rows)


def thresholds(*lowest: float, temperature: float = 1.0) -> Thresholds:
    return Thresholds(np.asarray(lowest, dtype="f"), Calibration(temperature))


def test_thresholds_of_labels_replace_the_one_of_all() -> None:
    settings = SpanSettings(threshold=0.4, label_thresholds={"B": 0.9}, temperature=2.0)
    found = read_thresholds(settings, {"A": 0, "B": 1}, "ner")
    assert found.lowest.tolist() == pytest.approx([0.4, 0.9])
    assert found.calibration == (2.0, 0.0)


def test_thresholds_of_unknown_labels_fail() -> None:
    settings = SpanSettings(label_thresholds={"C": 0.9})
    with pytest.raises(ValueError, match=r"SP006.*'ner'.*C"):
        read_thresholds(settings, {"A": 0}, "ner")


def test_span_below_its_threshold_suppresses_nothing() -> None:
    # The better of two crossing spans misses the threshold of its label.
    table = SpanTable.of([(0, 4, 0, 0.6), (2, 6, 1, 0.5)])
    chosen = choose_spans(table, NO_SPACE, thresholds(0.7, 0.4), "nested")
    assert [span[:3] for span in chosen.rows()] == [(2, 6, 1)]


def test_span_at_its_threshold_is_kept() -> None:
    table = SpanTable.of([(0, 1, 0, 0.5)])
    assert choose_spans(table, NO_SPACE, thresholds(0.5), "flat").n_spans == 1


def test_no_span_begins_or_ends_with_white_space() -> None:
    space = NO_SPACE.copy()
    space[[2, 5]] = True
    table = SpanTable.of([(2, 4, 0), (3, 6, 0), (1, 4, 0), (5, 6, 0)])
    chosen = choose_spans(table, space, thresholds(0.5), "any")
    assert [span[:2] for span in chosen.rows()] == [(1, 4)]


def test_score_just_below_its_threshold_is_not_kept() -> None:
    limits = thresholds(0.7)
    below = np.nextafter(limits.lowest[0], np.float32(0))
    assert limits.reached_by(SpanTable.of([(0, 1, 0, below)])).tolist() == [False]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_lowest_score_of_a_candidate_reaches_the_threshold(temperature: float) -> None:
    limits = thresholds(*np.linspace(0.1, 0.9, 9), temperature=temperature)
    lowest = limits.of_candidates
    rows = [(0, 1, label, score) for label, score in enumerate(lowest)]
    assert limits.reached_by(SpanTable.of(rows)).all()
    # Rounding is forgiven, and nothing else.
    lower = [(0, 1, label, score - 1e-4) for label, score in enumerate(lowest)]
    assert not limits.reached_by(SpanTable.of(lower)).any()


def test_documents_are_predicted_in_groups_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prediction, "TOKENS_AT_ONCE", 5)
    docs = [Doc(Vocab(), words=["a"] * n) for n in (2, 3, 1, 5, 7, 0, 5)]
    groups = [[len(doc) for doc in group] for group in in_groups(docs)]
    assert groups == [[2, 3], [1], [5], [7], [0, 5]]
    assert list(in_groups([])) == []


def test_white_space_of_documents_is_concatenated() -> None:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words) for words in (["a", " "], [], ["\n", "b"])]
    assert white_space(docs).tolist() == [False, True, True, False]
    assert white_space([]).tolist() == []


@given(tables(), st.floats(0, 1, width=32), st.sampled_from([0.5, 1.0, 3.0]))
def test_written_scores_reach_the_threshold_and_candidates_suffice(
    table: SpanTable, lowest: float, temperature: float
) -> None:
    limits = thresholds(lowest, lowest, temperature=temperature)
    chosen = choose_spans(table, NO_SPACE, limits, "nested")
    assert (chosen.score >= limits.lowest[chosen.label] - 1e-5).all()
    # The head may leave out what is clearly below `of_candidates`.
    clear = table.score >= limits.of_candidates[table.label] - 1e-3
    again = choose_spans(table.take(clear), NO_SPACE, limits, "nested")
    assert again.rows() == chosen.rows()


@given(tables(), st.sampled_from([0.5, 3.0]))
def test_temperature_changes_scores_but_no_choice(
    table: SpanTable, temperature: float
) -> None:
    plain = choose_spans(table, NO_SPACE, thresholds(0.0, 0.0), "flat")
    limits = thresholds(0.0, 0.0, temperature=temperature)
    tempered = choose_spans(table, NO_SPACE, limits, "flat")
    assert [span[:3] for span in tempered.rows()] == [span[:3] for span in plain.rows()]
    expected = Calibration(temperature).of(plain.score)
    np.testing.assert_array_equal(tempered.score, expected)


def test_spans_are_cut_by_document() -> None:
    spans = SpanTable.of([(0, 2, 0), (2, 3, 1), (5, 6, 0)])
    first, empty, second = split_by_doc(spans, [2, 0, 4])
    assert [span[:3] for span in first.rows()] == [(0, 2, 0)]
    assert empty.n_spans == 0
    assert [span[:3] for span in second.rows()] == [(0, 1, 1), (3, 4, 0)]
