"""Sentences with errors, as data and as markup."""

import re
from itertools import pairwise
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_spanner.evaluation.error_analysis import (
    MAX_SEGMENT,
    find_errors,
    segments,
    sentence_bounds,
)
from spacy_spanner.evaluation.report.displacy import (
    assign_lines,
    explain,
    label_colors,
    render_sentence,
    score_text,
    tooltip,
)
from spacy_spanner.evaluation.scorer import read_example

from ..helpers import Gold, annotate

WORDS = list("abcdefgh")
STARTS = [True, False, False, False, True, False, False, False]


def example_of(
    gold: Gold,
    predicted: Gold,
    scores: Optional[Sequence[float]] = None,
    starts: Optional[List[bool]] = None,
) -> Example:
    vocab = Vocab()
    reference = Doc(vocab, words=WORDS, sent_starts=starts)
    doc = annotate(Doc(vocab, words=WORDS), predicted)
    if scores is not None:
        doc.spans["ents"].attrs["scores"] = np.asarray(scores, "f")
    return Example(doc, annotate(reference, gold))


def errors_of(*examples: Example, low: Sequence[Example] = ()) -> List[Dict[str, Any]]:
    readings = [read_example(example, "ents") for example in examples]
    unfiltered = [read_example(example, "ents") for example in low] or None
    return find_errors(examples, readings, unfiltered)


def test_errors_by_sentence() -> None:
    gold = [(0, 2, "A"), (5, 6, "B")]
    example = example_of(gold, [(0, 2, "A"), (5, 7, "B")], [0.9, 0.75], STARTS)
    (item,) = errors_of(example)
    assert (item["doc"], item["start"]) == (0, 4)
    assert item["words"] == list("efgh")
    assert item["surprise"] == 0.75
    (error,) = item["errors"]
    assert (error["kind"], error["boundary"]) == ("boundary", "longer")
    assert error["gold"]["text"] == "f" and error["predicted"]["text"] == "f g"
    sides = [(span["side"], span["start"], span["end"]) for span in item["spans"]]
    assert sides == [("gold", 1, 2), ("predicted", 1, 3)]


def test_errors_the_surprising_first() -> None:
    sure = example_of([], [(0, 1, "A")], [0.9])
    unsure = example_of([], [(0, 1, "A")], [0.4])
    missed = example_of([(0, 1, "A")], [])
    found = errors_of(unsure, sure, missed)
    assert [item["doc"] for item in found] == [2, 1, 0]
    assert found[0]["surprise"] == 1.0


def test_errors_know_the_score_of_missed_spans() -> None:
    example = example_of([(0, 1, "A")], [], [])
    low = example_of([(0, 1, "A")], [(0, 1, "A")], [0.25])
    (item,) = errors_of(example, low=[low])
    assert item["surprise"] == 0.75
    assert item["spans"][0]["score"] == 0.25
    assert "scored 0.250" in explain(item["errors"][0])


def test_errors_without_errors() -> None:
    assert errors_of(example_of([(0, 1, "A")], [(0, 1, "A")])) == []


def test_sentence_bounds_of_reference_prediction_or_nothing() -> None:
    assert sentence_bounds(example_of([], [], starts=STARTS)) == [0, 4, 8]
    assert sentence_bounds(example_of([], [])) == [0, 8]
    vocab = Vocab()
    predicted = Doc(vocab, words=["ab", "c"], spaces=[False, True], sent_starts=[1, 1])
    reference = Doc(vocab, words=["a", "b", "c"], spaces=[False, False, True])
    assert sentence_bounds(Example(predicted, reference)) == [0, 2, 3]


def test_segments_never_cut_a_span() -> None:
    assert segments([0, 4, 8], [(3, 5, "A")]) == [(0, 8)]
    assert segments([0, 4, 8], [(2, 4, "A")]) == [(0, 4), (4, 8)]


@given(st.lists(st.tuples(st.integers(0, 180), st.integers(1, 15)), max_size=12))
def test_segments_cover_the_document(rows: list) -> None:
    spans = [(start, start + width, "A") for start, width in rows]
    pieces = segments([0, 100, 200], spans)
    assert pieces[0][0] == 0 and pieces[-1][1] == 200
    assert all(one[1] == two[0] for one, two in pairwise(pieces))
    for start, end, _ in spans:
        assert any(first <= start and end <= last for first, last in pieces)


def test_segments_of_a_long_text_are_short() -> None:
    pieces = segments([0, 1000], [])
    assert max(end - start for start, end in pieces) == MAX_SEGMENT


# --------------------------------------------------------------------- markup


def span(start: int, end: int, side: str = "gold", **extra: Any) -> Dict[str, Any]:
    default = {"label": "A", "score": None, "kind": "correct"}
    return {"start": start, "end": end, "side": side, **default, **extra}


def test_lines_gold_above_predicted_nested_below_each_other() -> None:
    spans = [span(1, 2), span(0, 4), span(5, 6), span(0, 4, "predicted")]
    assert assign_lines(spans) == [1, 0, 0, 2]
    assert assign_lines([span(0, 2), span(2, 3)]) == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=10))
def test_lines_hold_no_two_spans_that_share_a_token(rows: list) -> None:
    spans = [
        span(start, start + width, ("gold", "predicted")[place % 2])
        for place, (start, width) in enumerate(rows)
    ]
    lines = assign_lines(spans)
    cells = [
        (line, token)
        for line, one in zip(lines, spans)
        for token in range(one["start"], one["end"])
    ]
    assert len(cells) == len(set(cells))


def test_sentence_is_escaped_and_has_tooltips() -> None:
    hostile = "<script>alert(1)</script>"
    item = {
        "words": [hostile, "b"],
        "spaces": [True, False],
        "spans": [span(0, 1, "predicted", label='A"<b', score=0.5, kind="spurious")],
    }
    html = render_sentence(item, label_colors(['A"<b']))
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert 'title="predicted A&quot;&lt;b: spurious, score 0.50"' in html
    assert re.sub(r"<[^>]+>", "", html).replace("&nbsp;", " ").endswith("b")


def test_sentence_marks_what_is_wrong_only() -> None:
    item = {"words": ["a", "b"], "spaces": [True, False], "spans": [span(0, 2)]}
    assert "wrong" not in render_sentence(item, {"A": 0})
    item["spans"] = [span(0, 2, kind="missed")]
    html = render_sentence(item, {"A": 0})
    assert html.count("wrong") == 2  # below both tokens
    assert html.count("<b>") == 1


def test_tooltip_without_score() -> None:
    assert tooltip(span(0, 1)) == "gold A: correct, score unknown"
    assert score_text(0.125) == "0.12"


@pytest.mark.parametrize(
    "kind,gold,predicted,shown",
    [
        ("missed", "A", None, "missed <b>A</b> &ldquo;x&rdquo;"),
        ("spurious", None, "B", "spurious <b>B</b> &ldquo;x&rdquo;, score 0.50"),
        (
            "label",
            "A",
            "B",
            "<b>B</b> &ldquo;x&rdquo; instead of <b>A</b> &ldquo;x&rdquo;",
        ),
    ],
)
def test_explanation_in_words(
    kind: str, gold: Optional[str], predicted: Optional[str], shown: str
) -> None:
    sides = [
        label and {"text": "x", "label": label, "score": score}
        for label, score in ((gold, None), (predicted, 0.5))
    ]
    error = {"kind": kind, "gold": sides[0], "predicted": sides[1], "boundary": None}
    assert explain(error).startswith(shown)
