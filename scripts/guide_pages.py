"""The guides as data: the code blocks of a page, and the script that does the same."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs" / "guides"
EXAMPLES = ROOT / "examples"

# A block of code, with the comment on the line before it, if there is one.
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n)?"
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    flags=re.MULTILINE | re.DOTALL,
)
IMPORT = re.compile(r"^(?:import|from) [^\n(]+$", flags=re.MULTILINE)
NAME = "examples/guide.py"  # for the settings of ruff
LONGEST = 70
NOT_RUN = "not run: "
VARIES = "varies"
FAILS = "fails"
HEAD = '''"""{title}

All steps of docs/guides/{name}.md. Run it in the root of the repository:

    python examples/{name}.py

Written by `python scripts/guides.py write`: edit the page instead.
"""

'''


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    title: Optional[str]  # the file that the block belongs to
    text: str
    note: str  # of the comment before it, which readers don't see
    start: int  # of its text in the page
    line: int

    @property
    def is_output(self) -> bool:
        """Whether it shows what the block before it prints."""
        return self.language == "text"

    @property
    def reason(self) -> Optional[str]:
        """Why the block is not run, if it is not."""
        left_out = self.note.startswith(NOT_RUN)
        return self.note[len(NOT_RUN) :] if left_out else None


def pages() -> List[Path]:
    """RETURNS (List[Path]): the guides that have code to run."""
    found = sorted(GUIDES.glob("*.md"))
    return [page for page in found if any(map(is_step, read_blocks(page)))]


def read_blocks(page: Path) -> List[Block]:
    """RETURNS (List[Block]): all code blocks, in the order of the page."""
    return list(_blocks(page.read_text(encoding="utf8")))


def _blocks(text: str) -> Iterator[Block]:
    for match in BLOCK.finditer(text):
        line = text[: match.start("text")].count("\n")
        note = match["note"] or ""
        start = match.start("text")
        yield Block(match["language"], match["title"], match["text"], note, start, line)


def is_step(block: Block) -> bool:
    """RETURNS (bool): whether there is something to run, merge or write."""
    return not block.is_output and block.reason is None


def render_script(page: Path) -> str:
    """RETURNS (str): a Python script with all steps of a page."""
    text = page.read_text(encoding="utf8")
    blocks = [block for block in _blocks(text) if not block.is_output]
    parts = [_render(block) for block in blocks]
    used = [name for name in ("merge", "run", "write") if f"{name}(" in _calls(blocks)]
    title = text.splitlines()[0].lstrip("# ").rstrip(".") + "."
    head = HEAD.format(title=title, name=page.stem)
    imports = [f"from steps import {', '.join(used)}"] if used else []
    body = "\n\n".join(parts)
    imports += dict.fromkeys(IMPORT.findall(body))
    body = IMPORT.sub("", body)
    return _tidy("\n".join([head, *imports, "", body, ""]))


def _calls(blocks: List[Block]) -> str:
    steps = [block for block in blocks if is_step(block)]
    code = [_render(block) for block in steps if not _is_code(block)]
    return "\n".join(code)


def _is_code(block: Block) -> bool:
    return block.language == "python" and block.title is None


def _render(block: Block) -> str:
    """Turn a block into a statement, or into a comment that says why it is missing."""
    if block.reason is not None:
        return f"# Left out: {block.reason}."
    if _is_code(block):
        return block.text.rstrip()
    text = block.text.replace("\\", "\\\\")
    if block.language == "bash":
        short = text.count("\n") == 1 and len(text) < LONGEST
        lines = text.strip() if short else f"\n{text}"
        return f'run("""{lines}"""{", fails=True" if block.note == FAILS else ""})'
    name = "merge" if block.language == "ini" else "write"
    return f'{name}("{block.title}", """\n{text}""")'


def _tidy(code: str) -> str:
    """Sort imports and format, as ruff does in the checkout."""
    for step in (("check", "--select", "I", "--fix-only", "--quiet"), ("format",)):
        command = [sys.executable, "-m", "ruff", *step, "--stdin-filename", NAME, "-"]
        options = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
        code = subprocess.run(command, input=code, **options).stdout
    return code


def write_scripts() -> List[Path]:
    """Write the script of every page.

    RETURNS (List[Path]): the scripts.
    """
    paths = [EXAMPLES / f"{page.stem}.py" for page in pages()]
    for path, page in zip(paths, pages()):
        path.write_text(render_script(page), encoding="utf8")
    return paths
