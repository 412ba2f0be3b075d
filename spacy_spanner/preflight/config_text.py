"""The text of a config, with comments that come from the docstrings of what it names.

A starter config is written in the order of Thinc, which depends on its version. The
configs of the project are written with each block below the one that it belongs to, and
with small numbers without exponent.
"""

import json
import re
import textwrap
from decimal import Decimal
from typing import Any, Dict, Iterator, Mapping

from spacy.util import registry
from thinc.api import Config

from ..pipeline.factories import codec_types
from ..settings import SpanSettings, documented

WIDTH = 88
SECTIONS = ["paths", "vars", "system", "nlp", "components", "corpora", "training"]
SECTIONS += ["pretraining", "initialize"]
VARIABLE = re.compile(r"\$\{[\w.:]+\}")
REGISTERED = re.compile(r"@(\w+)")
# Comments by section and setting; the setting "" is the head of the section.
Comments = Dict[str, Dict[str, str]]

# Comments on settings that no docstring of this package or of spaCy describes.
TRAINING: Comments = {
    "paths": {
        "train": "Annotated documents: a .spacy file, or a folder with such files",
    },
    "vars": {
        "spans_key": "Key in doc.spans: read as gold, written as prediction",
    },
    "system": {
        "gpu_allocator": '"pytorch" for a GPU, which is chosen with --gpu-id',
    },
    "training": {
        "dropout": "Dropout of spaCy's encoders; heads have their own setting",
        "accumulate_gradient": "Parts that a batch is cut into; their gradients add up",
        "patience": "Stop after this many steps without improvement; 0 for never",
        "max_epochs": "0 for no limit",
        "max_steps": "Number of batches; learning rates with total_steps end there",
        "eval_frequency": "Steps between evaluations; divides max_steps, so that the "
        "last step is evaluated",
        "annotating_components": "Components whose annotation is set in training",
    },
    "training.batcher": {
        "size": "Words in a batch; fewer need less memory",
    },
    "training.optimizer": {
        "use_averages": "Of all optimizers, only spacy_spanner.AdamW.v1 averages the "
        "head, too",
    },
    "training.before_to_disk.callbacks.threshold": {
        "@callbacks": "Chooses the thresholds that are auto, on the dev data",
        "limit": "Number of dev documents to choose on; 0 for all",
        "min_gold": "With fewer gold spans, thresholds stay as they are",
    },
    "training.before_to_disk.callbacks.card": {
        "@callbacks": "Writes a model card, which `spacy package` includes",
    },
    "training.score_weights": {},
    "initialize": {
        "vectors": "Static vectors, for encoders that use them",
    },
}


def config_text(config: Mapping[str, Any], heading: str, comments: Comments) -> str:
    """Write a config with comments.

    config (Mapping[str, Any]): not interpolated.
    heading (str): first lines of the file, written as they are: a command in them can
        be copied whole.
    comments (Comments): what to say, by section and setting.
    RETURNS (str): the text; it reads back as the same config.
    """
    names = [name for name in SECTIONS if name in config]
    names += [name for name in config if name not in SECTIONS]
    lines = [f"# {line}" for line in heading.splitlines()]
    for name in names:
        lines += section_lines(name, config[name], comments)
    return "\n".join(lines) + "\n"


def section_lines(
    name: str, block: Mapping[str, Any], comments: Comments
) -> Iterator[str]:
    """YIELDS (str): lines of a section, followed by the sections in it."""
    about = comments.get(name, {})
    yield ""
    yield from comment_lines(about.get("", ""))
    yield f"[{name}]"
    inner = {key: value for key, value in block.items() if isinstance(value, dict)}
    for key, value in block.items():
        if key not in inner:
            yield from comment_lines(about.get(key, ""))
            yield f"{key} = {value_text(value)}"
    for key, value in inner.items():
        yield from section_lines(f"{name}.{key}", value, comments)


def comment_lines(text: str) -> Iterator[str]:
    """YIELDS (str): the lines of a comment; none if it is empty."""
    for line in text.splitlines():
        yield from textwrap.wrap(
            line, WIDTH, initial_indent="# ", subsequent_indent="# "
        )


def value_text(value: Any) -> str:
    """RETURNS (str): the value as it is written in a config."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def write_config(config: Config, heading: str) -> str:
    """Write a config with comments.

    config (Config): not interpolated.
    heading (str): first lines of the file.
    RETURNS (str): the text; it reads back as the same config.
    """
    comments = {**TRAINING, **_component_comments(config)}
    # Not wrapped, so that a command can be copied as one line.
    lines = [*(f"# {line}" for line in heading.splitlines()), ""]
    section = ""
    ordered = Config(config, section_order=SECTIONS)
    for line in ordered.to_str(interpolate=False).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        key = line.split(" = ")[0]
        comment = comments.get(section, {}).get(key)
        if comment:
            lines += comment_lines(capitalized(comment))
        lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def capitalized(text: str) -> str:
    """RETURNS (str): the text with a capital at the start, unless it starts with a
    symbol: η and Η, or k and K, have different meanings.
    """
    word = text.split()[0].strip(",.:;")
    is_symbol = len(word) == 1 and word != "a"
    return text if is_symbol or not word.isascii() else text[0].upper() + text[1:]


def _component_comments(config: Config) -> Comments:
    """RETURNS (Comments): comments by section and key."""
    found: Comments = {}
    for name, block in config["components"].items():
        codec_type = codec_types.get(block["factory"])
        if codec_type is not None:
            section = f"components.{name}"
            found[section] = {**documented(SpanSettings), **documented(codec_type)}
            found.update(_model_comments(block["model"], f"{section}.model"))
    return found


def _model_comments(block: Dict[str, Any], section: str) -> Comments:
    """RETURNS (Comments): comments of a block and of blocks in it."""
    found: Comments = {}
    for key, value in block.items():
        registered = REGISTERED.fullmatch(key)
        if registered:
            found[section] = documented(getattr(registry, registered[1]).get(value))
        elif isinstance(value, dict):
            found.update(_model_comments(value, f"{section}.{key}"))
    return found
