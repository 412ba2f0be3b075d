"""Processes of one machine: the same files, and deaths cost nothing."""

import os
import signal
from functools import partial
from pathlib import Path

import psutil
import pytest

from spacy_spanner.scale.annotator import SpanAnnotator
from spacy_spanner.scale.pool import run_pool
from spacy_spanner.scale.run import annotate_parts, prepared

from ..helpers import time_limit
from .helpers import annotate, contents, lines, numbered, request, results, write_rows
from .trouble import DEADLY, ONCE, POISON, SLOW

TWO = partial(run_pool, n_process=2)


@pytest.mark.slow
def test_processes_write_what_one_process_writes(model: Path, tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", numbered(60, {7: POISON}))
    annotate(request(model, corpus, tmp_path / "one"))
    with time_limit(120):
        annotate(request(model, corpus, tmp_path / "two"), TWO)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.slow
def test_killed_workers_cost_nothing(
    model: Path, tmp_path: Path, markers: Path
) -> None:
    texts = numbered(60, {7: ONCE, 33: ONCE, 40: POISON})
    corpus = write_rows(tmp_path / "a.jsonl", texts)
    with time_limit(240):
        annotate(request(model, corpus, tmp_path / "two"), TWO)
    assert len(list(markers.iterdir())) == 2
    # Nobody dies of these texts a second time.
    annotate(request(model, corpus, tmp_path / "one"))
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert len(results(tmp_path / "two")) == 59


@pytest.mark.slow
def test_deadly_document_is_quarantined(model: Path, tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", numbered(20, {7: DEADLY}))
    with time_limit(240):
        annotate(request(model, corpus, tmp_path / "out"), TWO)
    (error,) = lines(tmp_path / "out" / "errors.jsonl")
    assert error["id"] == "a.jsonl:8"
    assert "SW120" in error["reason"]
    assert len(results(tmp_path / "out")) == 19


@pytest.mark.slow
def test_stopped_run_leaves_no_processes(model: Path, tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", [f"n{n} {SLOW}" for n in range(200)])
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with time_limit(120):
        done = annotate(request(model, corpus, tmp_path / "out"), TWO, limit=2)
    assert len(done) == 2
    after = psutil.Process().children(recursive=True)
    assert [p for p in after if p.pid not in before and "resource" not in str(p)] == []


@pytest.mark.slow
def test_pipeline_that_cannot_be_loaded_is_told_once(
    model: Path, tmp_path: Path
) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", numbered(20))
    asked = request(model, corpus, tmp_path / "out")
    with time_limit(120), prepared(asked) as run:
        job = run.job._replace(annotator=SpanAnnotator(str(tmp_path / "missing")))
        with pytest.raises(ValueError, match=r"SP127.*E050|E050"):
            list(annotate_parts(run._replace(job=job), TWO))


@pytest.mark.slow
def test_worker_that_dies_while_it_loads_is_not_started_for_ever(
    model: Path, tmp_path: Path
) -> None:
    code = tmp_path / "dies.py"
    code.write_text(f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", "utf8")
    corpus = write_rows(tmp_path / "a.jsonl", numbered(20))
    with time_limit(120), prepared(request(model, corpus, tmp_path / "out")) as run:
        annotator = SpanAnnotator(str(model), code=str(code))
        with pytest.raises(ValueError, match=r"SP126.*-9"):
            list(TWO(run.job._replace(annotator=annotator), run.parts))


def test_workers_share_gpus(model: Path) -> None:
    from spacy_spanner.scale import pool

    job = request(model, Path(), Path())
    assert os.getpid()
    gpus = [
        pool._with_gpu(_job(job.annotator), int(number * 0.5)).annotator.gpu_id
        for number in range(4)
    ]
    assert gpus == [0, 0, 1, 1]
    assert job.annotator.gpu_id == -1


def _job(annotator: SpanAnnotator):  # type: ignore[no-untyped-def]
    from spacy_spanner.scale.output import OutputFolder
    from spacy_spanner.scale.records import Fields
    from spacy_spanner.scale.worker import Job

    return Job(annotator, OutputFolder(Path(), ".jsonl"), Fields(), True)
