"""Gold that begins or ends with white space."""

from typing import Tuple

import pytest
from spacy.language import Language

from spacy_spanner.pipeline.annotations import gold_spans

from ...helpers import NESTED, annotate, blank_pipeline, make_examples, train
from .helpers import LABELS, coded_warnings, rows, same_words


@pytest.mark.parametrize("span", [(0, 2), (1, 3), (0, 3), (0, 1)])
def test_padded_gold_is_no_target(span: Tuple[int, int]) -> None:
    nlp = Language()
    example = same_words(nlp, ["\n", "Boston", "  ", "won", "."])
    annotate(example.reference, [(*span, "GPE"), (1, 2, "GPE")])
    gold = gold_spans(example, "ents", LABELS)
    assert gold is not None
    assert rows(gold) == [(1, 2, 0)]
    assert len(gold.padded) == 1


def test_white_space_inside_gold_is_learned() -> None:
    example = same_words(Language(), ["New", "\n", "York"])
    annotate(example.reference, [(0, 3, "GPE")])
    assert rows(gold_spans(example, "ents", LABELS)) == [(0, 3, 0)]


def test_padded_gold_is_counted_once_with_sw001(factory: str) -> None:
    nlp = blank_pipeline(factory)
    padded = same_words(nlp, ["In", "Boston", "\n"])
    annotate(padded.reference, [(1, 3, "GPE")])
    with coded_warnings() as found:
        train(nlp, [*make_examples(nlp, NESTED), padded], updates=3)
    assert len(found) == 1
    assert (
        "cannot learn 1 of 7 gold spans in the data: "
        "1 that begin or end with whitespace" in found[0]
    )
