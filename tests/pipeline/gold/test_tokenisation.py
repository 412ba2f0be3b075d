"""Gold on tokens that are not those of the prediction."""

from typing import List, Optional, Tuple

import pytest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_spanner.pipeline.annotations import gold_spans

from ...helpers import NESTED, annotate, blank_pipeline, make_examples, spans_of, train
from .helpers import LABELS, coded_warnings, initialized, rows

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
        "1 with boundaries inside tokens (such as 'New York')"
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
