"""Models in doubt: the bound on the candidates of a window, and its warning."""

import warnings
from typing import Any, List, Set

import pytest
from spacy.language import Language
from spacy.tokens import Doc

from ...helpers import (
    FACTORIES,
    assert_same_predictions,
    blank_pipeline,
    scored_spans,
    spans_of,
    trained_copy,
)
from .helpers import with_settings, words_doc

WORDS = [f"word{number}" for number in range(40)]


def untrained(factory: str, **settings: Any) -> Language:
    """A model that reports every span."""
    nlp = blank_pipeline(factory, threshold=0.0, overlap="any", **settings)
    for label in ("GPE", "ORG", "PER"):
        nlp.get_pipe(factory).add_label(label)  # type: ignore[attr-defined]
    nlp.initialize()
    return nlp


def warned(nlp: Language, docs: List[Doc]) -> List[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(nlp.pipe(docs))
    return [str(one.message) for one in caught if "SW014" in str(one.message)]


@pytest.mark.parametrize("factory", FACTORIES)
def test_max_candidates_keeps_the_best_of_each_window(factory: str) -> None:
    # Soft-NMS would compare the candidates that are left.
    rest = {"soft_nms": False} if factory == "span_locate_label" else {}
    nlp = untrained(factory, max_window=20, stride=0, max_candidates=None, **rest)
    everything = nlp(words_doc(nlp, WORDS))
    with_settings(nlp, max_candidates=7)
    found = nlp(words_doc(nlp, WORDS))
    for first in (0, 20):
        mine = [row for row in scored_spans(found) if first <= row[0] < first + 20]
        rest_of_window = {
            row for row in scored_spans(everything) if first <= row[0] < first + 20
        }
        assert len(mine) == 7 < len(rest_of_window)
        lowest = min(row[3] for row in mine)
        left_out: Set[Any] = rest_of_window - set(mine)
        assert all(row[3] <= lowest + 1e-4 for row in left_out)


def test_max_candidates_is_warned_of_once() -> None:
    nlp = untrained("span_biaffine", max_candidates=5)
    docs = [words_doc(nlp, WORDS) for _ in range(3)]
    (message,) = warned(nlp, docs)
    assert "'span_biaffine' found more than 5 candidate spans" in message
    assert "threshold, now 0.0" in message
    assert not warned(nlp, docs)
    # Another component has not been warned of.
    assert len(warned(untrained("span_biaffine", max_candidates=5), docs[:1])) == 1


def test_max_candidates_null_is_no_limit() -> None:
    nlp = untrained("span_offset", max_candidates=None)
    doc = words_doc(nlp, WORDS)
    assert not warned(nlp, [doc])
    assert len(spans_of(doc)) == 3 * 40 * 41 // 2


def test_max_candidates_does_not_depend_on_batches() -> None:
    nlp = untrained("span_biaffine", max_candidates=30)
    docs = [words_doc(nlp, WORDS[:length]) for length in (40, 9, 25)]
    expected = [nlp(doc.copy()) for doc in docs]
    assert_same_predictions(nlp.pipe(docs), expected)


@pytest.mark.parametrize("factory", FACTORIES)
def test_max_candidates_of_a_trained_model_cuts_nothing(factory: str) -> None:
    nlp = trained_copy(factory, "long", max_window=50, stride=20)
    doc = words_doc(nlp, 3 * WORDS)
    assert not warned(nlp, [doc])
    expected = scored_spans(doc)
    with_settings(nlp, max_candidates=None)
    assert scored_spans(nlp(words_doc(nlp, 3 * WORDS))) == expected
