"""What counts as gold, what cannot be learned, and that nothing is lost in silence."""

import warnings
from contextlib import contextmanager
from typing import Iterator, List, Optional, Sequence, Tuple

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_spanner.annotations import GoldSpans, gold_spans

from .helpers import (
    COURT_WORDS,
    FACTORIES,
    NESTED,
    annotate,
    blank_pipeline,
    defaults_of,
    make_examples,
    spans_of,
    train,
)

LABELS = {"GPE": 0, "ORG": 1, "PER": 2}
COURT = NESTED[0][0]
LIMITED_WIDTH = [name for name in FACTORIES if "max_width" in defaults_of(name)]


@contextmanager
def coded_warnings() -> Iterator[List[str]]:
    """Collect the texts of this package's warnings, each time that they are given."""
    found: List[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found.extend(str(one.message) for one in caught if "[SW" in str(one.message))


def same_words(nlp: Language, words: Sequence[str] = COURT_WORDS) -> Example:
    """Make an example without annotation."""
    words = list(words)
    return Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))


def rows(gold: Optional[GoldSpans]) -> List[Tuple[int, int, int]]:
    assert gold is not None
    return [(start, end, label) for start, end, label, _ in gold.spans.rows()]


def initialized(factory: str, **settings: object) -> Language:
    """Make an untrained component for the labels of `NESTED`."""
    nlp = blank_pipeline(factory, **settings)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    return nlp


def gradients(nlp: Language, factory: str) -> List[np.ndarray]:
    """List the gradients that wait for the optimizer, of encoder and head."""
    model = nlp.get_pipe(factory).model
    module = model.get_ref("output_layer").shims[0].module
    torch_grads = [p.grad.numpy() for p in module.parameters() if p.grad is not None]
    return torch_grads + [
        node.get_grad(name)
        for node in model.walk()
        for name in node.param_names
        if node.has_grad(name)
    ]


# ------------------------------------------------------------- what is gold


def test_gold_group_comes_before_entities(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="FROM_ENTS")])
    annotate(example.reference, [(0, 4, "FROM_GROUP")])
    nlp.initialize(lambda: [example])
    assert nlp.get_pipe(factory).labels == ("FROM_GROUP",)


def test_gold_entities_where_group_is_absent(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="FROM_ENTS")])
    annotate(example.reference, [(0, 4, "OTHER")], key="sc")
    nlp.initialize(lambda: [example])
    assert nlp.get_pipe(factory).labels == ("FROM_ENTS",)


