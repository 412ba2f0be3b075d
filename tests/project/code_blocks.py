"""The code blocks of the documentation, and what their commands call."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, Iterator, List, NamedTuple, Sequence

import yaml
from spacy.cli import app
from typer.main import get_command

import spacy_spanner.cli  # noqa: F401

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SEPARATORS = {"&&", "|", ";", "||", "&"}
# Sections of a config that an argument may override.
SECTIONS = {"paths", "system", "nlp", "components", "corpora", "training", "initialize"}


class Block(NamedTuple):
    """A code block.

    page (Path): where it stands.
    language (str): the word behind its fence.
    code (str): its lines, without the indentation of the fence.
    """

    page: Path
    language: str
    code: str


def blocks_of(page: Path) -> List[Block]:
    """RETURNS (List[Block]): the code blocks of a page."""
    found = []
    for indent, language, code in FENCE.findall(page.read_text(encoding="utf8")):
        lines = [line.removeprefix(indent) for line in code.splitlines()]
        found.append(Block(page, language, "\n".join(lines) + "\n"))
    return found


def commands_of(code: str) -> Iterator[List[str]]:
    """YIELDS (List[str]): the words of each command of a bash block, without the
    variables before it.
    """
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        command: List[str] = []
        for word in [*words, ";"]:
            if word not in SEPARATORS:
                command.append(word)
                continue
            while command and re.fullmatch(r"\w+=.*", command[0]):
                del command[0]
            if command[:2] == ["nice", "-n"]:
                command = command[3:]
            if command:
                yield command
            command = []


@cache
def spacy_command() -> Any:
    """RETURNS (Any): spaCy's command line, with that of this package."""
    return get_command(app)


@cache
def variables() -> List[str]:
    """RETURNS (List[str]): the variables of the workflow."""
    project = yaml.safe_load((ROOT / "project.yml").read_text(encoding="utf8"))
    return list(project["vars"])


def check_spacy(words: Sequence[str]) -> None:
    """Parse the arguments of `python -m spacy` as spaCy would, but call nothing."""
    command, rest = spacy_command(), list(words)
    while hasattr(command, "commands"):
        assert rest and rest[0] in command.commands, f"no command {rest[:1]} in {words}"
        command = command.commands[rest.pop(0)]
    if "--help" in rest:
        return
    context = command.context_class(command, **command.context_settings)
    given, extra, _ = command.make_parser(context).parse_args(list(rest))
    needed = [one.name for one in command.params if one.required]
    missing = [name for name in needed if given.get(name) is None]
    assert not missing, f"{words} lacks {missing}"
    for word in (word for word in extra if word.startswith("--")):
        check_override(word)


def check_override(word: str) -> None:
    """Check an argument that overrides a setting of a config or of the workflow."""
    section, _, name = word.removeprefix("--").split("=")[0].partition(".")
    known = variables() if section == "vars" else []
    assert name and (section in SECTIONS or name in known), f"nothing takes {word}"


def check_script(path: Path, words: Sequence[str]) -> None:
    """Check that a script names the options that it is given."""
    source = path.read_text(encoding="utf8")
    for word in (word.split("=")[0] for word in words if word.startswith("--")):
        name = word.removeprefix("--").removeprefix("no-").replace("-", "_")
        known = re.search(rf"\b{name}: |\"{word}\"", source) or name == "help"
        assert known, f"{path.name} takes no {word}"


def check_command(words: Sequence[str]) -> None:
    """Check a command as far as this is possible without running it.

    RAISES (AssertionError): for a command, a file or an option that does not exist.
    """
    program, rest = Path(words[0]).name or ".", list(words[1:])
    if program in ("python", "python3"):
        if rest[0] == "-m" and rest[1] == "spacy":
            check_spacy(rest[2:])
        elif rest[0] == "-m" and rest[1].startswith("tests."):
            assert (ROOT / rest[1].replace(".", "/")).with_suffix(".py").is_file()
        elif rest[0] == "-m":
            assert rest[1] in MODULES, words
        elif rest[0] == "-c":
            compile(rest[1], "-c", "exec")
        else:
            assert (ROOT / rest[0]).is_file(), words
            check_script(ROOT / rest[0], rest[1:])
    else:
        assert program in PROGRAMS, words


MODULES = {"venv", "pip", "pytest", "build", "twine", "mkdocs", "spacy_spanner"}
# Programs whose options are not ours to check.
PROGRAMS = {
    ".",
    "cat",
    "cd",
    "curl",
    "docker",
    "echo",
    "export",
    "gzip",
    "head",
    "kill",
    "ls",
    "mkdir",
    "mkdocs",
    "mypy",
    "pip",
    "pip-audit",
    "rm",
    "ruff",
    "torchrun",
    "uvicorn",
}
