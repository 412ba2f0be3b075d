"""Spans of texts that are read in windows."""

from typing import List

import pytest
from spacy.language import Language

from ...helpers import (
    COURT_WORDS,
    FIXED_NUMBER,
    assert_same_predictions,
    scored_spans,
    spans_of,
    trained_copy,
)
from .helpers import COURT, MAYOR, with_settings, words_doc


def repeat_to(n_tokens: int, nlp: Language) -> List[str]:
    """Join the training texts, with a full stop at the end of each sentence."""
    words = [token.text for text in (COURT, MAYOR) for token in nlp.make_doc(text)]
    return (words * (n_tokens // len(words) + 1))[:n_tokens]


@pytest.mark.parametrize("max_window", [50, 1000])
def test_window_long_text_without_sentences_finds_all_parts(
    factory: str, max_window: int
) -> None:
    if factory in FIXED_NUMBER and max_window > 50:
        pytest.skip("needs more spans for longer windows")
    nlp = trained_copy(factory, "long", max_window=50, stride=20)
    with_settings(nlp, max_window=max_window)
    words = repeat_to(600, nlp)
    found = spans_of(nlp(words_doc(nlp, words)))
    assert len(found) == len(set(found))
    counties = [index for index in range(600) if words[index] == "Leon"]
    assert len(counties) == 29
    assert {(start, start + 2, "GPE") for start in counties} <= set(found)


def test_window_sentence_keeps_spans_inside_sentences(own_nlp: Language) -> None:
    words = repeat_to(600, own_nlp)
    after_stop = [index == 0 or words[index - 1] == "." for index in range(600)]
    with_settings(own_nlp, threshold=0.0, overlap="any")
    doc = own_nlp(words_doc(own_nlp, words, sent_starts=after_stop))
    assert len(doc.spans["ents"]) > 100
    assert not any(any(after_stop[start + 1 : end]) for start, end, _ in spans_of(doc))


@pytest.mark.parametrize("window", ["doc", "strided"])
def test_window_doc_and_strided_ignore_sentences(
    own_nlp: Language, window: str
) -> None:
    with_settings(own_nlp, window=window)
    starts = [index in (0, 3) for index in range(len(COURT_WORDS))]
    cut = own_nlp(words_doc(own_nlp, sent_starts=starts))
    assert scored_spans(cut) == scored_spans(own_nlp(words_doc(own_nlp)))
    assert (0, 4, "ORG") in spans_of(cut)


def test_window_sentence_without_boundaries_equals_strided(own_nlp: Language) -> None:
    words = repeat_to(2000, own_nlp)
    plain = own_nlp(words_doc(own_nlp, words))
    with_settings(own_nlp, window="strided")
    strided = own_nlp(words_doc(own_nlp, words))
    assert len(plain.spans["ents"]) > 300
    assert_same_predictions([strided], [plain])


def test_window_no_span_is_longer_than_max_window(own_nlp: Language) -> None:
    with_settings(own_nlp, max_window=5, stride=2, threshold=0.0, overlap="any")
    doc = own_nlp(words_doc(own_nlp))
    assert 2 < max(end - start for start, end, _ in spans_of(doc)) <= 5
    assert all(score <= 1 for *_, score in scored_spans(doc))


@pytest.mark.parametrize("max_cells", [1, 500])
def test_window_groups_do_not_change_predictions(factory: str, max_cells: int) -> None:
    nlp = trained_copy(factory, "long", max_window=50, stride=20, overlap="any")
    docs = [words_doc(nlp, repeat_to(n, nlp)) for n in (30, 600, 7)]
    expected = list(nlp.pipe(doc.copy() for doc in docs))
    with_settings(nlp, max_cells=max_cells)
    assert_same_predictions(nlp.pipe(docs), expected)


@pytest.mark.slow
def test_window_100000_tokens_without_sentences(nlp: Language) -> None:
    doc = nlp(words_doc(nlp, repeat_to(100_000, nlp)))
    assert len(doc.spans["ents"]) > 10_000
