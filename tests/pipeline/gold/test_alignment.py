"""Spans on the tokens of the other document: as spaCy finds them, in linear time."""

from itertools import pairwise
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_spanner.evaluation.scorer import read_example, score_spans
from spacy_spanner.pipeline.alignment import (
    on_predicted,
    on_reference,
    touched_in_predicted,
)
from spacy_spanner.pipeline.annotations import gold_spans
from spacy_spanner.pipeline.marks import read_marks

from ...helpers import annotate
from .helpers import LABELS

VOCAB = Vocab()
Place = Optional[Tuple[int, int]]


def one_by_one(spans: Sequence[Span], align: Any) -> List[Place]:
    """What spaCy finds for each span alone."""
    found = [align([span], allow_overlap=True) for span in spans]
    return [(one[0].start, one[0].end) if one else None for one in found]


def touched_one_by_one(example: Example, spans: Sequence[Span]) -> List[Place]:
    tokens = example.alignment.y2x
    found = [tokens[span.start : span.end] for span in spans]
    return [(min(one), max(one) + 1) if len(one) else None for one in found]


@st.composite
def tokenised(draw: Any, text: str) -> Doc:
    """Cut a text anywhere, maybe in other letters or without some of its spaces."""
    cuts = draw(st.sets(st.integers(0, len(text)))) | {0, len(text)}
    edges = sorted(cuts)
    pieces = [text[start:end] for start, end in pairwise(edges)]
    if draw(st.booleans()):
        pieces = [piece.swapcase() for piece in pieces]
    if draw(st.booleans()):
        pieces = [piece for piece in pieces if piece != " "]
    spaces = [len(piece) > 1 and piece.endswith(" ") for piece in pieces]
    words = [piece[:-1] if space else piece for piece, space in zip(pieces, spaces)]
    return Doc(VOCAB, words=words, spaces=spaces)


@st.composite
def all_spans(draw: Any, doc: Doc) -> List[Span]:
    """Any spans of a document, also empty ones."""
    ends = st.integers(0, len(doc))
    places = draw(st.lists(st.tuples(ends, ends).map(sorted), max_size=8))
    return [Span(doc, start, end, "A") for start, end in places]


@st.composite
def examples(draw: Any) -> Example:
    text = draw(st.text("aBİ -\n", max_size=12))
    doc = draw(tokenised(text))
    reference = doc.copy() if draw(st.booleans()) else draw(tokenised(text))
    return Example(doc, reference)


@given(examples(), st.data())
def test_places_are_those_that_spacy_finds(example: Example, data: Any) -> None:
    predicted = data.draw(all_spans(example.predicted))
    gold = data.draw(all_spans(example.reference))
    expected = one_by_one(predicted, example.get_aligned_spans_x2y)
    assert on_reference(example, predicted) == expected
    expected = one_by_one(gold, example.get_aligned_spans_y2x)
    assert on_predicted(example, gold) == expected
    expected = touched_one_by_one(example, gold)
    assert touched_in_predicted(example, gold) == expected


def test_tokens_of_different_texts_fail_only_with_spans() -> None:
    example = Example(Doc(VOCAB, words=["a"]), Doc(VOCAB, words=["b"]))
    assert on_reference(example, []) == on_predicted(example, []) == []
    with pytest.raises(ValueError, match="E949"):
        on_reference(example, [example.predicted[:1]])


class Watched(Example):
    """Counts how often the alignment is read, which reads all tokens."""

    n_readings = 0

    @property
    def alignment(self) -> Any:
        self.n_readings += 1
        return Example.alignment.__get__(self)


READERS: Dict[str, Callable[[Example], Any]] = {
    "gold": lambda example: gold_spans(example, "ents", LABELS),
    "marks": lambda example: read_marks(example, "ents", LABELS, 0.5),
    "predicted": lambda example: read_example(example, "ents"),
    "scores": lambda example: score_spans([example]),
}


def n_readings(read: Callable[[Example], Any], n_spans: int, end: List[str]) -> int:
    """RETURNS: how often the alignment is read of a document with spans and marks.

    end: the last tokens of the reference, which are "-" and "-" in the prediction.
    """
    words = ["New", "York"] * n_spans
    spans = [(2 * n, 2 * n + 2, "GPE") for n in range(n_spans)]
    predicted = annotate(Doc(VOCAB, words=[*words, "-", "-"]), spans)
    reference = annotate(Doc(VOCAB, words=[*words, *end]), spans)
    for key in ("ents:incomplete", "ents:not"):
        reference.spans[key] = list(reference.spans["ents"])
    example = Watched(predicted, reference)
    read(example)
    return example.n_readings


@pytest.mark.parametrize("end", [["-", "-"], ["--"]], ids=["same", "other"])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_alignment_is_read_as_often_for_many_spans_as_for_one(
    read: Callable[[Example], Any], end: List[str]
) -> None:
    assert n_readings(read, 50, end) == n_readings(read, 1, end)


@pytest.mark.parametrize("name", ["gold", "marks", "predicted"])
def test_same_tokens_need_no_alignment(name: str) -> None:
    assert n_readings(READERS[name], 3, ["-", "-"]) == 0
