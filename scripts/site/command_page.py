"""The page of the commands, from the commands themselves."""

import re
from typing import Any, Iterator, List, Tuple

import typer
from docstrings import cell, shown

from spacy_spanner.cli import app

HEAD = """\
# Commands

Generated from the commands themselves. They extend spaCy's command line, and every one
shows this description with `--help`. Use spaCy's own `train`, `evaluate` and `package`
beside them: [Get started](get_started.md) shows how they follow each other.

| command | see also |
| --- | --- |
| `convert`, `stats` | [formats](data.md) |
| `init-config`, `debug-data` | [get started](get_started.md) |
| `evaluate`, `tune`, `analyze` | [evaluation](evaluation.md), [papers](papers.md) |
| `find-errors`, `select`, `agreement` | [annotation](annotation.md) |
| `serve` | [serving](serving.md) |
| `optimize` | [CPU speed](cpu_speed.md) |
| `annotate` | [scaling](scaling.md) |
| `train-parallel`, `sweep`, `resume` | [training](training.md) |
| `model-card` | [publishing](publishing.md) |
"""


def make_page() -> str:
    """RETURNS (str): the whole page."""
    lines = [HEAD]
    for name, command in all_commands():
        lines += command_section(name, command)
    return "\n".join(lines) + "\n"


def all_commands() -> Iterator[Tuple[str, Any]]:
    """YIELDS (Tuple[str, Any]): the words of each command, and the command."""
    commands = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    for name in sorted(commands):
        for part in sorted(getattr(commands[name], "commands", {})):
            yield f"{name} {part}", commands[name].commands[part]
        if not hasattr(commands[name], "commands"):
            yield name, commands[name]


def command_section(name: str, command: Any) -> List[str]:
    """RETURNS (List[str]): lines about a command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    words = " ".join(_argument_word(one) for one in arguments)
    usage = f"python -m spacy spanner {name} {words} [OPTIONS]"
    if command.context_settings.get("ignore_unknown_options"):
        usage += " [--section.setting VALUE ...]"
    text = re.sub(r"[\b\f]", "", command.help or "")
    lines = [f"\n## `{name}`", "", shown(text), "", "```text", usage, "```"]
    if arguments:
        lines += ["", "| argument | meaning |", "| --- | --- |"]
        lines += [f"| `{argument_name(one)}` | {_help(one)} |" for one in arguments]
    lines += ["", "| option | default | meaning |", "| --- | --- | --- |"]
    return lines + [_option_row(one) for one in options]


def argument_name(argument: Any) -> str:
    """RETURNS (str): the name of an argument, as `--help` writes it."""
    return (argument.metavar or argument.name or "").strip("[]").upper()


def _argument_word(argument: Any) -> str:
    word = argument_name(argument)
    return word if argument.required else f"[{word}]"


def _option_row(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    default = option.default
    known = default not in (None, "", [], ()) and not callable(default)
    value = "" if not known else f"`{getattr(default, 'value', default)}`".lower()
    if not option.is_flag and known:
        value = f"`{getattr(default, 'value', default)}`"
    return f"| {names} | {value} | {_help(option)} |"


def _help(parameter: Any) -> str:
    return cell(shown(parameter.help or ""))
