"""JSON with entities by characters, as annotation tools write it."""

import json
from pathlib import Path
from typing import Any, List, Optional, Tuple

import pytest
import spacy

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.formats.offset_json import locate, wide_places

from .util import docs_and_lost, read_all, spans_of, write_file

TEXT = "The US won."


def save(tmp_path: Path, *items: Any) -> Path:
    return write_file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, items)))


SHAPES = {
    "prodigy": {"text": TEXT, "spans": [{"start": 4, "end": 6, "label": "GPE"}]},
    "doccano": {"text": TEXT, "label": [[4, 6, "GPE"]]},
    "doccano, labels": {"text": TEXT, "labels": [[4, 6, "GPE"]]},
    "old doccano": {"data": TEXT, "label": [[4, 6, "GPE"]]},
    "doccano, relations": {
        "text": TEXT,
        "entities": [{"id": 1, "label": "GPE", "start_offset": 4, "end_offset": 6}],
        "relations": [],
    },
    "label studio": {
        "data": {"text": TEXT},
        "annotations": [
            {"was_cancelled": True, "result": []},
            {
                "result": [
                    {"value": {"start": 4, "end": 6, "labels": ["GPE"]}},
                    {"value": {"choices": ["good"]}, "type": "choices"},
                    {"type": "relation", "from_id": "a", "to_id": "b"},
                ]
            },
        ],
    },
    "label studio, other name": {
        "data": {"body": TEXT, "id": 7},
        "annotations": [
            {"result": [{"value": {"start": 4, "end": 6, "labels": ["GPE"]}}]}
        ],
    },
    "label studio, short": {
        "text": TEXT,
        "label": [{"start": 4, "end": 6, "text": "US", "labels": ["GPE"]}],
    },
    "spacy": [TEXT, {"entities": [[4, 6, "GPE"]]}],
    "dict": {"text": TEXT, "entities": [[4, 6, "GPE"]]},
}


@pytest.mark.parametrize("item", SHAPES.values(), ids=SHAPES.keys())
def test_read_of_a_tool(tmp_path: Path, item: Any) -> None:
    reading = read_all("jsonl", save(tmp_path, item))
    assert [record.text for record in reading.records] == [TEXT]
    assert reading.mentions == [(4, 6, "GPE")]


def test_read_of_an_array(tmp_path: Path) -> None:
    text = json.dumps([SHAPES["label studio"]] * 2, indent=2)
    reading = read_all("jsonl", write_file(tmp_path, "a.json", text))
    assert reading.mentions == [(4, 6, "GPE")] * 2


@pytest.mark.parametrize("indent", [None, 1])
def test_read_of_an_array_of_spacy_2(tmp_path: Path, indent: Optional[int]) -> None:
    text = json.dumps([SHAPES["spacy"]] * 2, indent=indent)
    path = write_file(tmp_path, "a.json", text)
    docs = list(read_docs(path, spacy.blank("en")))
    assert [spans_of(doc) for doc in docs] == [[(1, 2, "GPE")]] * 2


def test_read_of_several_labels_gives_an_entity_of_each(tmp_path: Path) -> None:
    item = {"text": TEXT, "label": [{"start": 4, "end": 6, "labels": ["A", "B"]}]}
    assert read_all("jsonl", save(tmp_path, item)).mentions == [
        (4, 6, "A"),
        (4, 6, "B"),
    ]


def test_read_without_annotation_is_not_annotated(tmp_path: Path) -> None:
    task = {"data": {"text": TEXT}, "annotations": []}
    pairs = [TEXT, {"cats": {"A": 1}}], [TEXT, {"entities": []}]
    path = save(tmp_path, {"text": TEXT}, {"text": TEXT, "spans": []}, task, *pairs)
    docs, _ = docs_and_lost("jsonl", path)
    assert ["ents" in doc.spans for doc in docs] == [False, True, False, False, True]


def test_read_leaves_rejected_documents_out_and_says_so(tmp_path: Path) -> None:
    answers = ("accept", "reject", "ignore")
    items = [{"text": TEXT, "spans": [], "answer": answer} for answer in answers]
    reading = read_all("jsonl", save(tmp_path, *items))
    assert len(reading.records) == 1
    assert "2 rejected or ignored documents" in reading.notes[0]


