"""Write docs/settings.md: every setting of every model, from the code that reads it."""

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import spacy
import typer
from datasets import ROOT
from spacy.util import registry

from spacy_spanner.settings import SpanSettings

PAGE = ROOT / "docs" / "settings.md"
MODELS = {
    "span_biaffine": "BiaffineCodec",
    "span_locate_label": "LocateLabelCodec",
    "span_diffusion": "DiffusionCodec",
    "span_offset": "OffsetCodec",
}
ENCODERS = ("Transformer", "Features", "BiLSTM")
HEAD = """\
# Settings

Written by `python scripts/settings_page.py` from the docstrings and defaults of the
code. The settings of a component stand in its config block, or in
`nlp.add_pipe(name, config={...})`; those of its architecture in the block `model`.
"""
# `name, name (type): text` in a docstring, with the deeper lines that follow.
ENTRY = re.compile(r"^(\w[\w, ]*) \([^)]*\): (.*(?:\n {4}.*)*)", re.MULTILINE)


class Entry(NamedTuple):
    """A row of a table: settings that are explained together."""

    names: List[str]
    text: str


def entries(docstring: str) -> Iterator[Entry]:
    """YIELDS (Entry): what a docstring says of settings."""
    for names, text in ENTRY.findall(docstring):
        yield Entry(names.split(", "), " ".join(text.split()))


def to_table(docstring: str, defaults: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): lines of Markdown, one row for each entry with a default."""
    lines = ["", "| setting | default | meaning |", "| --- | --- | --- |"]
    for names, text in entries(docstring):
        names = [name for name in names if name in defaults]
        if names:
            shown = ", ".join(f"`{name}`" for name in names)
            values = ", ".join(f"`{json.dumps(defaults[name])}`" for name in names)
            lines.append(f"| {shown} | {values} | {text.replace('|', '/')} |")
    return lines


def own_settings(factory: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): defaults that are not those of all components."""
    shared = {field.name for field in fields(SpanSettings)} | {"model", "scorer"}
    default = spacy.blank("en").get_factory_meta(factory).default_config
    return {name: value for name, value in default.items() if name not in shared}


def shared_settings(factory: str) -> str:
    """RETURNS (str): which defaults of what all components share are its own."""
    default = spacy.blank("en").get_factory_meta(factory).default_config
    return ", ".join(
        f"`{field.name}` {default[field.name]}"
        for field in fields(SpanSettings)
        if default[field.name] != getattr(SpanSettings, field.name, None)
        and default[field.name] != {}
    )


def model_section(factory: str) -> List[str]:
    """RETURNS (List[str]): lines about a factory and its architecture."""
    default = spacy.blank("en").get_factory_meta(factory).default_config
    folder = factory.removeprefix("span_")
    module = inspect.importlib.import_module(f"spacy_spanner.models.{folder}.codec")
    codec = getattr(module, MODELS[factory])
    model = {key: default["model"][key] for key in default["model"] if key != "tok2vec"}
    name = model.pop("@architectures")
    build = registry.architectures.get(name)
    return [
        f"\n## `{factory}`",
        f"\nDefaults that are its own: {shared_settings(factory)}. Its own settings:",
        *to_table(inspect.getdoc(codec) or "", own_settings(factory)),
        f"\nIts architecture, `{name}`, on any encoder in `tok2vec`:",
        *to_table(inspect.getdoc(build) or "", model),
    ]


def encoder_section(name: str) -> List[str]:
    """RETURNS (List[str]): lines about an encoder."""
    build = registry.architectures.get(f"spacy_spanner.{name}.v1")
    parameters = inspect.signature(build).parameters.values()
    defaults = {
        one.name: "required" if one.default is one.empty else one.default
        for one in parameters
        if one.name != "tok2vec"
    }
    table = to_table(inspect.getdoc(build) or "", defaults)
    return [f"\n## `spacy_spanner.{name}.v1`", *table]


def make_page() -> str:
    """RETURNS (str): the whole page."""
    shared = {field.name: field.default for field in fields(SpanSettings)}
    shared.update(threshold="by model", label_thresholds={})
    lines = [
        "\n## All components",
        *to_table(inspect.getdoc(SpanSettings) or "", shared),
    ]
    for factory in MODELS:
        lines += model_section(factory)
    lines.append("\n# Encoders")
    for name in ENCODERS:
        lines += encoder_section(name)
    return HEAD + "\n".join(lines) + "\n"


def main(path: Path = typer.Argument(PAGE, help="File to write")) -> None:
    """Write the page."""
    path.write_text(make_page(), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
