"""Write a config with comments, which come from the docstrings of what it names."""

import re
import textwrap
from typing import Any, Dict

from spacy.util import registry
from thinc.api import Config

from ..pipeline.factories import codec_types
from ..settings import SpanSettings, documented

WIDTH = 88
SECTIONS = ["paths", "vars", "system", "nlp", "components", "corpora", "training"]
SECTIONS += ["pretraining", "initialize"]
REGISTERED = re.compile(r"@(\w+)")

# Comments on settings that no docstring of this package or of spaCy describes.
TRAINING: Dict[str, Dict[str, str]] = {
    "paths": {
        "train": "Annotated documents: a .spacy file, or a folder with such files",
    },
    "vars": {
        "spans_key": "Key in doc.spans: read as gold, written as prediction",
        "steps": "Number of batches; schedules end here",
    },
    "system": {
        "gpu_allocator": '"pytorch" for a GPU, which is chosen with --gpu-id',
    },
    "training": {
        "dropout": "Dropout of spaCy's encoders; heads have their own setting",
        "accumulate_gradient": "Parts that a batch is cut into; their gradients add up",
        "patience": "Stop after this many steps without improvement; 0 for never",
        "max_epochs": "0 for no limit",
        "annotating_components": "Components whose annotation is set in training",
        "before_to_disk": "Writes a model card, which `spacy package` includes",
    },
    "training.batcher": {
        "size": "Words in a batch; fewer need less memory",
    },
    "training.optimizer": {
        "use_averages": "Averages would only include the encoder, not the head",
    },
    "training.score_weights": {},
    "initialize": {
        "vectors": "Static vectors, for encoders that use them",
    },
}


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
            lines.append(_as_comment(comment[0].upper() + comment[1:]))
        lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def _as_comment(text: str) -> str:
    options: Any = {"initial_indent": "# ", "subsequent_indent": "# "}
    paragraphs = [textwrap.fill(line, WIDTH, **options) for line in text.splitlines()]
    return "\n".join(paragraphs)


def _component_comments(config: Config) -> Dict[str, Dict[str, str]]:
    """RETURNS (Dict[str, Dict[str, str]]): comments by section and key."""
    found: Dict[str, Dict[str, str]] = {}
    for name, block in config["components"].items():
        codec_type = codec_types.get(block["factory"])
        if codec_type is not None:
            section = f"components.{name}"
            found[section] = {**documented(SpanSettings), **documented(codec_type)}
            found.update(_model_comments(block["model"], f"{section}.model"))
    return found


def _model_comments(block: Dict[str, Any], section: str) -> Dict[str, Dict[str, str]]:
    """RETURNS (Dict[str, Dict[str, str]]): comments of a block and of blocks in it."""
    found: Dict[str, Dict[str, str]] = {}
    for key, value in block.items():
        registered = REGISTERED.fullmatch(key)
        if registered:
            found[section] = documented(getattr(registry, registered[1]).get(value))
        elif isinstance(value, dict):
            found.update(_model_comments(value, f"{section}.{key}"))
    return found
