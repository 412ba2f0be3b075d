"""The commands of docs/get_started.md lead from texts to a package, in their order."""

import contextlib
import io
import json
from pathlib import Path
from typing import List

import pytest
import spacy
from spacy.cli import app
from typer.testing import CliRunner

from .code_blocks import ROOT, blocks_of, commands_of

pytestmark = pytest.mark.usefixtures("whole_english")

PAGE = ROOT / "docs" / "get_started.md"
BLOCKS = blocks_of(PAGE)
LINE = json.loads(BLOCKS[2].code)
OTHER = {
    "text": "The mayor of Boston met Ana Ruiz.",
    "spans": [
        {"start": 0, "end": 19, "label": "PER"},
        {"start": 13, "end": 19, "label": "GPE"},
        {"start": 24, "end": 32, "label": "PER"},
    ],
}
# What would take long, and what does the same in less time.
SHORTER = {"1000": "30", "wheel": "none"}


def commands() -> List[List[str]]:
    """The commands of the page after those that install and that make data."""
    code = [block.code for block in BLOCKS if block.language == "bash"][2:]
    return [words for one in code for words in commands_of(one)]


def run(words: List[str]) -> str:
    if words[0] == "mkdir":
        Path(words[-1]).mkdir(parents=True, exist_ok=True)
        return ""
    assert words[:3] == ["python", "-m", "spacy"]
    arguments = [SHORTER.get(word, word) for word in words[3:]]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return done.output


def test_line_of_the_page_is_what_its_code_prints() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCKS[1].code, PAGE.name, "exec"), {})
    assert printed.getvalue() == BLOCKS[2].code


@pytest.mark.slow
def test_commands_lead_from_texts_to_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name, texts in (
        ("train", [LINE, OTHER] * 20),
        ("dev", [LINE]),
        ("test", [OTHER]),
    ):
        rows = "\n".join(map(json.dumps, texts))
        Path("data", f"{name}.jsonl").write_text(rows, encoding="utf8")
    for words in commands():
        # The sentences of this test are in all parts, which debug-data objects to.
        if "debug-data" not in words:
            run(words)
    assert Path("report", "report.html").is_file()
    assert Path("packages", "en_mine-0.0.0", "setup.py").is_file()
    assert "ents" in spacy.load("training/tuned")(OTHER["text"]).spans
    steps = ["convert", "debug-data", "train", "tune", "evaluate", "package"]
    called = [word for words in commands() for word in words if word in steps]
    assert list(dict.fromkeys(called)) == steps
