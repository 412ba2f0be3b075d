"""Data in which there is nothing to learn."""

from typing import List

import pytest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ...helpers import (
    FACTORIES,
    NESTED,
    annotate,
    blank_pipeline,
    make_examples,
    spans_of,
)


def unannotated(nlp: Language) -> List[Example]:
    return [Example(nlp.make_doc("A b."), nlp.make_doc("A b."))]


def test_initialize_wrong_spans_key_names_those_that_exist(factory: str) -> None:
    nlp = blank_pipeline(factory, spans_key="mentions")
    examples = unannotated(nlp)
    for key in ("sc", "coref"):
        annotate(examples[0].reference, [(0, 1, "X")], key)
    with pytest.raises(ValueError, match=r"SP003.*'mentions'.*'coref', 'sc'"):
        nlp.initialize(lambda: examples)


def test_initialize_without_any_annotation_names_none(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with pytest.raises(ValueError, match=r"SP003.*none of the 1 examples.*: none\."):
        nlp.initialize(lambda: unannotated(nlp))


def test_initialize_wrong_spans_key_beside_an_empty_doc(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED, "sc")
    with pytest.raises(ValueError, match=r"SP003.*'sc'"):
        nlp.initialize(lambda: examples)


def test_initialize_annotation_without_entities_has_no_labels(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [("It rained.", []), ("It snowed.", [])])
    with pytest.raises(ValueError, match=r"SP004.*the 2 examples are annotated"):
        nlp.initialize(lambda: examples)


def test_initialize_annotation_without_entities_takes_given_labels(
    factory: str,
) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [("It rained.", [])])
    pipe = nlp.get_pipe(factory)
    pipe.initialize(lambda: examples, nlp=nlp, labels=["B", "A"])
    assert pipe.labels == ("B", "A")


def test_initialize_without_examples(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with pytest.raises(TypeError, match="E930"):
        nlp.get_pipe(factory).initialize(lambda: [])


def test_initialize_only_empty_docs_builds_a_model(factory: str) -> None:
    nlp = blank_pipeline(factory)
    empty = Example(nlp.make_doc(""), annotate(nlp.make_doc(""), []))
    pipe = nlp.get_pipe(factory)
    pipe.initialize(lambda: [empty], nlp=nlp, labels=["A"])
    assert spans_of(pipe(Doc(nlp.vocab))) == []


@pytest.mark.parametrize("factory", FACTORIES)
def test_initialize_without_labels_names_the_groups_that_exist(factory: str) -> None:
    nlp = blank_pipeline(factory)
    reference = annotate(nlp.make_doc("Ann met Bob"), [(0, 1, "PER")], key="sc")
    reference.set_ents([])
    with pytest.raises(ValueError, match=r"SP004.*Existing span groups: 'sc'"):
        nlp.initialize(lambda: [Example(nlp.make_doc("Ann met Bob"), reference)])
