"""Write docs/settings.md: every setting of every model, from the code that reads it."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Dict, List

import spacy
import typer
from datasets import ROOT
from spacy.util import registry

from spacy_spanner.pipeline.factories import codec_types
from spacy_spanner.settings import SpanSettings, describe

PAGE = ROOT / "docs" / "settings.md"
ENCODERS = ("Transformer", "Features", "BiLSTM")
HEAD = """\
# Settings

Written by `python scripts/settings_page.py` from the docstrings and defaults of the
code. The settings of a component stand in its config block, or in
`nlp.add_pipe(name, config={...})`; those of its architecture in the block `model`.
"""


def to_table(thing: Any, defaults: Dict[str, Any]) -> List[str]:
    """Make a table of the settings of a class or function that have a default.

    RETURNS (List[str]): lines of Markdown; settings with one description share a row.
    """
    lines = ["", "| setting | default | meaning |", "| --- | --- | --- |"]
    for found in describe(thing):
        names = [name for name in found.names if name in defaults]
        if names:
            shown = ", ".join(f"`{name}`" for name in names)
            values = ", ".join(f"`{json.dumps(defaults[name])}`" for name in names)
            lines.append(f"| {shown} | {values} | {found.text.replace('|', '/')} |")
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
    model = {key: default["model"][key] for key in default["model"] if key != "tok2vec"}
    name = model.pop("@architectures")
    build = registry.architectures.get(name)
    return [
        f"\n## `{factory}`",
        f"\nDefaults that are its own: {shared_settings(factory)}. Its own settings:",
        *to_table(codec_types[factory], own_settings(factory)),
        f"\nIts architecture, `{name}`, on any encoder in `tok2vec`:",
        *to_table(build, model),
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
    table = to_table(build, defaults)
    return [f"\n## `spacy_spanner.{name}.v1`", *table]


def make_page() -> str:
    """RETURNS (str): the whole page."""
    spacy.blank("en")  # loads the factories
    shared = {field.name: field.default for field in fields(SpanSettings)}
    shared.update(threshold="by model", label_thresholds={})
    lines = [
        "\n## All components",
        *to_table(SpanSettings, shared),
    ]
    for factory in sorted(codec_types):
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