def test_read_of_several_annotations_takes_the_first_and_says_so(
    tmp_path: Path,
) -> None:
    results = [
        {"result": [{"value": {"start": 4, "end": 6, "labels": [label]}}]}
        for label in "ABC"
    ]
    task = {"data": {"text": TEXT}, "annotations": results}
    reading = read_all("jsonl", save(tmp_path, task))
    assert reading.mentions == [(4, 6, "A")]
    assert reading.notes == ["a.jsonl: 2 further annotations of documents were skipped"]


@pytest.mark.parametrize(
    "start, end, shown, place",
    [
        pytest.param(4, 6, "", (4, 6), id="unknown"),
        pytest.param(3, 5, "US", (3, 5), id="characters"),
        pytest.param(5, 7, "US", (3, 5), id="units of two bytes"),
        pytest.param(1, 2, "\U0001f600", (1, 2), id="emoji by characters"),
        pytest.param(2, 4, "\U0001f600", (1, 2), id="emoji by units"),
        pytest.param(0, 2, "US", None, id="neither"),
        pytest.param(-3, -1, "US", None, id="before"),
        pytest.param(90, 99, "US", None, id="after"),
    ],
)
def test_locate_counts_as_the_text_of_the_span_tells(
    start: int, end: int, shown: str, place: Optional[Tuple[int, int]]
) -> None:
    text = "\U0001f600\U0001f600 US won"
    assert locate(start, end, shown, text, wide_places(text)) == place


def test_a_span_with_another_text_is_lost(tmp_path: Path) -> None:
    spans = [{"start": 4, "end": 6, "label": "GPE", "text": "UK"}]
    reading = read_all("jsonl", save(tmp_path, {"text": TEXT, "spans": spans}))
    assert reading.mentions == []
    assert [row[1:4] for row in reading.lost] == [(1, "UK", "GPE")]


def test_read_keeps_tokens_and_sentences_of_the_file(tmp_path: Path) -> None:
    words = [("The", False), ("US", True), ("won.", False)]
    tokens = [{"text": word, "ws": space} for word, space in words]
    item = {"text": "TheUS won.", "tokens": tokens, "sentences": [0, 6], "spans": []}
    (doc,), _ = docs_and_lost("jsonl", save(tmp_path, item))
    assert [token.text for token in doc] == ["The", "US", "won."]
    assert [sent.text for sent in doc.sents] == ["TheUS", "won."]


def test_read_of_tokens_that_are_not_of_the_text_takes_the_text(tmp_path: Path) -> None:
    item = {"text": TEXT, "tokens": [{"text": "Thus", "ws": False}], "spans": []}
    (doc,), _ = docs_and_lost("jsonl", save(tmp_path, item))
    assert doc.text == TEXT


@pytest.mark.parametrize(
    "align, found, reasons",
    [
        ("strict", [(1, 2, "D")], {"boundaries inside tokens": 1}),
        ("expand", [(1, 2, "D"), (2, 3, "A")], {}),
        ("contract", [(1, 2, "D")], {"boundaries inside tokens": 1}),
    ],
)
def test_entities_without_a_place_are_lost(
    tmp_path: Path, align: str, found: list, reasons: dict
) -> None:
    spans = [(8, 10, "A"), (4, 4, "B"), (9, 99, "C"), (4, 6, "D"), (4, 6, "D")]
    rows = [{"start": s, "end": e, "label": label} for s, e, label in spans]
    path = save(tmp_path, {"text": TEXT, "spans": rows})
    (doc,), lost = docs_and_lost("jsonl", path, align=align)
    assert spans_of(doc) == found
    others = {"empty": 1, "outside of the text": 1, "duplicate": 1}
    assert lost.reasons == {**others, **reasons}
    assert lost.n_lost == 2 + len(reasons)


