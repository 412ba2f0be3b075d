"""The page about a model: complete, self-contained, readable on a phone."""

import re
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_spanner.evaluation.report.figures.scores import confusion_figure
from spacy_spanner.evaluation.report.page import write_report
from spacy_spanner.evaluation.summary import Evaluation, compare, evaluate_pipeline

from ...helpers import NESTED, Data, annotate, make_examples, trained_copy
from ..test_predicting import ruler, write_corpus
from .browser import DESKTOP, PHONE, Browser

FIGURES = ["by_length", "by_type", "comparison", "confusion", "kinds", "offsets"]
FIGURES += ["reliability", "threshold", "threshold_by_label"]
OTHER: Data = (
    ("The US Supreme Court met in Boston.", [(0, 4, "ORG"), (1, 2, "GPE")]),
    ("Ana Ruiz met the mayor of Leon County <b>.", [(0, 2, "PER"), (6, 8, "GPE")]),
    ("It rained.", []),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two models, with errors of several kinds."""
    folder = tmp_path_factory.mktemp("report")
    nlp = trained_copy("span_biaffine")
    path = write_corpus(folder, nlp, [*NESTED, *OTHER])
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.1
    draws = {"seed": 0, "n_samples": 50}
    first = evaluate_pipeline(nlp, path, name="one", **draws)
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.9
    second = evaluate_pipeline(nlp, path, name="two", **draws)
    comparison = compare(first, second, **draws)
    write_report(folder, first, second=second, comparison=comparison)
    return folder


def test_report_has_every_figure_as_png_and_svg(folder: Path) -> None:
    found = sorted(path.name for path in (folder / "figures").iterdir())
    assert found == sorted(
        f"{name}.{end}" for name in FIGURES for end in ("png", "svg")
    )
    for path in (folder / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_wide_confusion_shows_missed_and_spurious_spans_without_scrolling() -> None:
    labels = [*"ABCDEFGHIJKLMNO", "(none)"]
    counts = [[10 * row + column for column in range(16)] for row in range(16)]
    (axes,) = confusion_figure({"labels": labels, "counts": counts}).axes
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    assert names == [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["(none)", *labels[:-1]]
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells[1, 0] == "150"  # gold (none), predicted A
    assert cells[0, 1] == "15"  # gold A, predicted (none)


def test_hint_about_tooltips_is_for_devices_that_show_them(folder: Path) -> None:
    html = (folder / "report.html").read_text(encoding="utf8")
    assert '<span class="with-pointer"> Hover over a bar' in html
    rule = "@media not all and (hover: hover) { .with-pointer { display: none; } }"
    assert rule in html


def test_report_needs_nothing_else(folder: Path) -> None:
    html = (folder / "report.html").read_text(encoding="utf8")
    links = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "@import" not in html and "url(http" not in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="#([^"]+)"', html):
        assert target in ids


def test_report_shows_the_computed_numbers(folder: Path) -> None:
    nlp = trained_copy("span_biaffine")
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.1
    scores = nlp.evaluate(make_examples(nlp, [*NESTED, *OTHER]))
    html = (folder / "report.html").read_text(encoding="utf8")
    for name in ("f", "p", "r", "macro_f", "ece"):
        assert f"<dd>{100 * scores[f'spans_ents_{name}']:.1f}<small>" in html


@pytest.mark.parametrize("screen", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_in_a_browser(
    folder: Path, browser: Browser, screen: Dict[str, Any], dark: bool
) -> None:
    browser.open(folder / "report.html", screen, dark=dark)
    assert browser.complaints() == []
    # Nothing sticks out of the page; wide tables scroll inside.
    width = browser.run("document.documentElement.scrollWidth")
    assert width <= screen["width"]
    shown = browser.run(
        "[...document.querySelectorAll('figure svg')].map(svg => {"
        "const box = svg.getBoundingClientRect(); return [svg.parentElement.id,"
        "box.width, box.height, svg.querySelectorAll('text').length] })"
    )
    assert sorted(name for name, *_ in shown) == [f"figure-{name}" for name in FIGURES]
    assert all(min(numbers) > 0 for _, *numbers in shown)
    assert all(width >= 250 for _, width, *_ in shown)
    smallest = browser.run(
        "Math.min(...[...document.querySelectorAll('p, td, th, li, dd, dt')]"
        ".map(node => parseFloat(getComputedStyle(node).fontSize)))"
    )
    assert smallest >= 12


def luminance(color: str) -> float:
    """RETURNS (float): relative luminance as WCAG 2 defines it."""
    values = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values
    ]
    return sum(weight * v for weight, v in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_has_enough_contrast(folder: Path, browser: Browser, dark: bool) -> None:
    browser.open(folder / "report.html", DESKTOP, dark=dark)
    colors: List[List[str]] = browser.run(
        "['p.note', 'td', 'thead th', 'h2', '.bar b', '.what li', '.chip', 'nav a']"
        ".map(name => { const node = document.querySelector(name); let back = node;"
        "const clear = n => /, 0\\)$/.test(getComputedStyle(n).backgroundColor);"
        "while (back.parentElement && clear(back)) back = back.parentElement;"
        "return [name, getComputedStyle(node).color,"
        "getComputedStyle(back).backgroundColor] })"
    )
    for name, *pair in colors:
        light, dim = sorted(map(luminance, pair), reverse=True)
        assert (light + 0.05) / (dim + 0.05) >= 4.5, (name, pair)


def test_report_filters_errors(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", DESKTOP)
    visible = "[...document.querySelectorAll('.errors > li')].filter(li => !li.hidden)"
    total = browser.run(f"{visible}.length")
    assert total > 1
    browser.run(
        "(select => { select.value = 'missed';"
        "select.dispatchEvent(new Event('change')) })(document.getElementById('kind'))"
    )
    kinds = browser.run(f"{visible}.map(li => li.dataset.kinds)")
    assert 0 < len(kinds) < total
    assert all("missed" in text for text in kinds)
    assert browser.run("document.getElementById('shown').textContent") == str(
        len(kinds)
    )


def test_report_text_of_documents_is_no_markup(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", DESKTOP)
    text = browser.run("document.querySelector('.errors').textContent")
    assert "<b>" in text


# ----------------------------------------------------------------- edge cases


def evaluate_words(
    tmp_path: Path, nlp: Language, texts: List[str], gold: List[List[tuple]], key: str
) -> Evaluation:
    docs = [
        annotate(nlp.make_doc(text), spans, key) for text, spans in zip(texts, gold)
    ]
    path = tmp_path / "edge.spacy"
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    found = evaluate_pipeline(nlp, path, name="edge", n_samples=20)
    write_report(tmp_path / "out", found)
    return found


BOSTON = "The mayor of Boston"
CASES = {
    "no gold": ([BOSTON, "x"], [[], []]),
    "no prediction": (["The mayor", "x"], [[(0, 1, "A")], []]),
    "nothing at all": (["The mayor", "x"], [[], []]),
    "one label, all right": ([BOSTON, "x"], [[(3, 4, "GPE")], []]),
    "one document of one token": (["Boston"], [[(0, 1, "GPE")]]),
}


@pytest.mark.parametrize("case", CASES)
def test_report_of_edge_cases(case: str, tmp_path: Path, browser: Browser) -> None:
    found = evaluate_words(tmp_path, ruler(), *CASES[case], "ruler")
    scores = found.metrics["scores"]
    assert scores["ece"] is None
    assert found.metrics["thresholds"] is None
    n_spans = found.metrics["data"]["gold"] + found.metrics["data"]["predicted"]
    assert (scores["f"] is None) == (n_spans == 0)
    browser.open(tmp_path / "out" / "report.html", PHONE)
    assert browser.complaints() == []
    text = browser.run("document.body.innerText")
    assert "nan" not in text and "None" not in text
    assert "no scores" in text


def test_report_of_spancat(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("spancat", config={"spans_key": "sc", "threshold": 0.0})
    examples = make_examples(nlp, NESTED, "sc")
    nlp.initialize(lambda: examples)
    texts, gold = zip(*NESTED[:3])
    found = evaluate_words(tmp_path, nlp, list(texts), list(gold), "sc")
    assert found.metrics["model"]["factory"] == "spancat"
    assert found.metrics["scores"]["reliability"]
    assert found.metrics["thresholds"]["current"] == 0.0
    assert (tmp_path / "out" / "figures" / "threshold.svg").exists()


def test_report_counts_one_in_the_singular(tmp_path: Path) -> None:
    evaluate_words(tmp_path, ruler(), ["Boston"], [[(0, 1, "GPE")]], "ruler")
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf8")
    assert ": 1 document, 1 token, 1 gold span under" in html
