"""docs/scaling.md names every option, and its programs run as they are written."""

import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
import typer

from spacy_spanner.cli import app

from ...helpers import trained
from .helpers import TEXTS, annotator
from .test_ray import cluster  # noqa: F401 (fixture)

PAGE = (Path(__file__).parents[3] / "docs" / "scaling.md").read_text("utf8")
PROGRAMS = {
    name: program
    for program in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    for name in ("multiprocessing", "ray", "pyspark", "dask")
    if re.search(rf"^(from|import) {name}\b", program, flags=re.MULTILINE)
}


def options() -> List[str]:
    command = typer.main.get_command(app).commands["annotate"]  # type: ignore[attr-defined]
    names = [max(one.opts, key=len) for one in command.params]
    return [name for name in names if name.startswith("--") and name != "--help"]


@pytest.mark.parametrize("option", options())
def test_page_names_every_option(option: str) -> None:
    known_elsewhere = ("--code",)  # as in every command of spaCy
    name = "--no-text" if option == "--text" else option
    name = "--no-memory-zone" if option == "--memory-zone" else name
    assert option in known_elsewhere or f"`{name}" in PAGE or f" {name}" in PAGE


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the pipeline and the corpus of the programs."""
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "training" / "mine" / "model-best"
    model.parent.mkdir(parents=True)
    trained("span_biaffine").to_disk(model)
    (tmp_path / "corpus").mkdir()
    return tmp_path


@pytest.fixture
def parquet(place: Path) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": ["a", "b", "c"], "text": TEXTS})
    pyarrow.parquet.write_table(table, place / "corpus" / "texts.parquet")
    return place


def run(name: str, place: Path) -> str:
    (place / "program.py").write_text(PROGRAMS[name], "utf8")
    words = [sys.executable, str(place / "program.py")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def expected_labels(place: Path) -> List[List[str]]:
    one = annotator(place / "training" / "mine" / "model-best")
    return [[span["label"] for span in row] for row in one({"text": TEXTS})["spans"]]


def written_labels(place: Path) -> List[List[str]]:
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(place / "corpus" / "annotated").to_pylist()
    rows.sort(key=lambda row: row["id"])
    assert [row["text"] for row in rows] == TEXTS
    assert [row["error"] for row in rows] == [None, None, None]
    return [[span["label"] for span in row["spans"]] for row in rows]


@pytest.mark.slow
def test_program_of_plain_python_runs(place: Path) -> None:
    printed = run("multiprocessing", place).splitlines()
    assert len(printed) == 2
    assert "'text': 'Ana Ruiz'" in printed[0]
    assert all(line.endswith("[None]") for line in printed)


@pytest.mark.slow
def test_program_of_dask_runs(parquet: Path) -> None:
    pytest.importorskip("dask.dataframe")
    printed = run("dask", parquet).splitlines()
    found = [re.findall(r"'label': '(\w+)'", line) for line in printed]
    assert found == expected_labels(parquet)


@pytest.mark.slow
def test_program_of_ray_runs(cluster: Path, parquet: Path) -> None:  # noqa: F811
    # The cluster was not started in this folder.
    program = PROGRAMS["ray"]
    for name in ("training/", "corpus/"):
        program = program.replace(f'"{name}', f'"{parquet}/{name}')
    exec(compile(program, "scaling.md", "exec"), {})
    assert written_labels(parquet) == expected_labels(parquet)


@pytest.mark.slow
def test_program_of_spark_runs(parquet: Path) -> None:
    pytest.importorskip("pyspark")
    run("pyspark", parquet)
    assert written_labels(parquet) == expected_labels(parquet)