@pytest.mark.parametrize(
    "item, problem",
    [
        pytest.param(5, "not a JSON object", id="number"),
        pytest.param({"spans": []}, "no 'text'", id="no text"),
        pytest.param({"text": 3}, "no 'text'", id="number as text"),
        pytest.param({"text": "a", "spans": 3}, "not a list", id="spans"),
        pytest.param({"text": "a", "spans": [3]}, "start and an end", id="span"),
        pytest.param(
            {"text": "a", "spans": [{"start": 0, "end": 1}]}, "label", id="no label"
        ),
        pytest.param(
            {"text": "a", "spans": [[0, 1.5, "X"]]}, "start and an end", id="half"
        ),
        pytest.param(
            {"data": {"text": "a"}, "annotations": 3}, "not a list", id="task"
        ),
        pytest.param(
            {"data": {"text": "a"}, "annotations": [{"result": 3}]}, "list", id="result"
        ),
        pytest.param({"text": "a", "sentences": 3}, "not a list", id="sentences"),
        pytest.param({"text": "a", "sentences": ["x"]}, "start", id="sentence"),
    ],
)
def test_read_of_a_broken_object_names_the_line(
    tmp_path: Path, item: Any, problem: str
) -> None:
    path = save(tmp_path, {"text": "a"}, item)
    with pytest.raises(ValueError, match=rf"SP001.*a\.jsonl, line 2,.*{problem}"):
        read_all("jsonl", path)


def test_binary_answers_of_prodigy_are_incomplete_annotation(tmp_path: Path) -> None:
    span = {"start": 0, "end": 3, "label": "PER"}
    rows = [
        {"text": "Ada slept.", "spans": [span], "answer": answer, "_view_id": "ner"}
        for answer in ("accept", "reject", "ignore")
    ]
    path = save(tmp_path, *rows)
    accepted, rejected = read_docs(path, spacy.blank("en"))
    assert [span.text for span in accepted.spans["ents"]] == ["Ada"]
    assert [span.text for span in accepted.spans["ents:incomplete"]] == ["Ada slept."]
    assert "ents" not in rejected.spans and "ents:incomplete" not in rejected.spans
    assert [(s.text, s.label_) for s in rejected.spans["ents:not"]] == [("Ada", "PER")]


MEETING = "Ada met Bob in Rome."
OFFSETS = {"Ada": (0, 3), "Bob": (8, 11), "Rome": (15, 19), "met": (4, 7)}


def region(word: str, origin: str = "prediction", *choices: str) -> List[Any]:
    """RETURNS (List[Any]): Label Studio's results of a region and of its choices."""
    start, end = OFFSETS[word]
    value = {"start": start, "end": end, "text": word}
    about = {"id": word, "to_name": "text", "origin": origin}
    labels = {**value, "labels": ["X"]}
    rows = [{**about, "from_name": "label", "type": "labels", "value": labels}]
    if choices:
        chosen = {**value, "choices": list(choices)}
        verdict = {"from_name": "verdict", "type": "choices", "value": chosen}
        rows.append({**about, **verdict})
    return rows


def whole(choice: str) -> List[Any]:
    """RETURNS (List[Any]): a choice about the whole text."""
    value = {"choices": [choice]}
    return [{"id": "t", "from_name": "all", "type": "choices", "value": value}]


ACCEPTED = region("Ada", "prediction", "Accept")
REJECTED = region("met", "prediction", "reject")
UNANSWERED, MANUAL = region("Bob"), region("Rome", "manual")


@pytest.mark.parametrize(
    "results, entities, rejected, incomplete",
    [
        pytest.param([UNANSWERED, MANUAL], "Bob Rome", "", False, id="none"),
        pytest.param(
            [ACCEPTED, REJECTED, UNANSWERED, MANUAL], "Ada Rome", "met", True, id="some"
        ),
        pytest.param([REJECTED], "", "met", True, id="rejected"),
        pytest.param(
            [REJECTED, UNANSWERED, whole("complete")], "Bob", "met", False, id="all"
        ),
        pytest.param([UNANSWERED, whole("incomplete")], "Bob", "", True, id="text"),
        pytest.param([UNANSWERED, whole("boring")], "Bob", "", False, id="other"),
    ],
)
def test_choices_of_label_studio_say_what_is_known(
    tmp_path: Path,
    results: List[List[Any]],
    entities: str,
    rejected: str,
    incomplete: bool,
) -> None:
    result = [row for rows in results for row in rows]
    task = {"data": {"text": MEETING}, "annotations": [{"result": result}]}
    (doc,) = read_docs(save(tmp_path, task), spacy.blank("en"))
    assert " ".join(span.text for span in doc.spans["ents"]) == entities
    found = doc.spans.get("ents:not", [])
    assert [(s.text, s.label_) for s in found] == [(w, "X") for w in rejected.split()]
    regions = [span.text for span in doc.spans.get("ents:incomplete", [])]
    assert regions == [MEETING] * incomplete
