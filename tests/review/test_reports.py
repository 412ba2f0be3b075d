"""Suspicions are written for programs, spreadsheets and readers."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from spacy_spanner.review.occurrences import Elsewhere
from spacy_spanner.review.reports import (
    COLUMNS,
    Reviewed,
    as_rows,
    explained,
    guarded,
    review_tasks,
    write_csv,
    write_jsonl,
)
from spacy_spanner.review.suspicion_page import render_page
from spacy_spanner.review.suspicions import KINDS, Suspicion

from ..evaluation.report.browser import PHONE, Browser
from ..evaluation.report.conftest import browser  # noqa: F401
from ..helpers import NESTED, annotate

NLP = spacy.blank("en")
NOWHERE = Elsewhere({}, 0)


@pytest.fixture
def found() -> Reviewed:
    docs = [annotate(NLP.make_doc(text), spans) for text, spans in NESTED[:2]]
    formula = Doc(NLP.vocab, words=["=SUM(1)", "<b>won</b>", "."])
    annotate(formula, [(0, 1, "ORG")])
    suspicions = [
        Suspicion("label", 0.9, 1, (3, 4, "GPE"), (3, 4, "PER"), 0.1, 0.8, NOWHERE),
        Suspicion("missing", 0.8, 0, None, (6, 7, "X"), None, 0.7, NOWHERE),
        Suspicion(
            "inconsistent",
            0.7,
            1,
            (0, 4, "PER"),
            (0, 4, "ORG"),
            0.2,
            0.6,
            Elsewhere({"ORG": 3}, 2),
        ),
        Suspicion("spurious", 0.6, 2, (0, 1, "ORG"), None, 0.0, None, NOWHERE),
        Suspicion(
            "boundary", 0.5, 0, (8, 10, "GPE"), (7, 10, "GPE"), 0.1, 0.9, NOWHERE
        ),
    ]
    return Reviewed([*docs, formula], suspicions)


def test_rows_have_texts_and_characters(found: Reviewed) -> None:
    rows = list(as_rows(found))
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    boston = {"start": 13, "end": 19, "text": "Boston"}
    assert rows[0]["gold"] == {**boston, "label": "GPE", "score": 0.1}
    assert rows[0]["proposed"] == {**boston, "label": "PER", "score": 0.8}
    assert rows[0]["document"] == 2
    assert rows[1]["gold"] is None and rows[3]["proposed"] is None
    assert rows[2]["elsewhere"] == {"ORG": 3, "(none)": 2}
    assert rows[0]["context"] == found.docs[1].text


def test_jsonl_and_csv_have_a_row_for_each(found: Reviewed, tmp_path: Path) -> None:
    rows = list(as_rows(found))
    write_jsonl(tmp_path / "a.jsonl", rows)
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    write_csv(tmp_path / "a.csv", rows)
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == COLUMNS
    assert table[1]["text"] == "" and table[1]["proposed_label"] == "X"
    assert table[2]["elsewhere"] == "ORG: 3, (none): 2"
    assert table[3]["text"] == "'=SUM(1)"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@A1", "\tx", "\rx", "\nx"])
def test_formulas_are_guarded(text: str) -> None:
    assert guarded(text) == "'" + text


@pytest.mark.parametrize("cell", ["text", "a=b", "", 5, -5, 0.5])
def test_other_cells_stay(cell: Any) -> None:
    assert guarded(cell) == cell


def test_tasks_have_each_document_once_with_all_reasons(found: Reviewed) -> None:
    tasks = list(review_tasks(found, "ents", limit=4))
    assert [task.about["document"] for task in tasks] == [2, 1, 3]
    assert tasks[0].about["suspicious"].count("score") == 4
    assert tasks[0].doc is found.docs[1]
    assert [t.about["document"] for t in review_tasks(found, "ents", limit=1)] == [2]
    assert list(review_tasks(found, "ents", limit=0)) == []


def test_explanations_name_kind_spans_and_evidence(found: Reviewed) -> None:
    texts = [explained(row) for row in as_rows(found)]
    for text, one in zip(texts, found.suspicions):
        assert text.startswith(KINDS[one.kind])
    assert "GPE “Boston” (score 0.10) or rather PER “Boston” (score 0.80)" in texts[0]
    assert texts[2].endswith("elsewhere: 3 × ORG, 2 × (none)")


def test_page_shows_the_first_and_needs_nothing_else(found: Reviewed) -> None:
    page = render_page(found, "train.spacy", limit=4)
    assert page.count("<li data-kinds=") == 4
    assert "<b>won</b>" not in page and "&lt;b&gt;won" in page
    for kind, name in KINDS.items():
        assert f'<option value="{kind}">{name}</option>' in page
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(link.startswith(("#", "data:")) for link in links)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_page_without_suspicions() -> None:
    docs = [Doc(NLP.vocab, words=["a"])]
    assert "There are no spans" in render_page(Reviewed(docs, []), "x", limit=5)


def test_page_in_a_browser(
    found: Reviewed,
    tmp_path: Path,
    browser: Browser,  # noqa: F811
) -> None:
    path = tmp_path / "suspicions.html"
    path.write_text(render_page(found, "train.spacy", limit=9), encoding="utf8")
    browser.open(path, PHONE)
    assert browser.complaints() == []
    choose = "document.getElementById('kind').value = 'label',"
    choose += "document.getElementById('kind').dispatchEvent(new Event('change')),"
    shown = browser.run(f"({choose} document.getElementById('shown').textContent)")
    assert shown == "1"
    assert browser.run("document.documentElement.scrollWidth") <= PHONE["width"]
