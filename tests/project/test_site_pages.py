"""What the site makes of docstrings, messages, links, notebooks and its navigation."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def scripts_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "site"))


def documented() -> None:
    """Do it.

    Read on.

    one, two (int): numbers,
        both small.
    **rest: see `there`.
    RETURNS (str): a | b.
    RAISES (ValueError): SP002.

    >>> documented()
    """


def test_docstring_is_split_into_its_parts() -> None:
    found = import_module("docstrings").parse(documented)
    assert found.text == "Do it.\n\nRead on."
    assert found.arguments == [
        ("one, two", "int", "numbers, both small."),
        ("**rest", "", "see `there`."),
    ]
    assert [entry.names for entry in found.results] == ["RETURNS", "RAISES"]
    assert found.example == ">>> documented()"


def test_docstring_becomes_a_table() -> None:
    lines = import_module("docstrings").to_markdown(documented, {"two": 2})
    assert "| `one`, `two` | `int` | `2` | numbers, both small. |" in lines
    assert "**Returns** `str`: a | b." in lines
    assert lines[-3:] == ["```pycon", ">>> documented()", "```"]


@pytest.mark.parametrize(
    "message, what, to_do",
    [
        ("It is gone. Use another.", "It is gone.", "Use another."),
        ("It is gone ({why}). Set x. Or y.", "It is gone ({why}).", "Set x. Or y."),
        ("It is gone. It was old.", "It is gone. It was old.", ""),
    ],
)
def test_message_is_split_where_advice_begins(
    message: str, what: str, to_do: str
) -> None:
    assert import_module("error_page").split_message(message) == [what, to_do]


def test_message_shows_its_values() -> None:
    shown = import_module("error_page").fill("{n_docs} of '{a!r}' in {{x}} [y] a_b")
    assert shown == "*n docs* of '*a*' in {x} &#91;y] a\\_b"


def test_every_error_says_where_it_comes_from() -> None:
    uses = import_module("error_page").find_uses()
    assert ("settings.py", "ValueError") in uses["SP002"]


@pytest.mark.parametrize(
    "link, expected",
    [
        ("[x](training.md#a)", "[x](training.md#a)"),
        ("[x](../README.md)", "[x](index.md)"),
        ("[x](../CHANGELOG.md)", "[x](changelog.md)"),
        ("[`x`](../setup.cfg)", "`x`"),
        ("[x](../setup.cfg)", "`setup.cfg`"),
        ("[x](https://spacy.io)", "[x](https://spacy.io)"),
        ("![x](images/a.svg)", "![x](images/a.svg)"),
        ("```text\n[x](../setup.cfg)\n```", "```text\n[x](../setup.cfg)\n```"),
    ],
)
def test_links_are_those_of_the_site(link: str, expected: str) -> None:
    assert import_module("links").rewrite_links(link, "data.md") == expected


def test_links_of_pages_from_elsewhere() -> None:
    rewrite = import_module("links").rewrite_links
    assert rewrite("[x](docs/data.md)", "changelog.md") == "[x](data.md)"
    assert rewrite("[x](PANEL.md)", "benchmarks/index.md") == "[x](panel.md)"


def test_navigation_has_what_exists_and_names_the_rest() -> None:
    nav: Any = ["a.md", {"B": ["gone.md", "b/"]}, {"C": "also_gone.md"}]
    pages = ["a.md", "b/x.md", "b/index.md", "new.md"]
    expected = ["a.md", {"B": ["b/index.md", "b/x.md"]}, {"More": ["new.md"]}]
    assert import_module("navigation").complete(nav, pages) == expected


def test_picture_that_exists_in_dark_is_shown_in_both() -> None:
    both = import_module("pictures").both_themes
    found = both("![a](../images/speed.svg)")
    assert found.count("![a](") == 2 and "images/speed-dark.svg#only-dark" in found
    assert both("![a](images/none.svg)") == "![a](images/none.svg)"


def test_notebook_becomes_a_page() -> None:
    code = {"cell_type": "code", "source": ["1 + 1"]}
    outputs = [{"data": {"text/plain": ["2"]}}, {"text": ["printed\n"]}]
    table = [{"data": {"text/html": ["<b>x</b>\n", "\n", "y"], "text/plain": "x"}}]
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {**code, "outputs": outputs},
        {**code, "outputs": table},
    ]
    page = import_module("notebook_pages").to_markdown({"cells": cells})
    assert page.startswith("# Title\n\n```python\n1 + 1\n```")
    assert "```text\n2\n```" in page and "```text\nprinted\n```" in page
    assert '<div class="output">\n<b>x</b>\ny\n</div>' in page
