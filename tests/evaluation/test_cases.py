"""Which sentences tell most about the difference of pipelines."""

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_spanner.evaluation.analysis_tables import case_table
from spacy_spanner.evaluation.cases import CaseSpan, find_cases
from spacy_spanner.evaluation.counts import Reading


def example_of(words: str, starts: list) -> Example:
    nlp = spacy.blank("en")
    tokens = words.split()
    marks = [place in starts for place in range(len(tokens))]
    return Example(
        Doc(nlp.vocab, words=tokens), Doc(nlp.vocab, words=tokens, sent_starts=marks)
    )


def reading(gold: set, **predicted: float) -> Reading:
    """Spans are written as s1e2A: tokens 1 to 2, label A."""
    keys = {(int(k[1]), int(k[3]), k[4:]): score for k, score in predicted.items()}
    return Reading(gold, keys, [])


def test_sentences_on_which_pipelines_differ_come_first() -> None:
    examples = [example_of("a b c d e f", [0, 3]), example_of("g h", [0])]
    gold = [{(0, 1, "A"), (4, 6, "B")}, {(0, 1, "A"), (0, 2, "B")}]
    one = [reading(gold[0], s0e1A=0.9, s4e6B=0.8), reading(gold[1])]
    two = [reading(gold[0], s0e1A=0.9, s4e5B=0.7), reading(gold[1])]
    cases = find_cases(examples, {"one": one, "two": two}, limit=9)
    # Both pipelines miss all of "g h", and have all of "a b c" right.
    assert [case.text for case in cases] == ["d e f", "g h"]
    assert [case.start for case in cases] == [3, 0] and cases[1].doc == 1
    assert cases[0].spans == [
        CaseSpan("e", "B", False, {"two": 0.7}),
        CaseSpan("e f", "B", True, {"one": 0.8}),
    ]
    assert len(find_cases(examples, {"one": one, "two": two}, limit=1)) == 1
    table = case_table(cases[0], ["one", "two"])
    assert table.rows == [
        ["e (B)", "-", "-", "0.70!"],
        ["e f (B)", "yes", "0.80", "-!"],
    ]


def test_a_single_pipeline_shows_its_errors() -> None:
    examples = [example_of("a b c", [0])]
    right, wrong = reading({(0, 1, "A")}, s0e1A=1.0), reading({(0, 1, "A")}, s0e2A=1.0)
    assert find_cases(examples, {"m": [right]}, limit=5) == []
    (case,) = find_cases(examples, {"m": [wrong]}, limit=5)
    assert [span.is_wrong("m") for span in case.spans] == [True, True]
