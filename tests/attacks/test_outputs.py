"""Texts, labels and names that try to be code where they are shown."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_spanner.cli.shell import msg
from spacy_spanner.corpus.records import Lost, LostSpans
from spacy_spanner.errors import Errors, Warnings
from spacy_spanner.errors.plain import plain
from spacy_spanner.evaluation.card import render_card
from spacy_spanner.evaluation.report.figures import style
from spacy_spanner.evaluation.report.page import write_report
from spacy_spanner.evaluation.summary import Evaluation, compare, evaluate_pipeline
from spacy_spanner.evaluation.tables import (
    FORMULAS,
    code,
    escaped,
    guarded,
    markdown_table,
    unguarded,
)
from spacy_spanner.jobs.search.space import read_space
from spacy_spanner.review.agreement import Agreement, measure_agreement
from spacy_spanner.review.agreement_files import write_agreement
from spacy_spanner.review.agreement_page import render_page as render_agreement
from spacy_spanner.review.occurrences import Elsewhere
from spacy_spanner.review.reports import COLUMNS, Reviewed, as_rows, write_csv
from spacy_spanner.review.suspicion_page import render_page
from spacy_spanner.review.suspicions import Suspicion
from spacy_spanner.review.versions import Version

from ..evaluation.test_predicting import write_corpus
from ..helpers import blank_pipeline, make_examples
from .helpers import Count, harmless

HTML = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</style><style>*{display:none}</style>",
    "</title><iframe src=javascript:alert(1)>",
    "<!--",
    "]]><script>",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "{{7*7}}{% raw %}",
    "\\x3cscript>",
    '" onmouseover="alert(1)',
    "onclick=alert(1)",
    "$\\invalid{$",
    'id="x" href="#y" url(#z)',
]
MARKDOWN = [
    "[a](javascript:alert(1))",
    "![a](http://127.0.0.1/x.png)",
    "`code` ``` \n# Title",
    "a | b |\n| --- |",
    "\\| a | b",
    "**bold** _it_ ~~no~~",
    "<b>html</b>&amp;",
    "```\nimport os\n```",
    "a\r\nb\u2028c",
]
SHEETS = [
    '=HYPERLINK("http://127.0.0.1/?"&A1,"x")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\uff1d1+1",
    "'=1+1",
    "''=1+1",
    "'",
    "'quoted'",
]
TERMINAL = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\rb",
    "\x08\x08\x08",
    "\u202eabc",
    "\u2066abc",
    "\x00",
]


VOCAB = Vocab()

# ---------------------------------------------------------------------------- HTML


class Seen(HTMLParser):
    """Collects the elements of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: List[Tuple[str, Dict[str, Optional[str]]]] = []
        self.shown: List[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.shown.append(data)

    @property
    def kinds(self) -> Set[Tuple[str, str]]:
        """Elements with the names of their attributes."""
        return {(tag, name) for tag, attrs in self.elements for name in ("", *attrs)}


def odd_pipeline(labels: List[str]) -> Language:
    nlp = blank_pipeline("span_biaffine", threshold=0.0001)
    nlp.initialize(lambda: make_examples(nlp, odd_data(labels)))
    return nlp


def odd_data(labels: List[str]) -> List[Tuple[str, List[Tuple[int, int, str]]]]:
    return [(f"{label} is odd .", [(0, 1, label)]) for label in labels]


def report(labels: List[str], name: str, folder: Path) -> str:
    """RETURNS (str): a report on pipelines and data with these names."""
    folder.mkdir()
    nlp = odd_pipeline(labels)
    path = write_corpus(folder, nlp, odd_data(labels))
    first: Evaluation = evaluate_pipeline(nlp, path, name=name, seed=0, n_samples=5)
    first.metrics["data"]["name"] = name
    second = evaluate_pipeline(nlp, path, name=f"{name}2", seed=0, n_samples=5)
    comparison = compare(first, second, seed=0, n_samples=5)
    page = write_report(folder, first, second=second, comparison=comparison)
    return page.read_text(encoding="utf8")


def test_report_has_no_elements_of_its_data(
    tmp_path: Path, tried: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "DOTS_PER_INCH", 20)
    labels = [" ".join(HTML[place::4]) for place in range(4)]
    expected = Seen(report(list("ABCD"), "name", tmp_path / "a"))
    found = Seen(report(labels, " ".join(HTML), tmp_path / "b"))
    tried("odd names", len(HTML))
    assert found.kinds <= expected.kinds
    scripts = [tag for tag, _ in found.elements if tag in ("script", "style", "title")]
    assert sorted(scripts) == sorted(
        tag for tag, _ in expected.elements if tag in ("script", "style", "title")
    )
    assert not [name for _, name in found.kinds if name.startswith("on")]
    shown = "".join(found.shown)
    assert all(label in shown for label in labels)


def odd_review(values: List[str]) -> Reviewed:
    docs = [Doc(VOCAB, words=[text, "is", "odd"]) for text in values]
    found = []
    for number, (doc, label) in enumerate(zip(docs, values)):
        doc.spans["ents"] = [Span(doc, 0, 1, label=label)]
        spans = (0, 1, label), (0, 2, label)
        elsewhere = Elsewhere({label: 2}, 1)
        found.append(Suspicion("label", 0.9, number, *spans, 0.1, 0.8, elsewhere))
    return Reviewed(docs, found)


def test_page_of_suspicions_has_no_elements_of_its_data(tried: Count) -> None:
    harmless = [f"L{number}" for number in range(len(HTML))]
    expected = Seen(render_page(odd_review(harmless), "data", limit=100))
    found = Seen(render_page(odd_review(HTML), " ".join(HTML), limit=100))
    tried("odd names", len(HTML))
    assert found.kinds == expected.kinds
    assert [t for t, _ in found.elements] == [t for t, _ in expected.elements]
    assert not [name for _, name in found.kinds if name.startswith("on")]
    assert all(text in "".join(found.shown) for text in HTML)


def odd_agreement(values: List[str]) -> Agreement:
    docs = [Doc(VOCAB, words=[text, "is", "odd"]) for text in values]
    rows = list(zip(docs, values))
    spans = [{(0, len(doc[0]), label)} for doc, label in rows]
    longer = [{(0, doc[1].idx + 2, label)} for doc, label in rows]
    whole = " ".join(values)
    versions = [Version(whole, docs, spans), Version("second", docs, longer)]
    return measure_agreement(versions, n_samples=2)


def test_page_of_agreement_has_no_elements_of_its_data(tried: Count) -> None:
    harmless = [f"L{number}" for number in range(len(HTML))]
    expected = Seen(render_agreement(odd_agreement(harmless), limit=100))
    found = Seen(render_agreement(odd_agreement(HTML), limit=100))
    tried("odd names", len(HTML))
    assert found.kinds == expected.kinds
    assert [t for t, _ in found.elements] == [t for t, _ in expected.elements]
    assert not [name for _, name in found.kinds if name.startswith("on")]
    assert all(text in "".join(found.shown) for text in HTML)


# ------------------------------------------------------------------------ Markdown


@pytest.fixture(scope="module")
def markdown() -> Any:
    return pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")


ODD = [*HTML, *MARKDOWN, *SHEETS, *TERMINAL]


def odd_card(values: List[str]) -> str:
    nlp = odd_pipeline(values)
    whole = " ".join(values)
    nlp.meta.update(name="odd", version=whole, author=whole, description=whole)
    nlp.meta.update(license=whole)
    scores = {value: {"p": 1.0, "r": 0.5, "f": 0.7} for value in values}
    nlp.meta["performance"] = {"spans_ents_f": 0.5, "spans_ents_per_type": scores}
    nlp.config["paths"]["train"] = f"a/{whole.replace('/', '')}"
    return render_card(nlp)


def test_card_has_no_elements_of_its_data(markdown: Any, tried: Count) -> None:
    harmless = [f"L{number}" for number in range(len(ODD))]
    tried("odd names", len(ODD))
    expected = Seen(markdown.render(odd_card(harmless)))
    found = Seen(markdown.render(odd_card(ODD)))
    # Fewer rows, because labels that differ only in white space look alike.
    assert found.kinds == expected.kinds
    assert not {tag for tag, _ in found.elements} & {"a", "img", "script", "b", "svg"}
    assert len([t for t, _ in found.elements if t == "h1"]) == 1
    for tag in ("table", "th", "tr", "td", "pre", "h2", "h3"):
        both = [[t for t, _ in page.elements].count(tag) for page in (found, expected)]
        assert both[0] == both[1], tag


def test_example_in_a_card_is_one_string_of_python(tried: Count) -> None:
    for key in ['"]); import os; ("', "a\nb", "```", "\\", "it's", '"""', "\u202e"]:
        tried("odd names")
        nlp = blank_pipeline("span_biaffine", spans_key=key)
        card = render_card(nlp, name="demo")
        (block,) = re.findall(r"```python\n(.*?)\n```\n", card, flags=re.DOTALL)
        tree = compile(block, "card", "exec", flags=0x400)  # only parsed
        assert [type(node).__name__ for node in tree.body] == [
            "Import",
            "Assign",
            "Assign",
            "For",
        ]
        assert tree.body[3].iter.slice.value == key


@given(st.text(max_size=20))
def test_code_and_escaped_texts_are_shown_as_they_are(text: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    wanted = " ".join(plain(" ".join(text.split())).split())
    for shown in (f"x {code(text)} x", f"x {escaped(text)} x"):
        seen = Seen(markdown.render(shown))
        assert {tag for tag, _ in seen.elements} <= {"p", "code"}
        assert " ".join("".join(seen.shown).split()) == f"x {wanted} x".replace(
            "  ", " "
        )


@given(st.lists(st.text("|\\` a", max_size=8), min_size=2, max_size=2))
def test_tables_have_the_cells_that_they_were_given(cells: List[str]) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    page = markdown.enable("table").render(markdown_table(["a", "b"], [cells]))
    tags = [tag for tag, _ in Seen(page).elements]
    assert (tags.count("tr"), tags.count("td"), tags.count("th")) == (2, 2, 2)


# ------------------------------------------------------------------- spreadsheets


def test_cells_of_reports_are_no_formulas(tmp_path: Path, tried: Count) -> None:
    values = [text for text in ODD if text != "\x00"]
    tried("odd names", len(values))
    write_csv(tmp_path / "found.csv", as_rows(odd_review(values)))
    with (tmp_path / "found.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert [unguarded(row["label"]) for row in rows] == values
    assert [unguarded(row["text"]) for row in rows] == values
    assert not [x for row in rows for x in row.values() if x.startswith(FORMULAS)]


def test_cells_of_agreement_are_no_formulas(tmp_path: Path, tried: Count) -> None:
    values = [text for text in ODD if text != "\x00"]
    tried("odd names", len(values))
    write_agreement(odd_agreement(values), tmp_path, limit=0)
    for name in ("agreement.csv", "documents.csv"):
        with (tmp_path / name).open(encoding="utf-8-sig", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        numbers = [cell for cell in cells if re.fullmatch(r"-?[\d.e-]+", cell)]
        assert numbers
        assert not [c for c in {*cells} - {*numbers} if c.startswith(FORMULAS)]


def test_cells_of_lost_entities_are_no_formulas(tmp_path: Path, tried: Count) -> None:
    values = [text for text in ODD if text != "\x00"]
    tried("odd names", len(values))
    lost = LostSpans(tmp_path / "lost.csv")
    rows = [Lost(text, n, text, text, text) for n, text in enumerate(values)]
    lost.add(rows)
    lost.close()
    with (tmp_path / "lost.csv").open(encoding="utf8", newline="") as file:
        header, *cells = csv.reader(file)
    assert not [x for row in [header, *cells] for x in row if x.startswith(FORMULAS)]
    assert [tuple(map(unguarded, row)) for row in cells] == [
        tuple(map(str, row)) for row in rows
    ]


@given(st.text(alphabet=st.sampled_from([*"'=+-@ab \t\r\n\uff1d"]), max_size=6))
def test_guarded_cells_are_read_back_as_they_were(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(FORMULAS)


def test_numbers_are_not_guarded() -> None:
    assert [guarded(cell) for cell in (-1, 0.5, None)] == [-1, 0.5, None]


# ----------------------------------------------------------------------- terminals


def commands(text: str) -> List[str]:
    """List the characters that a terminal would obey."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_messages_do_not_command_terminals(tried: Count) -> None:
    for text in TERMINAL:
        tried("odd names")
        shown = Errors.SP061.format(source=Path(text), problem=text)
        assert not commands(shown) and "[SP061]" in shown
        assert not commands(Warnings.SW151.format(command=text))
        assert plain(text) != text


def test_commands_print_what_terminals_do_not_obey(
    capsys: pytest.CaptureFixture, tried: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(msg, "no_print", False)
    for text in TERMINAL:
        tried("odd names")
        msg.text(text, text)
        msg.good(text)
        msg.warn(text, text)
        msg.info(text)
        msg.divider(text)
        msg.table([(text, 1, text)], header=(text, "b", "c"))
        msg.table({text: text})
        # What colours the messages is not from the data.
        printed = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
        assert printed.count(plain(text)) >= 9
        assert not commands(printed)


def test_all_commands_print_with_the_careful_printer() -> None:
    folder = Path(__file__).parents[2] / "spacy_spanner" / "cli"
    for path in folder.glob("*.py"):
        source = path.read_text(encoding="utf8")
        assert "wasabi import msg" not in source, path
        assert not re.search(r"(?<![\w.])print\((?!plain\()", source), path


def test_text_without_commands_is_not_changed() -> None:
    text = "Müller 技 \U0001f600\n\tline – “x”"
    assert plain(text) == text


# --------------------------------------------------------------------------- YAML


YAML = [
    "!!python/object/apply:pathlib.Path.touch [marker]",
    "!!python/object/new:pathlib.Path [marker]",
    "!!python/name:os.system",
    "a: !!python/module:os",
]


def test_settings_of_sweeps_call_nothing(tmp_path: Path, tried: Count) -> None:
    for text in YAML:
        tried("odd names")
        (tmp_path / "sweep.yml").write_text(text, encoding="utf8")
        with harmless(tmp_path), pytest.raises(ValueError, match="SP135"):
            read_space(tmp_path / "sweep.yml")
