"""The notebooks run from top to bottom, and were stored with their outputs."""

import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
import srsly

pytestmark = pytest.mark.usefixtures("whole_english")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
FEW_STEPS = "STEPS = 10"


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    """The script that runs and stores the notebooks."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("notebooks")
    sys.path.remove(str(ROOT / "scripts"))


def source_of(cell: Dict[str, Any]) -> str:
    """RETURNS: the code of a cell; that with the number of steps has a small one."""
    if "parameters" in cell["metadata"].get("tags", ()):
        return FEW_STEPS
    return "".join(cell["source"])


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(
    path: Path, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.copy_needed(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: Dict[str, Any] = {"__name__": "__main__"}
    cells = script.code_cells(srsly.read_json(path))
    with contextlib.redirect_stdout(io.StringIO()):
        for number, cell in enumerate(cells):
            exec(compile(source_of(cell), f"{path.name}[{number}]", "exec"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_code(path: Path, script: Any) -> None:
    notebook = srsly.read_json(path)
    assert notebook["metadata"][script.DIGEST] == script.digest(notebook)
    cells = script.code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs and all(one["output_type"] != "error" for one in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_name_no_place_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf8")
    assert "/tmp/" not in text and str(Path.home()) + "/" not in text
