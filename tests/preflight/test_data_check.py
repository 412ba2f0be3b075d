"""What is wrong with data is found, and what is right is not called wrong."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_spanner.preflight.data_check import DataCheck, check_data
from spacy_spanner.preflight.data_survey import (
    count_overlaps,
    normal_text,
    shared_texts,
    survey_split,
)

from ..cli.helpers import run
from ..helpers import Gold, annotate, blank_pipeline

ROOT = Path(__file__).parents[2]
GOLD: Gold = [(0, 2, "A"), (3, 4, "B")]
Texts = Sequence[Tuple[str, Optional[Gold]]]


def many(word: str, gold: Optional[Gold] = GOLD, size: int = 60) -> Texts:
    return [(f"{word} {number} x y z", gold) for number in range(size)]


def examples_of(texts: Texts) -> List[Example]:
    nlp = spacy.blank("en")
    examples = []
    for text, gold in texts:
        reference = nlp.make_doc(text)
        if gold is not None:
            annotate(reference, gold)
        examples.append(Example(nlp.make_doc(text), reference))
    return examples


def check(train: Texts, dev: Texts, **settings: Any) -> DataCheck:
    nlp = blank_pipeline("span_biaffine", **settings)
    splits = {"train": examples_of(train), "dev": examples_of(dev)}
    return check_data(nlp, "span_biaffine", splits)


def texts_of(found: DataCheck, level: str) -> List[str]:
    return [finding.text for finding in found.findings if finding.level == level]


def only(found: DataCheck, level: str) -> str:
    (text,) = texts_of(found, level)
    return text


def test_good_data_have_no_findings_but_good_ones() -> None:
    found = check(many("one"), many("two"))
    assert texts_of(found, "error") == texts_of(found, "warning") == []
    assert found.splits["train"]["spans"] == 120
    assert found.splits["train"]["labels"] == {"A": 60, "B": 60}
    assert found.splits["dev"]["lengths"]["100%"] == 2.0
    shown = "Spans have 1 to 2 tokens; 99% have 2 or less"
    assert shown in texts_of(found, "good")


@pytest.mark.parametrize(
    "dev,shown",
    [
        (many("two", None), "dev: 60 documents, 0 spans; no document is annotated"),
        (many("two", []), "dev: 60 documents, 0 spans; all span groups are empty"),
        (many("two", [(0, 1, "A"), (2, 3, "X"), (3, 4, "B")]), "not in train: X"),
        (many("two", [(0, 1, ""), (2, 3, "A"), (3, 4, "B")]), "not in train: "),
        (many("one"), "60 documents or sentences of dev (100.0%) also in train"),
    ],
)
def test_data_that_cannot_be_trained_on_or_scored(dev: Texts, shown: str) -> None:
    assert shown in only(check(many("one"), dev), "error")


@pytest.mark.parametrize(
    "train,settings,shown",
    [
        ([*many("one"), ("nothing", None)], {}, "1 without annotation"),
        (many("one", [(0, 1, "A"), (2, 3, "B")], 49), {}, "few training spans: A (49)"),
        (
            many("one", [(0, 3, "A"), (1, 2, "B")]),
            {"overlap": "flat"},
            "120 spans share",
        ),
        (many("one", [(0, 2, "A"), (1, 3, "B")]), {}, "120 spans cross another"),
        (many("one"), {"max_width": 1}, "60 spans (50.0%) longer than max_width = 1"),
        (many("one", [*GOLD, (3, 4, "A")]), {}, "the same boundaries as another span"),
        ([*many("one"), *many("one", size=1)], {}, "1 training document repeats"),
        ([*many("one"), (". x y z", [(0, 2, "A")])], {}, "1 span begins or ends with"),
    ],
)
def test_data_that_could_be_better(
    train: Texts, settings: Dict[str, Any], shown: str
) -> None:
    found = check(train, many("two"), **settings)
    assert any(shown in text for text in texts_of(found, "warning"))
    assert texts_of(found, "error") == []


def test_few_spans_and_labels_without_dev() -> None:
    found = check(many("one", size=3), many("two", [(0, 1, "A")]))
    warnings = texts_of(found, "warning")
    assert any("little to learn from: 6 spans" in text for text in warnings)
    assert "Labels in train that are not in dev: B" in warnings


def test_marks_are_counted() -> None:
    nlp = blank_pipeline("span_biaffine", missing_rate=1.0)
    splits = {"train": examples_of(many("one")), "dev": examples_of(many("two"))}
    found = check_data(nlp, "span_biaffine", splits)
    assert not any("marked" in finding.text for finding in found.findings)
    for example in splits["train"][:3]:
        annotate(example.reference, [(0, 5, "")], "ents:incomplete")
    annotate(splits["train"][0].reference, [(4, 5, "A"), (2, 3, "")], "ents:not")
    found = check_data(nlp, "span_biaffine", splits)
    text = "train: 3 documents marked incomplete, 2 spans known not to be entities"
    assert text in texts_of(found, "good")
    assert found.splits["train"]["incomplete"] == 3
    assert found.splits["train"]["not entities"] == 2
    for example in [*splits["train"], splits["dev"][0]]:
        annotate(example.reference, [(0, 5, "")], "ents:incomplete")
    warnings = [
        finding
        for finding in check_data(nlp, "span_biaffine", splits).findings
        if "marked incomplete" in finding.text
    ]
    assert [one.level for one in warnings] == ["warning", "warning"]
    assert "missing_rate = 1" in warnings[0].advice
    assert "Annotate dev completely" in warnings[1].advice


def test_documents_with_soft_labels_alone_are_annotated_for_training() -> None:
    nlp = blank_pipeline("span_biaffine")
    splits = {"train": examples_of(many("one")), "dev": examples_of(many("two"))}
    expected = check_data(nlp, "span_biaffine", splits).splits["train"]
    for example in splits["train"]:
        spans = example.reference.spans.pop("ents")
        example.reference.spans["ents:soft"] = list(spans)
        example.reference.spans["ents:soft"].attrs["scores"] = [0.9] * len(spans)
    found = check_data(nlp, "span_biaffine", splits)
    assert found.splits["train"] == expected
    assert texts_of(found, "error") == []


def test_rare_label_of_dev_is_no_error() -> None:
    rare = [*many("two"), ("two x y z", [(0, 1, "X")])]
    found = check(many("one"), rare)
    assert texts_of(found, "error") == []
    assert only(found, "warning") == "Labels in dev that are not in train: X (1)"


def test_spans_that_training_cannot_place_are_counted() -> None:
    nlp = blank_pipeline("span_biaffine")
    examples = examples_of(many("one"))
    reference = Doc(nlp.vocab, words=["New", "York", "-", "based"])
    annotate(reference, [(1, 2, "A")])
    predicted = Doc(nlp.vocab, words=["New", "York -", "based"])
    examples.append(Example(predicted, reference))
    splits = {"train": examples, "dev": examples_of(many("two"))}
    found = check_data(nlp, "span_biaffine", splits)
    assert "boundaries inside tokens" in only(found, "warning")


def test_count_overlaps_by_hand() -> None:
    spans = {
        (0, 5, "A"),
        (1, 2, "B"),
        (4, 7, "A"),
        (8, 9, "A"),
        (8, 9, "B"),
        (9, 10, "A"),
    }
    counts = {"flat": 1, "nested": 5, "crossing": 2, "same": 2}
    assert count_overlaps(spans) == counts
    assert count_overlaps(set()) == dict.fromkeys(counts, 0)


def test_sentences_leak_where_they_are_long_enough() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    parts = []
    for text in ("One two three  four five. No. X", "No. ONE two three four five."):
        doc = annotate(nlp(text), [])
        parts.append(survey_split([Example(nlp.make_doc(text), doc)], "ents"))
    assert shared_texts(*parts) == ["one two three four five."]
    assert normal_text(" A\n b ") == "a b"


# -------------------------------------------------------------------- command


@pytest.fixture
def words(tmp_path: Path) -> List[str]:
    """The command for a config with data that are fine."""
    words = ["debug-data", str(ROOT / "configs" / "biaffine_cnn.cfg")]
    for part, name in (("train", "one"), ("dev", "two")):
        docs = [example.reference for example in examples_of(many(name))]
        path = tmp_path / f"{part}.spacy"
        DocBin(docs=docs, store_user_data=True).to_disk(path)
        words += [f"--paths.{part}", str(path)]
    return words


def test_command_of_good_data_ends_well(words: List[str], tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    printed = run(*words, "--output", output, "--strict")
    assert "0 errors, 0 warnings" in printed and "None" not in printed
    (check,) = srsly.read_json(output)
    assert check["component"] == "span_biaffine"
    assert check["splits"]["train"]["overlaps"]["flat"] == 120
    assert {finding["level"] for finding in check["findings"]} == {"good"}


def test_command_of_bad_data_ends_with_1(words: List[str]) -> None:
    test = words[words.index("--paths.train") + 1]
    printed = run(*words, "--test", test, code=1)
    assert "of test (100.0%) also in train" in printed and "1 error," in printed


def test_command_with_a_rare_label_that_only_dev_has(words: List[str]) -> None:
    rare = [*many("two"), ("two x y z", [(0, 1, "X")])]
    docs = [example.reference for example in examples_of(rare)]
    DocBin(docs=docs).to_disk(words[words.index("--paths.dev") + 1])
    assert "0 errors, 1 warning" in run(*words)


def test_command_warnings_are_errors_if_strict(words: List[str]) -> None:
    narrow = [*words, "--components.span_biaffine.max_width", "1"]
    assert "2 warnings" in run(*narrow)
    run(*narrow, "--strict", code=1)


def test_command_without_data_or_component(words: List[str], tmp_path: Path) -> None:
    assert "SP078" in run(*words[:2], code=1)
    config = tmp_path / "other.cfg"
    spacy.blank("en").config.to_disk(config)
    assert "SP077" in run("debug-data", config, code=1)
