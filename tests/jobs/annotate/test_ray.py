"""A cluster of two worker processes: the same results, and deaths cost nothing."""

import os
from functools import partial
from pathlib import Path
from typing import Iterator

import pytest

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.annotate.on_ray import RayOptions, run_on_ray
from spacy_spanner.jobs.annotate.run import annotate_parts, prepared

from ...helpers import time_limit
from .helpers import (
    TEXTS,
    annotate,
    annotator,
    assert_deaths_cost_nothing,
    assert_same_results,
    numbered,
    request,
    write_rows,
)
from .trouble import MARKERS, POISON

TWO = partial(run_on_ray, options=RayOptions(least=2, most=2))
OBJECT_STORE = 100 * 2**20


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster on this machine, and the folder in which its workers note deaths."""
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    folder = tmp_path_factory.mktemp("markers")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray makes its workers nicer than other tests, which would take all the time.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    environment = {MARKERS: str(folder), "OMP_NUM_THREADS": "1"}
    ray.shutdown()  # a cluster that other tests of this process have left
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=OBJECT_STORE,
        runtime_env={"env_vars": environment},
    )
    yield folder
    ray.shutdown()


@pytest.mark.slow
def test_dying_workers_cost_nothing_but_deadly_documents(
    cluster: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARKERS, str(cluster))
    with time_limit(600):
        assert_deaths_cost_nothing(model, tmp_path, TWO, deaths=cluster)


@pytest.mark.slow
def test_run_begun_here_ends_on_the_cluster(
    cluster: Path, model: Path, tmp_path: Path
) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", numbered(40))
    annotate(request(model, corpus, tmp_path / "here"))
    asked = request(model, corpus, tmp_path / "both")
    assert len(annotate(asked, limit=2)) == 2
    with time_limit(120):
        rest = annotate(asked, TWO)
    assert sorted(report.part for report in rest) == list(range(2, len(rest) + 2))
    assert_same_results(tmp_path / "both", tmp_path / "here")


@pytest.mark.slow
def test_pipeline_that_cannot_be_loaded_is_told(
    cluster: Path, model: Path, tmp_path: Path
) -> None:
    corpus = write_rows(tmp_path / "a.jsonl", numbered(20))
    with time_limit(120), prepared(request(model, corpus, tmp_path / "out")) as run:
        missing = SpanAnnotator(str(tmp_path / "missing"))
        job = run.job._replace(annotator=missing)
        with pytest.raises(ValueError, match="E050"):
            list(annotate_parts(run._replace(job=job), TWO))


@pytest.mark.slow
def test_datasets_of_ray_take_the_annotator(cluster: Path, model: Path) -> None:
    import ray

    rows = [{"n": n, "text": text} for n, text in enumerate([*TEXTS, POISON])]
    one = annotator(model)
    dataset = ray.data.from_items(rows).map_batches(
        SpanAnnotator,
        fn_constructor_args=(one.model,),
        fn_constructor_kwargs={"code": one.code, "threads": 1},
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    with time_limit(120):
        found = sorted(dataset.take_all(), key=lambda row: row["n"])
    expected = one({"text": [row["text"] for row in rows]})
    labels = [[span["label"] for span in row["spans"]] for row in found]
    assert labels == [[span["label"] for span in row] for row in expected["spans"]]
    assert [row["error"] for row in found] == expected["error"]
