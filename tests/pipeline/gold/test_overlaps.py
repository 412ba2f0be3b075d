"""Gold spans that the overlap policy does not allow together are reported."""

from typing import Any, List

import pytest

from ...helpers import CROSSING, NESTED, blank_pipeline, make_examples
from .helpers import coded_warnings


def messages(gold: Any, overlap: str) -> List[str]:
    nlp = blank_pipeline("span_biaffine", overlap=overlap)
    examples = make_examples(nlp, gold)
    with coded_warnings() as found:
        optimizer = nlp.initialize(lambda: examples)
        nlp.update(examples, sgd=optimizer)
    return found


def test_nested_gold_with_flat_predictions_warns_once() -> None:
    (text,) = messages(NESTED, "flat")
    assert text.startswith("[SW072] 'span_biaffine': ")
    assert 'share tokens with another, but overlap = "flat"' in text
    assert 'set overlap = "nested" or "any".' in text


def test_crossing_gold_with_nested_predictions_warns_once() -> None:
    (text,) = messages(CROSSING, "nested")
    assert 'cross another, but overlap = "nested"' in text
    assert 'set overlap = "any".' in text


@pytest.mark.parametrize("gold, overlap", [(NESTED, "nested"), (CROSSING, "any")])
def test_allowed_gold_gives_no_warning(gold: Any, overlap: str) -> None:
    assert messages(gold, overlap) == []
