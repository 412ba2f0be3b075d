"""Counts of corpora, and how they are laid out."""

import json
import re
from typing import Any, List, Tuple

import numpy as np
import pytest
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_spanner.corpus.count_tables import as_markdown, as_text, lay_out
from spacy_spanner.corpus.statistics import (
    Reach,
    Statistics,
    count_docs,
    seed_overlap,
)
from spacy_spanner.spans.table import SpanTable

VOCAB = Vocab()
Rows = List[Tuple[int, int, str]]


def make_doc(n_tokens: int, spans: Rows, starts: Tuple[int, ...] = (0,)) -> Doc:
    flags: List[Any] = [index in starts for index in range(n_tokens)]
    doc = Doc(VOCAB, words=["w"] * n_tokens, sent_starts=flags)
    doc.spans["ents"] = [Span(doc, s, e, label=label) for s, e, label in spans]
    return doc


def count(*docs: Doc, **reach: Any) -> Statistics:
    return count_docs(docs, "ents", Reach(**reach))


# Two sentences of 4 and 3 tokens: nested, crossing and double-labelled entities in the
# first, one entity across both.
SPANS = [(0, 3, "A"), (1, 2, "B"), (2, 4, "A"), (1, 2, "C"), (3, 5, "A"), (6, 7, "B")]
SAMPLE = make_doc(7, SPANS, (0, 4))


def test_count_docs_of_sizes() -> None:
    found = count(SAMPLE, make_doc(2, []), Doc(VOCAB, words=["x"]))
    assert (found.documents, found.unannotated) == (3, 1)
    assert (found.sentences, found.tokens, found.longest_sentence) == (3, 9, 4)
    assert found.entities == 6
    assert found.sentences_empty == 1


def test_count_docs_of_overlap() -> None:
    found = count(SAMPLE)
    assert found.nested == 5
    assert found.crossing == 3  # (0, 3) with (2, 4), (2, 4) with (3, 5)
    assert (found.spans, found.multilabel) == (5, 1)
    assert found.sentences_nested == 1
    assert found.across_sentences == 1


def test_count_docs_by_length_and_label() -> None:
    found = count(SAMPLE)
    assert found.lengths == {1: 3, 2: 2, 3: 1}
    labels = {label: tuple(vars(n).values()) for label, n in found.labels.items()}
    assert labels == {"A": (3, 7, 3), "B": (2, 2, 1), "C": (1, 1, 1)}


def test_marks_are_counted_and_shown() -> None:
    doc, other = make_doc(7, SPANS), Doc(VOCAB, words=["a", "b"])
    assert "marked incomplete" not in as_text(lay_out({"x": count(doc)}))
    doc.spans["ents:incomplete"] = [doc[0:3], doc[4:6]]
    other.spans["ents:not"] = [other[0:1]]  # nothing else is known about it
    found = count(doc, other, make_doc(2, []))
    assert (found.incomplete, found.not_entities) == (2, 1)
    page = as_text(lay_out({"x": found}))
    assert re.search(r"documents marked incomplete +2\n", page)
    assert re.search(r"spans known not to be entities +1\n", page)


def test_count_docs_ignores_exact_duplicates() -> None:
    assert count(make_doc(3, [(0, 1, "A"), (0, 1, "A")])).entities == 1


def test_count_docs_reads_entities_where_there_is_no_group() -> None:
    doc = Doc(VOCAB, words=["a", "b"])
    doc.set_ents([Span(doc, 0, 1, label="X")])
    assert count(doc).entities == 1


@pytest.mark.parametrize(
    "reach, width, window, seed",
    [
        pytest.param({}, 6, 5, 5, id="default"),
        pytest.param({"max_width": 2}, 5, 5, 5, id="narrow"),
        pytest.param({"window": "doc"}, 6, 6, 6, id="document"),
        pytest.param({"max_window": 2, "stride": 1}, 6, 4, 4, id="small windows"),
        pytest.param({"seeds": (1,)}, 6, 5, 3, id="seeds of one token"),
        pytest.param({"seeds": (2,), "min_iou": 0.6}, 6, 5, 2, id="seeds of two"),
        pytest.param({"seeds": ()}, 6, 5, 0, id="no seeds"),
    ],
)
def test_count_docs_of_what_is_within_reach(
    reach: dict, width: int, window: int, seed: int
) -> None:
    found = count(SAMPLE, **reach)
    assert (found.in_width, found.in_window, found.by_seed) == (width, window, seed)


def test_seed_overlap_is_that_of_the_best_seed() -> None:
    table = SpanTable.of([(0, 1, 0), (0, 4, 0), (2, 12, 0)])
    found = seed_overlap(table, np.asarray([1, 3, 5]))
    np.testing.assert_allclose(found, [1.0, 0.8, 0.5])


@pytest.mark.parametrize(
    "reach",
    [
        {"max_width": 0},
        {"window": "page"},
        {"stride": -1},
        {"min_iou": 2},
        {"seeds": (0,)},
        {"max_window": 5, "stride": 5},
    ],
)
def test_reach_with_impossible_values_fails(reach: dict) -> None:
    with pytest.raises(ValueError, match="SP002"):
        Reach(**reach)


# --------------------------------------------------------------------- layout


def test_to_dict_can_be_written_as_json() -> None:
    found = json.loads(json.dumps(count(SAMPLE).to_dict()))
    assert found["entities"] == 6
    assert found["lengths"] == {"1": 3, "2": 2, "3": 1}
    assert found["labels"]["B"] == {"entities": 2, "tokens": 2, "nested": 1}
    assert found["reach"]["max_width"] == 12


def test_markdown_has_a_column_for_each_corpus() -> None:
    page = as_markdown(lay_out({"train": count(SAMPLE), "a|b": count()}))
    assert "|  | train | a\\|b |" in page
    assert "| entities | 6 | 0 |" in page
    assert "| nested entities | 5 (83.3 %) | 0 |" in page
    assert "| spans with several labels | 1 (20.0 %) | 0 |" in page
    assert "| tokens a sentence | 3.50 | - |" in page
    assert "| B | 2, 1.00, 1 | 0 |" in page


def test_text_has_the_same_rows() -> None:
    tables = lay_out({"train": count(SAMPLE)})
    page = as_text(tables)
    for table in tables:
        assert table.title in page
        for name, *_ in table.rows:
            assert name in page


def test_lengths_of_all_entities_are_in_some_class() -> None:
    doc = make_doc(60, [(0, n, "A") for n in range(1, 60)])
    (lengths,) = (t for t in lay_out({"x": count(doc)}) if t.title.startswith("Length"))
    shares = [row[1] for row in lengths.rows if "%" in row[1]]
    assert sum(int(share.split()[0]) for share in shares) == 59
    assert lengths.rows[-1] == ["longest", "59"]
