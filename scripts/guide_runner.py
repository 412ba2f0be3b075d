"""Run the steps of a guide in this process, with one import of spaCy for all."""

import contextlib
import doctest
import hashlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from filelock import FileLock
from guide_pages import EXAMPLES, FAILS, VARIES, Block, is_step, read_blocks
from spacy.cli import app
from thinc.api import fix_random_seed
from typer.testing import CliRunner

import spacy_spanner.cli  # noqa: F401  registers the commands

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PROGRESS = re.compile(r"^Predicting: \d+ done\n", flags=re.MULTILINE)  # on stderr
PREPARE = ["project", "run", "corpus"]
BLANK = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class StepError(Exception):
    """A step of a page ended with an error."""


class OutputError(Exception):
    """A page shows something else than what its step printed."""


class Runner:
    """Runs the blocks of one page, in the current folder and in one namespace.

    prepared (Path): folder with the demo corpus, converted.
    cache (Path): folder for trained pipelines, which pages share.
    overrides (Dict[str, str]): settings of every training, to make it short.
    """

    def __init__(self, prepared: Path, cache: Path, overrides: Dict[str, str]) -> None:
        self.prepared = prepared
        self.cache = cache
        self.overrides = overrides
        self.names: Dict[str, Any] = {"__name__": "__main__"}
        self.fails = False  # whether the commands of a block should fail

    def run(self, block: Block, page: str) -> str:
        """RETURNS (str): what the block prints, without colours."""
        if block.language == "python" and block.title is None:
            return self._exec("\n" * block.line + block.text, page)
        if block.language == "bash":
            self.fails = block.note == FAILS
            return "".join(map(self._command, _lines(block.text)))
        steps = runpy.run_path(str(EXAMPLES / "steps.py"))
        steps["merge" if block.language == "ini" else "write"](block.title, block.text)
        return ""

    def _exec(self, code: str, name: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # The code of our own pages.
            exec(compile(code, name, "exec"), self.names)  # nosec B102
        return _clean(printed.getvalue())

    def _command(self, line: str) -> str:
        words = shlex.split(line)
        if words[:2] == ["pip", "install"]:
            return _install([word for word in words if word.endswith(".whl")])
        if words[:2] == ["mkdir", "-p"]:
            Path(words[2]).mkdir(parents=True, exist_ok=True)
            return ""
        if words[:3] == ["python", "-m", "spacy"]:
            return self._spacy(words[3:])
        if words[0] == "python" and words[1].endswith(".py"):
            return _script(words[1:])
        raise StepError(f"The runner does not know this command: {line}")

    def _spacy(self, words: List[str]) -> str:
        if words[: len(PREPARE)] == PREPARE:
            shutil.copytree(self.prepared, "corpus/demo", dirs_exist_ok=True)
            return ""
        if words[0] == "train":
            return self._train(_override(words, self.overrides))
        if words[:2] == ["spanner", "find-errors"] and "--config" in words:
            words = _override(words, self.overrides)
        return _invoke(words, fails=self.fails)

    def _train(self, words: List[str]) -> str:
        """Train, or take what a page has trained with the same config and data."""
        if self.fails:
            return _invoke(words, fails=True)
        at = words.index("--output")
        output, others = Path(words[at + 1]), words[1:at] + words[at + 2 :]
        stored = self.cache / _digest(others)
        with FileLock(f"{stored}.lock"):
            if not (stored / "printed.json").exists():
                printed = _invoke(words)
                for name in ("model-best", "model-last"):
                    shutil.copytree(output / name, stored / name)
                (stored / "printed.json").write_text(json.dumps(printed))
        for name in ("model-best", "model-last"):
            shutil.copytree(stored / name, output / name, dirs_exist_ok=True)
        return str(json.loads((stored / "printed.json").read_text()))


def _lines(text: str) -> List[str]:
    """RETURNS (List[str]): command lines, without comments and continuations."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _invoke(words: List[str], fails: bool = False) -> str:
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, ValueError) and fails:
        return f"ValueError: {result.exception}\n"  # the end of a traceback
    if (result.exit_code != 0) != fails:
        raise StepError(f"spacy {' '.join(words)}\n{result.output}{result.exception!r}")
    return PROGRESS.sub("", _clean(result.stdout))


def _override(words: List[str], overrides: Dict[str, str]) -> List[str]:
    words = list(words)
    for name, value in overrides.items():
        option = f"--{name}"
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return words


def _digest(words: List[str]) -> str:
    """RETURNS (str): stands for a command and the files that it reads."""
    parts = [word.encode() for word in words]
    paths = [Path(word) for word in words if Path(word).exists()]
    files = [file for path in paths for file in [path, *sorted(path.rglob("*"))]]
    parts += [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _install(wheels: List[str]) -> str:
    """Unpack wheels into a folder of the page, from which Python imports."""
    site = Path("site").resolve()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    if wheels and str(site) not in sys.path:
        sys.path.insert(0, str(site))
    return ""


def _script(words: List[str]) -> str:
    printed = io.StringIO()
    before = sys.argv
    sys.argv = words
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv = before
    return _clean(printed.getvalue())


def _clean(printed: str) -> str:
    return COLOURS.sub("", printed)


@contextlib.contextmanager
def _own_world(folder: Path) -> Iterator[None]:
    """Work in a folder, and leave imports and the environment as they were."""
    path, environment, here = list(sys.path), dict(os.environ), Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)


def run_page(
    page: Path, folder: Path, runner: Runner
) -> Iterator[Tuple[Block, Optional[Block], str]]:
    """Run a page from top to bottom.

    YIELDS (Tuple[Block, Optional[Block], str]): a block, the block that shows what it
        prints, and what it printed.
    """
    blocks = read_blocks(page)
    fix_random_seed(0)
    with _own_world(folder):
        for block, after in zip(blocks, [*blocks[1:], None]):
            if is_step(block):
                printed = runner.run(block, f"{page.name}")
                shown = after if after is not None and after.is_output else None
                yield block, shown, printed


def compare(shown: Block, printed: str) -> None:
    """Compare lines, of which `...` stands for any."""
    if shown.note.startswith(VARIES):
        return
    checker = doctest.OutputChecker()
    if not checker.check_output(shown.text, printed, BLANK):
        raise OutputError(f"line {shown.line}:\n{shown.text}\nprinted:\n{printed}")