def test_gold_entities_are_learned(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = same_words(nlp)
    example.reference.set_ents([Span(example.reference, 1, 2, label="GPE")])
    train(nlp, [example])
    assert spans_of(nlp(COURT)) == [(1, 2, "GPE")]
    assert nlp.evaluate([example])["spans_ents_f"] == 1.0


def test_gold_empty_group_is_not_filled_from_entities(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    example.reference.set_ents([Span(example.reference, 1, 2, label="GPE")])
    annotate(example.reference, [])
    assert rows(gold_spans(example, "ents", LABELS)) == []


def test_gold_of_predicted_doc_is_not_read(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    annotate(example.predicted, [(0, 4, "ORG")])
    assert gold_spans(example, "ents", LABELS) is None


def test_gold_entities_said_to_be_none_mean_no_entities(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    example.reference.set_ents([])
    assert rows(gold_spans(example, "ents", LABELS)) == []


def test_gold_exact_duplicates_are_removed(factory: str) -> None:
    example = same_words(blank_pipeline(factory))
    spans = [(0, 4, "ORG"), (1, 2, "GPE"), (0, 4, "ORG"), (0, 4, "PER")]
    annotate(example.reference, spans)
    gold = gold_spans(example, "ents", LABELS)
    assert rows(gold) == [(0, 4, 1), (1, 2, 0), (0, 4, 2)]


def test_gold_exact_duplicates_do_not_change_loss(factory: str) -> None:
    pipe = initialized(factory).get_pipe(factory)
    once, twice = same_words(pipe), same_words(pipe)
    annotate(once.reference, [(0, 4, "ORG")])
    annotate(twice.reference, [(0, 4, "ORG"), (0, 4, "ORG")])
    assert pipe.get_loss([twice])[0] == pytest.approx(pipe.get_loss([once])[0])


# ------------------------------------------------------------------ missing


def test_missing_annotation_gives_no_loss_and_no_gradient(factory: str) -> None:
    nlp = initialized(factory)
    pipe = nlp.get_pipe(factory)
    assert pipe.update([same_words(nlp), same_words(nlp)]) == {factory: 0.0}
    assert not any(gradient.any() for gradient in gradients(nlp, factory))


def test_empty_group_gives_loss_and_gradient(factory: str) -> None:
    nlp = initialized(factory)
    example = same_words(nlp)
    annotate(example.reference, [])
    assert nlp.get_pipe(factory).update([example])[factory] > 0.1
    # Not all: some weights of a model may learn from entities alone.
    assert sum(gradient.any() for gradient in gradients(nlp, factory)) > 5


def test_missing_annotation_beside_gold_changes_neither_loss_nor_gradient(
    factory: str,
) -> None:
    found = []
    for n_missing in (0, 2):
        nlp = initialized(factory)
        gold = make_examples(nlp, NESTED[:2])
        missing = [same_words(nlp, COURT_WORDS[:5]) for _ in range(n_missing)]
        losses = nlp.get_pipe(factory).update([*missing[:1], *gold, *missing[1:]])
        found.append((losses[factory], gradients(nlp, factory)))
    (loss, grads), (other_loss, other_grads) = found
    assert loss == pytest.approx(other_loss, rel=1e-5)
    for one, two in zip(grads, other_grads, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)


def test_missing_annotation_is_counted_once_with_sw002(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = [*make_examples(nlp, NESTED), same_words(nlp), same_words(nlp)]
    with coded_warnings() as found:
        optimizer = nlp.initialize(lambda: examples)
        for _ in range(2):
            nlp.update(examples, sgd=optimizer)
    assert len(found) == 1
    assert f"[SW002] '{factory}': 2 of 6 examples" in found[0]


def test_complete_annotation_gives_no_warning(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    assert found == []


# ------------------------------------------------------------- tokenisation

REFERENCE = (["New", "York", "-", "based"], [True, False, False, False])


@pytest.mark.parametrize(
    "words,spaces,span,expected",
    [
        (*REFERENCE, (0, 2), (0, 2)),
        (["New", "York-based"], [True, False], (0, 2), None),
        (["New", "York-based"], [True, False], (2, 4), None),
        (["New", "York-based"], [True, False], (0, 1), (0, 1)),
        (["New", "York-based"], [True, False], (0, 4), (0, 2)),
        (["New", "York-based"], [True, False], (1, 4), (1, 2)),
        (["New", "Y", "ork", "-based"], [True, False, False, False], (0, 2), (0, 3)),
        (["New", "Y", "ork", "-based"], [True, False, False, False], (1, 2), (1, 3)),
        (["New", "Y", "ork", "-based"], [True, False, False, False], (1, 3), None),
        (["New", "Y", "ork-", "based"], [True, False, False, False], (0, 2), None),
        (["New", "Y", "ork-", "based"], [True, False, False, False], (3, 4), (3, 4)),
    ],
)
def test_gold_moves_to_predicted_tokens(
    words: List[str],
    spaces: List[bool],
    span: Tuple[int, int],
    expected: Optional[Tuple[int, int]],
) -> None:
    nlp = Language()
    reference = Doc(nlp.vocab, words=REFERENCE[0], spaces=REFERENCE[1])
    annotate(reference, [(*span, "GPE")])
    example = Example(Doc(nlp.vocab, words=words, spaces=spaces), reference)
    gold = gold_spans(example, "ents", LABELS)
    assert gold is not None
    assert rows(gold) == ([] if expected is None else [(*expected, 0)])
    assert len(gold.misaligned) == (1 if expected is None else 0)


def test_gold_overlapping_spans_all_move(factory: str) -> None:
    nlp = Language()
    reference = Doc(nlp.vocab, words=REFERENCE[0], spaces=REFERENCE[1])
    spans = [(0, 2, "GPE"), (0, 4, "ORG"), (0, 4, "PER"), (1, 4, "ORG")]
    annotate(reference, spans)
    predicted = Doc(nlp.vocab, words=["New", "York-based"], spaces=[True, False])
    gold = gold_spans(Example(predicted, reference), "ents", LABELS)
    assert rows(gold) == [(0, 2, 1), (0, 2, 2), (1, 2, 1)]


def misaligned(nlp: Language) -> Example:
    """Gold of two spans, of which one begins inside a predicted token."""
    words = ["New", "York-based", "Reuters"]
    predicted = Doc(nlp.vocab, words=words, spaces=[True, True, False])
    reference = Doc(
        nlp.vocab,
        words=[*REFERENCE[0], "Reuters"],
        spaces=[True, False, False, True, False],
    )
    return Example(predicted, annotate(reference, [(0, 2, "GPE"), (4, 5, "ORG")]))


def test_misaligned_gold_is_counted_once_with_sw001(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = [*make_examples(nlp, NESTED), misaligned(nlp)]
    with coded_warnings() as found:
        train(nlp, examples, updates=3)
    assert len(found) == 1
    assert found[0].startswith(
        f"[SW001] '{factory}' cannot learn 1 of 8 gold spans in the data: "
        "1 with boundaries inside tokens of this tokenizer (such as 'New York')"
    )


def test_misaligned_gold_leaves_the_rest_to_learn(factory: str) -> None:
    nlp = blank_pipeline(factory)
    example = misaligned(nlp)
    with coded_warnings():
        train(nlp, [example])
    assert spans_of(nlp.get_pipe(factory)(example.predicted)) == [(2, 3, "ORG")]


def test_misaligned_gold_seen_first_in_update_is_reported_once(factory: str) -> None:
    nlp = initialized(factory)
    pipe = nlp.get_pipe(factory)
    with coded_warnings() as found:
        for _ in range(3):
            pipe.update([misaligned(nlp)])
    assert len(found) == 1
    assert "cannot learn 1 of 2 gold spans in a batch" in found[0]
    assert sum(pipe.gold_reader.lost.values()) == 3


# ---------------------------------------------------- white space and length


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
        "cannot learn 1 of 7 gold spans in the data: 1 that begin or end with white"
        in found[0]
    )


def test_gold_across_sentences_is_counted_once_with_sw001(factory: str) -> None:
    nlp = blank_pipeline(factory)
    starts = [index in (0, 3) for index in range(len(COURT_WORDS))]
    predicted = Doc(nlp.vocab, words=COURT_WORDS, sent_starts=starts)
    spans = [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]
    reference = annotate(Doc(nlp.vocab, words=COURT_WORDS), spans)
    with coded_warnings() as found:
        train(nlp, [Example(predicted, reference)], updates=3)
    assert len(found) == 1
    assert (
        "cannot learn 1 of 3 gold spans in the data: 1 that cross the boundary"
        in found[0]
    )
    assert "(such as 'The US Supreme Court')" in found[0]


def test_gold_longer_than_max_window_is_reported_by_initialize(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=3, stride=1)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=0)
    assert len(found) == 1
    assert (
        "cannot learn 2 of 6 gold spans in the data: 2 longer than max_window"
        in found[0]
    )
    assert "'The US Supreme Court', 'The mayor of Boston'" in found[0]


def test_gold_longer_than_max_window_is_reported_once(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=3, stride=1)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    too_long = [text for text in found if "The US Supreme Court" in text]
    assert len(too_long) == 1


def test_gold_within_stride_is_learned_wherever_windows_are_cut(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=6, stride=4)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=1)
    assert found == []


@pytest.mark.parametrize("factory", LIMITED_WIDTH)
def test_gold_wider_than_max_width_is_counted_once(factory: str) -> None:
    nlp = blank_pipeline(factory, max_width=3)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    assert len(found) == 1
    assert "2 of 6 gold spans in the data: 2 longer than max_width = 3" in found[0]


def test_no_more_than_three_lost_spans_are_shown(factory: str) -> None:
    nlp = blank_pipeline(factory, max_window=1, stride=0)
    data = [("New York won.", [(0, 2, "GPE")])] * 5
    with coded_warnings() as found:
        nlp.initialize(lambda: make_examples(nlp, data))
    assert found[0].count("'New York'") == 3


# ------------------------------------------------------------ unknown labels


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
