"""How processes are started, and what is told when one ends."""

import os
import signal
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest
from click.testing import Result
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from typer.testing import CliRunner

from spacy_spanner.jobs.parallel import launching
from spacy_spanner.jobs.parallel import training as work
from spacy_spanner.jobs.parallel.__main__ import app
from spacy_spanner.jobs.parallel.launching import launch_training

from ...cli.helpers import invoke
from ...runs import make_config


def torchinvoke(*words: object) -> Result:
    return CliRunner().invoke(app, ["train", *map(str, words)])


def one_line(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture
def unsignalled() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("unsignalled")
def test_process_must_be_started_by_torchrun(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(corpus).to_disk(tmp_path / "config.cfg")
    monkeypatch.delenv("RANK", raising=False)
    result = torchinvoke(tmp_path / "config.cfg")
    assert result.exit_code == 1
    assert "[SP130]" in one_line(result)


@pytest.mark.usefixtures("unsignalled")
def test_every_process_needs_a_gpu(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(corpus).to_disk(tmp_path / "config.cfg")
    monkeypatch.setenv("LOCAL_RANK", "2")
    monkeypatch.setattr(work.torch.cuda, "device_count", lambda: 2)
    result = torchinvoke(tmp_path / "config.cfg", "--gpu")
    assert result.exit_code == 1
    text = one_line(result)
    assert "[SP131]" in text and "process 2" in text and "has 2" in text


class Failed:
    exitcode = 3

    def signal_name(self) -> str:
        return "SIGKILL"


def launched(monkeypatch: pytest.MonkeyPatch, exitcode: int) -> Tuple[List[Any], Any]:
    seen: List[Any] = []

    def launch(config: Any, entrypoint: str) -> Any:
        def start(*words: str) -> None:
            seen.extend([config, *words])
            failure: Any = Failed()
            failure.exitcode = exitcode
            error = ChildFailedError.__new__(ChildFailedError)
            monkeypatch.setattr(error, "get_first_failure", lambda: (1, failure), False)
            raise error

        return start

    monkeypatch.setattr(launching, "elastic_launch", launch)
    return seen, launch


@pytest.mark.parametrize(
    "exitcode, how", [(3, "with exit code 3"), (-9, "by the signal SIGKILL")]
)
def test_launcher_tells_which_process_ended_and_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exitcode: int, how: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "model-best").mkdir()
    seen, _ = launched(monkeypatch, exitcode)
    with pytest.raises(ChildProcessError, match=r"\[SP134\]") as caught:
        launch_training(4, ["config.cfg"], tmp_path)
    assert f"Process 1 of 4 ended {how}" in str(caught.value)
    assert str(tmp_path / "model-best") in str(caught.value)
    assert seen[0].nproc_per_node == 4 and seen[0].max_restarts == 0
    assert seen[1:] == ["-m", "spacy_spanner.jobs.parallel", "train", "config.cfg"]


def test_launcher_divides_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    launched(monkeypatch, 1)
    with pytest.raises(ChildProcessError, match=r"SP134.* none"):
        launch_training(2, [], None)
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_command_hands_everything_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: List[Any] = []
    monkeypatch.setattr(
        "spacy_spanner.jobs.parallel.launching.launch_training",
        lambda *arguments: seen.extend(arguments),
    )
    path = tmp_path / "config.cfg"
    make_config(corpus).to_disk(path)
    words = ["-n", 3, "-o", tmp_path, "--gpu", "--paths.train", "x", "--code", "c.py"]
    result = invoke("train-parallel", path, *words)
    assert result.exit_code == 0
    handed = [str(path), "--paths.train", "x"]
    handed += ["--output", str(tmp_path), "--code", "c.py", "--gpu"]
    assert seen == [3, handed, tmp_path]
    assert invoke("train-parallel", tmp_path / "no.cfg", "-n", 2).exit_code == 1
