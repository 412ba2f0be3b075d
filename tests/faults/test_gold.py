"""Whatever gold is like, a batch of it is learned from, counted or refused in words."""

import warnings
from itertools import pairwise
from typing import Any, Dict, List

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from ..helpers import (
    SEVERAL_LABELS,
    annotate,
    blank_pipeline,
    copy_of,
    doc_of,
    make_examples,
    spans_of,
    train,
)
from .strategies import ODD_LABELS, documents
from .strategies import doc_of as drawn_doc
from .test_documents import Count, assert_sound, fuzz

LABELS = ["A", "B", "C"]
ALL = ("The cat sat.", [(0, 4, label) for label in LABELS])


def with_labels(factory: str, **settings: Any) -> Language:
    """Make a pipeline that knows the labels and nothing else."""
    nlp = blank_pipeline(factory, **settings)
    train(nlp, make_examples(nlp, [ALL]), updates=0)
    return nlp


def example_of(nlp: Language, content: Dict, cuts: List[int]) -> Example:
    """Put gold on its own tokens, and let the predicted text have others."""
    reference = drawn_doc(nlp.vocab, content)
    annotate(reference, content["gold"])
    return Example(recut(reference, cuts), reference)


def recut(doc: Doc, cuts: List[int]) -> Doc:
    """Cut the same text elsewhere: here and there a token less, or one more."""
    if not cuts:
        return doc.copy()
    text = doc.text
    bounds = {token.idx for token in doc} ^ {cut % max(1, len(text)) for cut in cuts}
    ends = sorted({*bounds, len(text)} - {0})
    words = [text[start:end] for start, end in zip([0, *ends], ends)]
    return Doc(doc.vocab, words=words, spaces=[False] * len(words))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("settings", [{}, {"max_window": 6, "stride": 2}])
def test_any_gold_gives_a_finite_loss_and_finite_weights(
    factory: str, settings: Dict, tried: Count
) -> None:
    nlp = with_labels(factory, **settings)
    optimizer = nlp.create_optimizer()
    cuts = st.lists(st.integers(0, 60), max_size=3)

    @fuzz
    @given(st.lists(st.tuples(documents(LABELS), cuts), min_size=1, max_size=3))
    def check(batch: List) -> None:
        tried("gold documents", len(batch))
        examples = [example_of(nlp, content, own) for content, own in batch]
        losses = nlp.update(examples, sgd=optimizer)
        assert np.isfinite(losses[factory])
        assert losses[factory] >= 0
        nlp.evaluate(examples)
        for doc in nlp.pipe(example.predicted.copy() for example in examples):
            assert_sound(doc)

    check()


def test_labels_of_any_characters_are_learned_stored_and_scored(
    factory: str, tried: Count
) -> None:
    nlp = blank_pipeline(factory)
    words = [f"word{index}" for index in range(len(ODD_LABELS))]
    spans = [(index, index + 1, label) for index, label in enumerate(ODD_LABELS)]
    doc = doc_of(words, spans)
    tried("labels", len(ODD_LABELS))
    train(nlp, [Example(Doc(nlp.vocab, words=words), doc)], updates=2)
    pipe = nlp.get_pipe(factory)
    assert pipe.labels == tuple(sorted(ODD_LABELS))
    pipe.cfg["label_thresholds"] = dict.fromkeys(ODD_LABELS, 0.001)
    pipe.cfg["overlap"] = "any"
    loaded = copy_of(nlp)
    assert loaded.get_pipe(factory).labels == pipe.labels
    found = spans_of(loaded(Doc(loaded.vocab, words=words)))
    assert found == spans_of(nlp(Doc(nlp.vocab, words=words)))
    scores = nlp.evaluate([Example(Doc(nlp.vocab, words=words), doc)])
    assert set(scores["spans_ents_per_type"]) == set(ODD_LABELS)


def test_label_that_is_empty_is_refused_in_words(factory: str) -> None:
    nlp = blank_pipeline(factory)
    reference = annotate(nlp.make_doc("A b"), [(0, 1, ""), (1, 2, "B")])
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        nlp.initialize(lambda: [Example(nlp.make_doc("A b"), reference)])
    assert nlp.get_pipe(factory).labels == ("B",)


TEN_DEEP = (
    " ".join(f"w{index}" for index in range(12)),
    [(index // 2, 11 - (index + 1) // 2, "A") for index in range(10)],
)


def test_ten_deep_is_nested_ten_deep() -> None:
    spans = sorted(TEN_DEEP[1], key=lambda span: span[0] - span[1])
    assert len(set(spans)) == 10
    for outer, inner in pairwise(spans):
        assert outer[0] <= inner[0] < inner[1] <= outer[1]


@pytest.mark.slow
def test_spans_nested_ten_deep_are_learned_by_heart(factory: str) -> None:
    nlp = blank_pipeline(factory, threshold=0.3)
    train(nlp, make_examples(nlp, [TEN_DEEP, ("It rained.", [])]), updates=300)
    assert set(spans_of(nlp(TEN_DEEP[0]))) == set(TEN_DEEP[1])


@pytest.mark.slow
def test_span_over_the_whole_document_with_all_labels(factory: str) -> None:
    several = factory in SEVERAL_LABELS
    nlp = with_labels(factory, **SEVERAL_LABELS.get(factory, {}))
    examples = make_examples(nlp, [ALL, ("It rained.", [])])
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(100):
        nlp.update(examples, sgd=optimizer)
    nlp.get_pipe(factory).cfg["threshold"] = 0.3 if several else 0.1
    found = set(spans_of(nlp(ALL[0])))
    assert found
    assert found <= set(ALL[1])
    assert not several or found == set(ALL[1])


def test_hundreds_of_labels(factory: str, tried: Count) -> None:
    labels = [f"L{index:03}" for index in range(300)]
    tried("labels", len(labels))
    words = ["word"] * 300
    spans = [(index, index + 1, label) for index, label in enumerate(labels)]
    nlp = blank_pipeline(factory)
    starts = [index % 10 == 0 for index in range(300)]
    doc = Doc(nlp.vocab, words=words, sent_starts=starts)
    examples = [Example(doc, doc_of(words, spans))]
    train(nlp, examples, updates=1)
    assert nlp.get_pipe(factory).labels == tuple(labels)
    assert np.isfinite(nlp.get_pipe(factory).get_loss(examples)[0])


def test_unknown_labels_of_later_gold_are_named_once(factory: str) -> None:
    nlp = with_labels(factory)
    data = [("The cat sat.", [(0, 1, "A"), (1, 2, "{0}"), (2, 3, "%d")])]
    with pytest.warns(UserWarning, match=r"SW003.*%d.*\{0\}"):
        nlp.update(make_examples(nlp, data))
