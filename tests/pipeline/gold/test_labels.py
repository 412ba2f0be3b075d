"""Labels that are unknown, absent, or the second of a span."""

import pytest
from spacy.training import Example

from ...helpers import FACTORIES, NESTED, annotate, blank_pipeline, make_examples
from .helpers import coded_warnings, initialized, same_words


def test_unknown_labels_are_named_once_with_sw003(factory: str) -> None:
    nlp = initialized(factory)
    new = make_examples(nlp, [("Boston won.", [(0, 1, "TEAM"), (0, 1, "GPE")])])
    newer = make_examples(nlp, [("Boston won.", [(0, 1, "TEAM"), (0, 1, "CITY")])])
    pipe = nlp.get_pipe(factory)
    with coded_warnings() as found:
        for examples in (new, new, newer, newer):
            pipe.update(examples)
    assert len(found) == 2
    assert "[SW003]" in found[0]
    assert "ignored: TEAM." in found[0]
    assert "ignored: CITY." in found[1]


def test_unknown_labels_teach_no_entity_but_known_ones_stay(factory: str) -> None:
    pipe = initialized(factory).get_pipe(factory)
    known, both = same_words(pipe), same_words(pipe)
    annotate(known.reference, [(1, 2, "GPE")])
    annotate(both.reference, [(1, 2, "GPE"), (0, 4, "NEW")])
    with coded_warnings():
        losses = [pipe.get_loss([example])[0] for example in (known, both)]
    assert losses[0] == pytest.approx(losses[1])


def test_labels_given_to_initialize_warn_of_the_others(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    with coded_warnings() as found:
        pipe = nlp.get_pipe(factory)
        pipe.initialize(lambda: examples, labels=["GPE"])
        pipe.update(examples)
    assert len(found) == 1
    assert "[SW003]" in found[0]
    assert "ignored: ORG, PER." in found[0]


@pytest.mark.parametrize("factory", FACTORIES)
def test_gold_without_a_label_is_counted_and_makes_no_label(factory: str) -> None:
    nlp = blank_pipeline(factory)
    reference = annotate(nlp.make_doc("Ann met Bob"), [(0, 1, "PER"), (2, 3, "")])
    with coded_warnings() as found:
        nlp.initialize(lambda: [Example(nlp.make_doc("Ann met Bob"), reference)])
    assert nlp.get_pipe(factory).labels == ("PER",)
    assert "1 without a label (such as 'Bob')" in found[0]


def test_second_label_of_a_span_is_counted_unless_multilabel() -> None:
    for multilabel, n_warnings in ((False, 1), (True, 0)):
        nlp = blank_pipeline("span_biaffine", multilabel=multilabel)
        gold = [(0, 1, "PER"), (0, 1, "GPE")]
        reference = annotate(nlp.make_doc("Ann met Bob"), gold)
        with coded_warnings() as found:
            nlp.initialize(lambda: [Example(nlp.make_doc("Ann met Bob"), reference)])  # noqa: B023
        assert len(found) == n_warnings
        assert all("multilabel = true" in text for text in found)
