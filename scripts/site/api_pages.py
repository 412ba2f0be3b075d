"""The pages of the Python API, from docstrings."""

import inspect
from collections import ChainMap
from configparser import ConfigParser
from importlib import import_module
from typing import Any, Dict, Iterator, List, Tuple

import spacy
from docstrings import to_markdown
from links import ROOT

import spacy_spanner

PACKAGE = spacy_spanner.__name__
HEAD = """\
# Python API

Generated from the docstrings. These names can be imported from `spacy_spanner`; they
are loaded when they are first used. What a config or `nlp.add_pipe` names is on the
page of the [registered functions](registered.md).

| name | purpose |
| --- | --- |
"""
REGISTERED = """\
# Registered functions

Generated from the docstrings. Installing the package registers these names, so configs
can use them without an import. [Stability](../stability.md) says what a name with `.v1`
promises.
"""
# Factories and architectures of the models are on the page of the settings.
REGISTRIES = {
    "spacy_factories": "Components",
    "spacy_architectures": "Architectures",
    "thinc_optimizers": "Optimizers",
    "spacy_callbacks": "Callbacks",
    "spacy_augmenters": "Augmenters",
    "spacy_scorers": "Scorers",
}


def make_pages() -> Dict[str, str]:
    """RETURNS (Dict[str, str]): Markdown of the pages, by their place in the site."""
    spacy.blank("en")  # loads the factories
    names = [name for name in spacy_spanner.__all__ if name != "__version__"]
    names.sort(key=str.lower)
    pages = {f"api/{name}.md": name_page(name) for name in names}
    rows = [f"| [`{name}`]({name}.md) | {_summary(name)} |" for name in names]
    pages["api/index.md"] = HEAD + "\n".join(rows) + "\n"
    pages["api/registered.md"] = registered_page()
    return pages


def name_page(name: str) -> str:
    """RETURNS (str): the page of a public name."""
    thing = getattr(spacy_spanner, name)
    lines = [f"# `{name}`", "", f"```python\nfrom spacy_spanner import {name}\n```"]
    if inspect.isclass(thing):
        lines += describe_class(name, thing)
    elif callable(thing):
        lines += describe_call(name, thing)
    else:
        lines += ["", _summary(name), "", "```text", repr(thing), "```"]
    return "\n".join(lines) + "\n"


def describe_class(name: str, thing: Any) -> List[str]:
    """RETURNS (List[str]): lines about a class, its construction and its methods."""
    lines = to_markdown(thing, {})
    if "__init__" in vars(thing) and thing.__init__.__doc__:
        lines += ["", f"## `{name}(...)`", *describe_call(name, thing.__init__)]
    for method, value in own_members(thing):
        title = f"\n## `{method}`"
        if isinstance(value, property):
            lines += [title, *to_markdown(value.fget, {})]
        else:
            lines += [title, *describe_call(method, value)]
    return lines


def own_members(thing: Any) -> Iterator[Tuple[str, Any]]:
    """YIELDS (Tuple[str, Any]): public methods and properties with a docstring that a
    class has from this package.
    """
    classes = [one for one in thing.__mro__ if one.__module__.startswith(PACKAGE)]
    members = dict(ChainMap(*(dict(vars(one)) for one in classes)))
    for name, value in members.items():
        function = inspect.unwrap(getattr(value, "__func__", value))
        documented = getattr(value, "fget", None) or function
        if name.startswith("_") or not getattr(documented, "__doc__", None):
            continue
        if isinstance(value, property) or inspect.isfunction(function):
            yield name, value if isinstance(value, property) else function


def describe_call(name: str, function: Any) -> List[str]:
    """RETURNS (List[str]): lines about a function, with its signature."""
    parameters = inspect.signature(function).parameters.values()
    words = [_parameter(one) for one in parameters if one.name not in ("self", "cls")]
    one_line = f"{name}({', '.join(words)})"
    inner = ",\n    ".join(words)
    signature = one_line if len(one_line) <= 78 else f"{name}(\n    {inner},\n)"
    defaults = {
        one.name: one.default for one in parameters if one.default is not one.empty
    }
    return ["", "```text", signature, "```", *to_markdown(function, defaults)]


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    default = "" if one.default is one.empty else f"={one.default!r}"
    return f"{stars}{one.name}{default}"


def _summary(name: str) -> str:
    thing = getattr(spacy_spanner, name)
    if not callable(thing):
        return (
            "Names and types of the columns that the annotation adds to Spark's tables."
        )
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def registered_page() -> str:
    """RETURNS (str): the page of all registered functions."""
    config = ConfigParser()
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read(ROOT / "setup.cfg", encoding="utf8")
    points = config["options.entry_points"]
    lines = [REGISTERED]
    for registry, title in REGISTRIES.items():
        lines += [f"\n## {title}"]
        for line in points[registry].strip().splitlines():
            name, _, path = line.partition(" = ")
            module, _, function = path.partition(":")
            lines += [f"\n### `{name}`"]
            lines += describe_call(name, getattr(import_module(module), function))
    return "\n".join(lines) + "\n"
