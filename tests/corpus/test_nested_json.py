"""Nested JSON of the research repositories, in its several shapes."""

import json
from pathlib import Path
from typing import Any, List

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file

TOKENS = ["the", "US", "Supreme", "Court"]


def save(tmp_path: Path, *items: Any, lines: bool = False) -> Path:
    text = "\n".join(map(json.dumps, items)) if lines else json.dumps(items, indent=1)
    return write_file(tmp_path, "a.json", text)


def entity(start: int, end: int, label: str) -> dict:
    return {"start": start, "end": end, "type": label}


@pytest.mark.parametrize("lines", [False, True])
def test_read_of_an_array_and_of_lines(tmp_path: Path, lines: bool) -> None:
    item = {"tokens": TOKENS, "entities": [entity(0, 4, "ORG"), entity(1, 2, "GPE")]}
    reading = read_all("json", save(tmp_path, item, item, lines=lines))
    assert reading.mentions == [(0, 4, "ORG"), (1, 2, "GPE")] * 2
    assert "ends are exclusive" in reading.notes[0]


def test_read_of_inclusive_ends(tmp_path: Path) -> None:
    item = {"tokens": TOKENS, "entities": [entity(0, 3, "ORG"), entity(1, 1, "GPE")]}
    assert read_all("json", save(tmp_path, item)).mentions == [
        (0, 4, "ORG"),
        (1, 2, "GPE"),
    ]


@pytest.mark.parametrize(
    "ends, mentions", [("inclusive", [(0, 3, "X")]), ("exclusive", [(0, 2, "X")])]
)
def test_read_of_ends_that_nothing_tells_asks(
    tmp_path: Path, ends: str, mentions: List[tuple]
) -> None:
    path = save(tmp_path, {"tokens": TOKENS, "entities": [entity(0, 2, "X")]})
    with pytest.raises(ValueError, match="SP051"):
        read_all("json", path)
    assert read_all("json", path, ends=ends).mentions == mentions


def test_read_of_ends_that_contradict_fails(tmp_path: Path) -> None:
    item = {"tokens": TOKENS, "entities": [entity(0, 4, "X"), entity(1, 1, "Y")]}
    with pytest.raises(ValueError, match="SP052"):
        read_all("json", save(tmp_path, item))


def test_read_of_documents_counts_tokens_through(tmp_path: Path) -> None:
    item = {
        "doc_key": "a",
        "sentences": [["US", "won"], ["Rome", "lost"]],
        "ner": [[[0, 0, "GPE"]], [[2, 2, "GPE"]]],
    }
    (record,) = read_all("json", save(tmp_path, item, lines=True)).records
    assert record.words == ["US", "won", "Rome", "lost"]
    assert record.sentence_starts == [0, 2]
    assert [m[:3] for m in record.mentions or ()] == [(0, 1, "GPE"), (2, 3, "GPE")]


@pytest.mark.parametrize(
    "choice, mentions, fragments, lost",
    [
        ("skip", [(1, 3, "Y")], [], [("the Court", "X", "discontinuous")]),
        ("split", [(0, 1, "X"), (3, 4, "X"), (1, 3, "Y")], [], []),
        ("flag", [(1, 3, "Y")], [(0, 1, "X", "T1"), (3, 4, "X", "T1")], []),
    ],
)
def test_read_of_lists_of_tokens(
    tmp_path: Path, choice: str, mentions: list, fragments: list, lost: list
) -> None:
    ner = [{"index": [0, 3], "type": "X"}, {"index": [1, 2], "type": "Y"}]
    path = save(tmp_path, {"sentence": TOKENS, "ner": ner})
    reading = read_all("json", path, discontinuous=choice)
    (record,) = reading.records
    assert reading.mentions == mentions
    assert [(m.start, m.end, m.label, m.id) for m in record.fragments] == fragments
    assert [row[2:] for row in reading.lost] == lost


def test_entities_outside_of_the_sentence_are_lost(tmp_path: Path) -> None:
    entities = [entity(0, 4, "A"), entity(3, 9, "B"), entity(-1, 2, "C")]
    path = save(tmp_path, {"tokens": TOKENS, "entities": entities})
    (doc,), lost = docs_and_lost("json", path)
    assert spans_of(doc) == [(0, 4, "A")]
    assert lost.reasons == {"outside of the text": 2}


@pytest.mark.parametrize(
    "item, problem",
    [
        pytest.param(3, "not a JSON object", id="number"),
        pytest.param({"entities": []}, "no list of tokens", id="no tokens"),
        pytest.param({"tokens": "ab", "entities": []}, "no list of tokens", id="text"),
        pytest.param({"tokens": ["a", 1], "entities": []}, "1 is not a", id="token"),
        pytest.param({"tokens": [""], "entities": []}, "'' is not a", id="empty token"),
        pytest.param({"tokens": ["a"]}, "no list under", id="no entities"),
        pytest.param({"tokens": ["a"], "ner": {}}, "no list under", id="mapping"),
        pytest.param({"tokens": ["a"], "ner": [1]}, "needs start", id="bare number"),
        pytest.param(
            {"tokens": ["a"], "entities": [{"start": 0, "type": "X"}]},
            "needs start",
            id="no end",
        ),
        pytest.param(
            {"tokens": ["a"], "entities": [entity(0, True, "X")]},
            "needs start",
            id="end is true",
        ),
        pytest.param(
            {"tokens": ["a"], "entities": [entity(0, 1, " ")]},
            "needs start",
            id="blank type",
        ),
        pytest.param(
            {"tokens": ["a"], "ner": [{"index": [], "type": "X"}]},
            "list of its tokens",
            id="no tokens in an entity",
        ),
    ],
)
def test_read_of_a_broken_object_names_the_line(
    tmp_path: Path, item: Any, problem: str
) -> None:
    good = {"tokens": ["a"], "entities": []}
    path = save(tmp_path, good, item, lines=True)
    with pytest.raises(ValueError, match=rf"SP001.*a\.json, line 2,.*{problem}"):
        read_all("json", path)
