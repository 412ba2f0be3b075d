"""Processes of one machine: the same files, and deaths cost nothing."""

import signal
from functools import partial
from pathlib import Path

import psutil
import pytest

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.annotate.messages import Fields
from spacy_spanner.jobs.annotate.output import OutputFolder
from spacy_spanner.jobs.annotate.pool import run_pool, with_gpu
from spacy_spanner.jobs.annotate.run import annotate_parts, prepared
from spacy_spanner.jobs.annotate.worker import Job

from ...helpers import time_limit
from .helpers import (
    annotate,
    annotator,
    assert_deaths_cost_nothing,
    numbered,
    request,
    write_rows,
)
from .trouble import SLOW

TWO = partial(run_pool, n_process=2)


@pytest.mark.slow
def test_dying_processes_cost_nothing_but_deadly_documents(
    model: Path, tmp_path: Path, markers: Path
) -> None:
    with time_limit(300):
        assert_deaths_cost_nothing(model, tmp_path, TWO, deaths=markers)


@pytest.mark.slow
def test_stopped_run_leaves_no_processes(model: Path, tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", [f"n{n} {SLOW}" for n in range(200)])
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with time_limit(120):
        done = annotate(request(model, corpus, tmp_path / "out"), TWO, limit=2)
    assert len(done) == 2
    new = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    # Python's own, which live as long as this process.
    commands = [" ".join(child.cmdline()) for child in new]
    own = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
    servers = [text for text in commands if any(name in text for name in own)]
    assert servers == commands and len(servers) <= 2


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
        dying = SpanAnnotator(str(model), code=str(code))
        with pytest.raises(ValueError, match=r"SP126.*-9"):
            list(TWO(run.job._replace(annotator=dying), run.parts))


def test_workers_share_gpus(model: Path) -> None:
    job = Job(annotator(model), OutputFolder(Path(), ".jsonl"), Fields(), True)
    jobs = [with_gpu(job, number, 0.5) for number in range(4)]
    assert [one.annotator.gpu_id for one in jobs] == [0, 0, 1, 1]
    assert with_gpu(job, 3, 2).annotator.gpu_id == 6
    assert with_gpu(job, 3, 0).annotator.gpu_id == job.annotator.gpu_id == -1
