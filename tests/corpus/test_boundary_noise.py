"""Moved boundaries of training data: how many, where to, and the same in each epoch."""

from typing import Any, List

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.training import Example
from spacy.util import registry

from spacy_spanner.corpus.boundary_noise import (
    make_boundary_noise,
    move_boundaries,
)
from spacy_spanner.evaluation.counts import SpanKey

from ..helpers import NESTED, make_examples

SPANS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("AB")),
    unique=True,
).map(lambda rows: list(dict.fromkeys((s, min(s + n, 9), x) for s, n, x in rows)))


@given(SPANS, st.integers(1, 3), st.integers(0, 5))
def test_one_boundary_is_moved_by_at_most_the_distance(
    spans: List[SpanKey], distance: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    moved = move_boundaries(spans, n_tokens=9, level=1.0, distance=distance, rng=rng)
    assert len(moved) == len(set(moved)) == len(spans)
    for (start, end, label), (new_start, new_end, new_label) in zip(spans, moved):
        assert new_label == label and 0 <= new_start < new_end <= 9
        assert 0 in (start - new_start, end - new_end)
        assert abs(start - new_start) + abs(end - new_end) <= distance


def test_share_of_moved_spans_is_the_level() -> None:
    spans = [(place, place + 2, "A") for place in range(0, 6000, 3)]
    rng = np.random.default_rng(0)
    moved = move_boundaries(spans, n_tokens=6000, level=0.3, distance=1, rng=rng)
    share = np.mean([old != new for old, new in zip(spans, moved)])
    assert share == pytest.approx(0.3, abs=0.03)
    rng = np.random.default_rng(0)
    none = move_boundaries(spans, n_tokens=6000, level=0.0, distance=1, rng=rng)
    assert none == spans


def test_same_text_gets_the_same_errors_and_keeps_its_gold() -> None:
    nlp = spacy.blank("en")
    example = make_examples(nlp, NESTED)[0]
    before = [(span.start, span.end) for span in example.reference.spans["ents"]]

    def moved(augment: Any) -> List[tuple]:
        (found,) = augment(nlp, example)
        assert found.predicted is example.predicted
        return [(span.start, span.end) for span in found.reference.spans["ents"]]

    name = "spacy_spanner.boundary_noise.v1"
    augment = registry.augmenters.get(name)(level=1.0)
    first = moved(augment)
    assert first != before and moved(augment) == first
    assert [(s.start, s.end) for s in example.reference.spans["ents"]] == before
    others = [moved(make_boundary_noise(1.0, seed=seed)) for seed in range(1, 9)]
    assert any(other != first for other in others)


def test_documents_without_annotation_stay_as_they_are() -> None:
    nlp = spacy.blank("en")
    example = make_examples(nlp, NESTED, key="other")[0]
    (found,) = make_boundary_noise(1.0)(nlp, example)
    assert found is example


@pytest.mark.parametrize("settings", [{"level": 2}, {"distance": 0}, {"seed": -1}])
def test_values_out_of_their_limits(settings: Any) -> None:
    with pytest.raises(ValueError, match="SP002"):
        make_boundary_noise(**settings)


def test_a_text_with_marks_alone_stays_incomplete() -> None:
    nlp = spacy.blank("en")
    reference = nlp.make_doc("a b c")
    reference.spans["ents:not"] = [reference[1:2]]
    augment = make_boundary_noise(level=0.5)
    (found,) = augment(nlp, Example(nlp.make_doc("a b c"), reference))
    (region,) = found.reference.spans["ents:incomplete"]
    assert (region.start, region.end) == (0, 3)
