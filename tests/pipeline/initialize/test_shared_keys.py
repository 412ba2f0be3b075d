"""Components that write the same group, of which a later one deletes the spans."""

import warnings
from typing import Any, Dict, List

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ...helpers import (
    COURT_WORDS,
    NESTED,
    annotate,
    blank_pipeline,
    make_examples,
    small_model,
    spans_of,
)
from .helpers import COURT

FACTORY, LATER = "span_biaffine", "later"


def add(nlp: Language, name: str, **settings: Any) -> None:
    nlp.add_pipe(FACTORY, name, config={"model": small_model(FACTORY), **settings})


def pipeline_of(first: str, **settings: Any) -> Language:
    nlp = spacy.blank("en")
    config: Dict[str, Any] = {"spans_key": "ents"}
    if first == FACTORY:
        config["model"] = small_model(FACTORY)
    nlp.add_pipe(first, config=config)
    add(nlp, LATER, **settings)
    return nlp


def deleted(nlp: Language) -> List[str]:
    """RETURNS (List[str]): the warnings of an initialization."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.initialize(lambda: make_examples(nlp, NESTED))
    return [str(one.message) for one in caught if "SW009" in str(one.message)]


@pytest.mark.parametrize("first", [FACTORY, "spancat", "span_ruler", "span_finder"])
def test_later_component_that_deletes_spans_is_named(first: str) -> None:
    (message,) = deleted(pipeline_of(first))
    assert f"'{LATER}' deletes the spans that earlier components ('{first}')" in message
    assert "doc.spans['ents']" in message
    assert "overwrite = false" in message


@pytest.mark.parametrize("settings", [{"overwrite": False}, {"spans_key": "own"}])
def test_components_that_share_or_do_not_meet(settings: Dict[str, Any]) -> None:
    for first in (FACTORY, "span_ruler"):
        nlp = pipeline_of(first, **settings)
        key = settings.get("spans_key", "ents")
        examples = make_examples(nlp, NESTED)
        for example in examples:
            example.reference.spans[key] = list(example.reference.spans["ents"])
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.filterwarnings("ignore", message=r".*\[W036\].*")
            nlp.initialize(lambda examples=examples: examples)


def test_ruler_after_a_component_deletes_nothing() -> None:
    nlp = blank_pipeline(FACTORY)
    nlp.add_pipe("span_ruler", config={"spans_key": "ents"})
    assert deleted(nlp) == []


def test_frozen_component_that_deletes_spans_is_named_by_the_earlier() -> None:
    nlp = pipeline_of(FACTORY)
    deleted(nlp)
    with nlp.select_pipes(disable=[LATER]):
        (message,) = deleted(nlp)
    assert f"'{LATER}' deletes" in message
    assert f"('{FACTORY}')" in message


def test_each_pair_is_named_once() -> None:
    nlp = pipeline_of(FACTORY)
    add(nlp, "last")
    first, second = deleted(nlp)
    assert f"'{LATER}' deletes" in first
    assert f"('{FACTORY}')" in first
    assert "'last' deletes" in second
    assert f"('{FACTORY}', '{LATER}')" in second


def test_what_the_warning_says_is_true() -> None:
    nlp = blank_pipeline(FACTORY)
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    pipe: Any = nlp.get_pipe(FACTORY)
    pipe.cfg["threshold"] = 1.0
    for overwrite, kept in ((True, []), (False, [(0, 1, "X")])):
        pipe.cfg["overwrite"] = overwrite
        doc = annotate(Doc(nlp.vocab, words=COURT_WORDS), [(0, 1, "X")])
        assert spans_of(pipe(doc)) == kept
    assert nlp(COURT).text == COURT
