"""`spanner annotate`: options, messages and exit codes."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_spanner.cli.annotate import make_engine, make_request

from ..helpers import TWO_LABELS, trained
from ..jobs.annotate.helpers import numbered, results, write_rows
from .helpers import invoke, run


@pytest.fixture
def plain_model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    trained("span_biaffine").to_disk(path)
    return path


def test_annotate_reads_what_is_named(plain_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Ana Ruiz is in Boston.\n", "utf8")
    write_rows(tmp_path / "in" / "b.jsonl", ["The US Supreme Court."])
    printed = run("annotate", plain_model, tmp_path / "in", "-o", tmp_path / "out")
    rows = results(tmp_path / "out")
    assert [row["id"] for row in rows] == ["a.txt", "b.jsonl:1"]
    n_spans = sum(len(row["spans"]) for row in rows)
    assert f"2 documents, 11 words, {n_spans} spans" in printed
    again = run("annotate", plain_model, tmp_path / "in", "-o", tmp_path / "out")
    assert "Resuming: 1 of 1 part already finished" in again
    assert f"2 documents, 11 words, {n_spans} spans" in again


def test_annotate_takes_fields_and_leaves_out_texts(
    plain_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "In Boston.", "n": 5}\n', "utf8")
    options = ("--text-field", "body", "--id-field", "n", "--no-text")
    run("annotate", plain_model, path, "-o", tmp_path / "out", *options)
    (row,) = results(tmp_path / "out")
    assert list(row) == ["id", "spans"]
    assert row["id"] == "5"


def test_annotate_writes_documents_of_spacy(plain_model: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("".join(f"{text}\n" for text, _ in TWO_LABELS), "utf8")
    options = ("--to", "spacy", "--lines")
    run("annotate", plain_model, text, "-o", tmp_path / "out", *options)
    (path,) = (tmp_path / "out").glob("*.spacy")
    docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    assert [doc.text for doc in docs] == [text for text, _ in TWO_LABELS]
    assert all("scores" in doc.spans["ents"].attrs for doc in docs)


def test_annotate_fails_after_the_work_where_too_much_has_failed(
    plain_model: Path, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "a.jsonl", numbered(9))
    path.write_text(path.read_text("utf8") + "{\n", "utf8")
    words = ("annotate", plain_model, path, "-o", tmp_path / "out")
    printed = run(*words, code=1)
    assert "SP129" in printed
    assert "1 of 10 documents failed" in " ".join(printed.split())
    assert len(results(tmp_path / "out")) == 9
    printed = run(*words, "--tolerance", 0.1)
    assert "1 document failed" in printed


@pytest.mark.parametrize(
    "options, told",
    [
        (("--to", "csv"), "SP062"),
        (("--to", "parquet", "--keep-fields"), "SP062"),
        (("--to", "spacy", "--output", "-"), "SP062"),
        (("--engine", "ray", "--output", "-"), "SP062"),
        (("--engine", "spark"), "SP062"),
        (("-n", 2, "--min-process", 3), "SP062"),
        (("--text-field", "body"), "SP121"),
        (("--spans-key", "x", "--id-field", "id"), "SP122"),
    ],
)
def test_annotate_tells_what_is_wrong(
    plain_model: Path, tmp_path: Path, options: tuple, told: str
) -> None:
    path = write_rows(tmp_path / "a.jsonl", numbered(2))
    out = tmp_path / "out"
    assert told in run("annotate", plain_model, path, "-o", out, *options, code=1)


def test_annotate_tells_that_there_is_no_such_model(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", numbered(2))
    words = ("annotate", tmp_path / "missing", path, "-o", tmp_path / "out")
    assert "E050" in run(*words, code=1)


def two_rows(folder: Path) -> Path:
    """Write texts with other fields, some of which the output has, too."""
    rows = [
        {"text": "In Boston.", "source": {"page": 3}, "tags": ["a"], "id": 7},
        {"text": "Ana Ruiz.", "source": None, "spans": "mine"},
    ]
    path = folder / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf8")
    return path


def test_annotate_keeps_other_fields_on_request(
    plain_model: Path, tmp_path: Path
) -> None:
    words = ("annotate", plain_model, two_rows(tmp_path), "--id-field", "text")
    run(*words, "-o", tmp_path / "without")
    assert [list(row) for row in results(tmp_path / "without")] == [
        ["id", "text", "spans"]
    ] * 2
    with pytest.warns(UserWarning, match="SW141.* fields id, so"):
        run(*words, "-o", tmp_path / "with", "--keep-fields")
    first, second = results(tmp_path / "with")
    assert list(first) == ["id", "text", "spans", "source", "tags"]
    assert (first["source"], first["tags"]) == ({"page": 3}, ["a"])
    assert first["id"] == "In Boston."
    assert second["source"] is None and second["spans"] != "mine"
    # Results with and without them do not mix.
    assert "SP124" in run(*words, "-o", tmp_path / "with", code=1)
    assert "SP124" in run(*words, "-o", tmp_path / "without", "--keep-fields", code=1)


def test_annotate_keeps_fields_of_parquet(plain_model: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    when = datetime(2024, 5, 6, 7, 8, 9)
    page = {"a": [1.5, float("inf")]}
    table = {"text": ["In Boston."], "when": [when], "n": [5], "page": [page]}
    table["weight"] = [float("nan")]  # as pandas writes a missing number
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table(table), path)
    run("annotate", plain_model, path, "-o", tmp_path / "out", "--keep-fields")
    (row,) = results(tmp_path / "out")
    assert (row["when"], row["n"]) == ("2024-05-06 07:08:09", 5)
    assert (row["page"], row["weight"]) == ({"a": [1.5, None]}, None)


@pytest.mark.slow
def test_parquet_needs_pyarrow_alone(plain_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    options = ["annotate", str(plain_model), str(two_rows(tmp_path)), "--to", "parquet"]
    code = "import sys; sys.modules['ray'] = None; sys.argv = sys.argv[:1] + "
    code += f"['spanner', *{options!r}, '-o', {str(tmp_path / 'out')!r}]\n"
    code += "from spacy.cli import setup_cli; setup_cli()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").glob("*.parquet"))


def test_annotate_writes_to_standard_output(plain_model: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", numbered(30))
    path.write_text(path.read_text("utf8") + "{\n", "utf8")
    run("annotate", plain_model, path, "-o", tmp_path / "out", "--tolerance", 1)
    before = sorted(tmp_path.rglob("*"))
    words = ("annotate", plain_model, path, "-o", "-", "--part-mb", 0.001)
    done = invoke(*words, "--tolerance", 1)
    assert done.exit_code == 0, done.output
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert printed == results(tmp_path / "out")
    assert "30 documents" in done.stderr and "on standard output" in done.stderr
    assert '"id": "a.jsonl:31"' in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    done = invoke(*words)
    assert done.exit_code == 1 and len(done.stdout.splitlines()) == 30
    assert "[SP129]" in done.stderr


@pytest.mark.slow
def test_annotate_prints_parts_of_several_workers_in_order(
    plain_model: Path, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "a.jsonl", numbered(60))
    words = ("annotate", plain_model, path, "-o", "-", "--part-mb", 0.001, "-n", 2)
    printed = [json.loads(line) for line in invoke(*words).stdout.splitlines()]
    assert [row["id"] for row in printed] == [f"a.jsonl:{n}" for n in range(1, 61)]


def choices(**changes: object) -> dict:
    values = {"model": "m", "inputs": ["a"], "output": Path("o"), "to": "jsonl"}
    values.update(engine="local", n_process=None, min_process=None, num_gpus=0.0)
    values.update(threads=None, ray_address=None, spans_key=None, text_field="text")
    values.update(id_field="", lines=False, text=True, keep_fields=False, force=False)
    values.update(batch_size=None, part_mb=None)
    return {**values, "memory_zone": True, "code_path": None, **changes}


@pytest.mark.parametrize(
    "changes, threads",
    [({}, None), ({"n_process": 2}, 1), ({"threads": 3}, 3), ({"engine": "ray"}, 1)],
)
def test_several_workers_have_a_thread_each(changes: dict, threads: int) -> None:
    assert make_request(choices(**changes)).annotator.threads == threads


@pytest.mark.parametrize(
    "changes, pool",
    [({}, (1, None)), ({"n_process": 4}, (4, 4)), ({"min_process": 2}, (2, None))],
)
def test_pool_of_ray_is_fixed_or_grows(changes: dict, pool: tuple) -> None:
    pytest.importorskip("ray")
    engine = make_engine(choices(engine="ray", num_gpus=0.5, threads=2, **changes))
    options = engine.keywords["options"]  # type: ignore[attr-defined]
    assert (options.least, options.most) == pool
    assert (options.num_cpus, options.num_gpus) == (2, 0.5)
    assert make_request(choices(num_gpus=0.5)).annotator.gpu_id == 0
