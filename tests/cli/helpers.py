"""Run commands as a user would."""

from pathlib import Path
from typing import Any, List

from click.testing import Result
from spacy.cli import app as spacy_app
from typer.testing import CliRunner

import spacy_spanner.cli  # noqa: F401 (mounts the commands)


def invoke(*words: object) -> Result:
    """Run `spacy spanner` with these words."""
    return CliRunner().invoke(spacy_app, ["spanner", *map(str, words)])


def run(*words: object, code: int = 0) -> str:
    """Return what a command prints; it must end with the code."""
    done = invoke(*words)
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def distill_words(model: str, read: Path, student: Path, output: Path) -> List[Any]:
    """RETURNS (List[Any]): the command `spanner distill`."""
    return ["distill", model, "-t", read, "--lines", "-s", student, "-o", output]
