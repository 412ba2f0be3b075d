"""Write the example scripts of the guides, and run guides at full size.

    python scripts/guides.py write
    python scripts/guides.py run docs/guides/flat_entities.md --output training/guides

`run` prints what each block of a page prints. With `--fill`, it puts this into the page
where the output is not marked as shortened.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

import typer
from guide_pages import EXAMPLES, ROOT, Block, read_blocks, write_scripts

app = typer.Typer()
# The comment before an output that shows a part, with `...` for the rest.
SHORTENED = "shortened"


@app.command()
def write() -> None:
    """Write the script of every page to examples/."""
    for path in write_scripts():
        print(path.relative_to(ROOT))


@app.command()
def run(
    page: Path = typer.Argument(..., help="The guide"),
    output: Path = typer.Option(..., help="Folder for what the pages write"),
    fill: bool = typer.Option(False, "--fill", help="Put the outputs into the page"),
) -> None:
    """Run a page at full size, and print what it prints."""
    from guide_runner import Runner, run_page  # imports spaCy

    page, output = page.resolve(), output.resolve()
    corpus = output / "demo"
    if not corpus.exists():
        command = [sys.executable, "scripts/convert.py", "demo", str(corpus)]
        subprocess.run(command, cwd=ROOT, check=True)
    cache = output / "trained"
    cache.mkdir(parents=True, exist_ok=True)
    runner = Runner(corpus, cache, {})
    shutil.copytree(EXAMPLES, output / page.stem / "examples", dirs_exist_ok=True)
    outputs = []
    for block, shown, printed in run_page(page, output / page.stem, runner):
        print(f"--- {page.name}, line {block.line}\n{block.text}\n--- prints")
        print(printed, flush=True)
        if shown is not None and shown.note != SHORTENED:
            outputs.append((shown, printed))
    if fill:
        fill_in(page, outputs)


def fill_in(page: Path, outputs: List[Tuple[Block, str]]) -> None:
    """Replace the blocks of output in a page, by their lines."""
    text = page.read_text(encoding="utf8")
    printed = {block.line: lines for block, lines in outputs}
    for block in reversed(read_blocks(page)):  # so that earlier positions stay
        if block.is_output and block.line in printed:
            lines = printed[block.line].strip("\n").splitlines()
            new = "\n".join([*(line.rstrip() for line in lines), ""])
            text = text[: block.start] + new + text[block.start + len(block.text) :]
    page.write_text(text, encoding="utf8")


if __name__ == "__main__":
    app()
