"""Docstrings in spaCy's style as Markdown."""

import inspect
import re
from typing import Any, Dict, List, NamedTuple

# `names (type): text`, `*names: text`, and the indented lines that continue it.
ENTRY = re.compile(
    r"^(?P<names>\*{0,2}\w[\w, *]*?)(?: \((?P<type>.*?)\))?: "
    r"(?P<text>.*(?:\n {4}.*)*)$",
    re.MULTILINE,
)
RESULTS = ("RETURNS", "YIELDS", "RAISES")
EXAMPLE = re.compile(r"(?m)^>>> ")


class Entry(NamedTuple):
    """An argument, or a result."""

    names: str
    type: str
    text: str


class Docstring(NamedTuple):
    """The parts of a docstring.

    text (str): what stands before the arguments.
    arguments, results (List[Entry]): those, in their order.
    example (str): an interactive session, or "".
    """

    text: str
    arguments: List[Entry]
    results: List[Entry]
    example: str


def parse(thing: Any) -> Docstring:
    """RETURNS (Docstring): the docstring of an object, in parts."""
    text = inspect.cleandoc(thing.__doc__ or "")
    session = EXAMPLE.search(text)
    start = session.start() if session else len(text)
    body, example = text[:start], text[start:]
    entries = [entry for match in ENTRY.finditer(body) if (entry := _entry(match))]
    first = min((match.start() for match in ENTRY.finditer(body)), default=len(body))
    return Docstring(
        body[:first].strip(),
        [entry for entry in entries if entry.names not in RESULTS],
        [entry for entry in entries if entry.names in RESULTS],
        example.strip(),
    )


def _entry(match: re.Match) -> Entry:
    text = " ".join(match["text"].split())
    return Entry(match["names"], match["type"] or "", text)


def cell(text: str) -> str:
    """RETURNS (str): text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def shown(text: str) -> str:
    """RETURNS (str): prose without characters that HTML or Markdown would read."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if place % 2 else part.replace("<", "&lt;").replace("*", "\\*")
        for place, part in enumerate(parts)
    )


def to_markdown(thing: Any, defaults: Dict[str, Any]) -> List[str]:
    """Describe an object by its docstring.

    defaults (Dict[str, Any]): the defaults of its arguments.
    RETURNS (List[str]): lines.
    """
    found = parse(thing)
    lines = ["", shown(found.text)] if found.text else []
    if found.arguments:
        lines += ["", "| argument | type | default | meaning |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [_row(entry, defaults) for entry in found.arguments]
    for entry in found.results:
        kind = f" `{entry.type}`:" if entry.type else ":"
        lines += ["", f"**{entry.names.capitalize()}**{kind} {shown(entry.text)}"]
    if found.example:
        lines += ["", "```pycon", found.example, "```"]
    return lines


def _row(entry: Entry, defaults: Dict[str, Any]) -> str:
    names = [name.strip() for name in entry.names.split(",")]
    values = [f"`{defaults[name]!r}`" for name in names if name in defaults]
    cells = [
        ", ".join(f"`{name}`" for name in names),
        f"`{entry.type}`" if entry.type else "",
        ", ".join(values),
        shown(entry.text),
    ]
    return f"| {' | '.join(map(cell, cells))} |"
