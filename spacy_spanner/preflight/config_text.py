"""The text of a config, with a comment above every setting that needs one.

Thinc's own text orders the blocks by depth, and changes with its version; here a block
stands below the one that it belongs to, and small numbers are written without exponent.
"""

import json
import re
import textwrap
from decimal import Decimal
from typing import Any, Dict, Iterator, Mapping

WIDTH = 88
SECTIONS = ["paths", "vars", "system", "nlp", "components", "corpora", "training"]
SECTIONS += ["pretraining", "initialize"]
VARIABLE = re.compile(r"\$\{[\w.:]+\}")
# Comments by section and setting; the setting "" is the head of the section.
Comments = Dict[str, Dict[str, str]]


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
