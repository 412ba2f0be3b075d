"""Run the notebooks in docs/notebooks, and store them with their outputs.

    pip install nbclient ipykernel
    python scripts/notebooks.py

They run in a copy of the data and configs, so that nothing is written to the checkout.
"""

import hashlib
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

import srsly
import typer

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
NEEDED = ("assets/demo", "configs")
DIGEST = "sources_of_outputs"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def code_cells(notebook: Dict[str, Any]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): the cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def digest(notebook: Dict[str, Any]) -> str:
    """RETURNS (str): stands for the code, to notice outputs of other code."""
    sources = ["".join(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]


def copy_needed(folder: Path) -> None:
    """Put what the notebooks read into a folder."""
    for part in NEEDED:
        shutil.copytree(ROOT / part, folder / part)


def execute(path: Path) -> None:
    """Run a notebook from top to bottom, and store it."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        copy_needed(Path(folder))
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=None, resources=resources).execute()
    nbformat.write(notebook, path)
    stored = srsly.read_json(path)
    tidy(stored)
    text = json.dumps(stored, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf8")


def tidy(notebook: Dict[str, Any]) -> None:
    """Leave out what readers don't need, and note which code the outputs are of."""
    for cell in code_cells(notebook):
        cell["metadata"].pop("execution", None)  # times of this run
        others = [one for one in cell["outputs"] if one["output_type"] != "stream"]
        streams = [one for one in cell["outputs"] if one["output_type"] == "stream"]
        printed = [one["text"] for one in streams if one["name"] == "stdout"]
        text = COLOURS.sub("", "".join("".join(part) for part in printed))
        stream = {"output_type": "stream", "name": "stdout", "text": text}
        cell["outputs"] = [*([stream] if text else []), *others]
    notebook["metadata"]["language_info"] = {"name": "python"}
    notebook["metadata"][DIGEST] = digest(notebook)


def main(
    names: Optional[List[str]] = typer.Argument(None, help="Names; default: all"),
) -> None:
    """Run notebooks, and store them with their outputs."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or path.stem in names:
            execute(path)
            cells = code_cells(srsly.read_json(path))
            print(f"{path.name}: {len(cells)} cells")


if __name__ == "__main__":
    typer.run(main)
