"""Write the generated part of docs/workflow.md, from project.yml."""

import shutil
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import typer
from datasets import ROOT
from weasel.cli.document import project_document

PAGE = ROOT / "docs" / "workflow.md"


def make_page() -> str:
    """RETURNS (str): the whole page, with a new generated part."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(PAGE, folder))
        with redirect_stdout(StringIO()):
            project_document(ROOT, copy, no_emoji=True)
        # The links are those of a page beside project.yml.
        return copy.read_text(encoding="utf8").replace(
            "](project.yml)", "](../project.yml)"
        )


def main(path: Path = typer.Argument(PAGE, help="File to write")) -> None:
    """Write the page."""
    path.write_text(make_page(), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
