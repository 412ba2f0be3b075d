"""A team of one, and what ends a training."""

import io
import os
import random
import signal
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterator, List, Tuple

import pytest
import torch
import torch.distributed as dist
from click.testing import Result
from spacy.training.initialize import init_nlp
from spacy.util import fix_random_seed
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from typer.testing import CliRunner

from spacy_spanner.parallel import launching, work
from spacy_spanner.parallel.__main__ import app
from spacy_spanner.parallel.launching import launch_training
from spacy_spanner.parallel.team import LARGE, Team
from spacy_spanner.parallel.training import (
    _drawn_alike,
    _part_random_numbers,
    _scores_of_first,
    train_shared,
)
from spacy_spanner.parallel.updates import SharedUpdates

from ..cli.helpers import invoke
from ..helpers import copy_of, trained
from ..training.runs import (
    Outcome,
    assert_same_weights,
    callbacks,
    make_config,
    rows,
    run,
    settings,
    stored_in,
    write_corpus,
)
from .threads import ThreadTeam, in_threads


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    """The only process of a training."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**variables, "MASTER_PORT": port}.items():
            patch.setenv(name, str(value))
        team = Team()
        yield team
        team.leave()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


def test_team_of_one_hears_itself(team: Team) -> None:
    assert (team.rank, team.size) == (0, 1)
    assert team.total(7) == 7
    assert team.any_of([True, False]) == [True, False]
    assert team.any_of([]) == []
    assert team.gather({"a": 1}) == [{"a": 1}]
    assert team.first((0.5, {"f": 0.5})) == (0.5, {"f": 0.5})


def test_sums_arrive_in_tensors_of_all_kinds(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_reduce = dist.all_reduce

    def doubled(tensor: torch.Tensor, **options: Any) -> Any:
        tensor.mul_(2)
        return all_reduce(tensor, **options)

    monkeypatch.setattr(dist, "all_reduce", doubled)
    large, small = torch.arange(LARGE).float(), torch.ones(2, 3)
    spread = torch.ones(4, LARGE).t()  # not contiguous
    tensors = [small, large, torch.tensor(3.0), spread]
    before = [tensor.clone() for tensor in tensors]
    team.add_up(tensors)
    for tensor, old in zip(tensors, before):
        assert torch.equal(tensor, 2 * old)
    team.add_up([])
    team.add_up([large])
    team.take_first([small])
    assert torch.equal(small, 2 * before[0])


def test_broken_connection_has_a_code(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("Connection closed by peer\nwith more lines")

    monkeypatch.setattr(dist, "all_reduce", broken)
    with pytest.raises(ConnectionError, match=r"\[SP132\] .*closed by peer\)"):
        team.total(1)
    with pytest.raises(ConnectionError, match="SP132"):
        team.add_up([torch.zeros(1)])


def test_team_of_one_learns_what_spacy_train_does(
    corpus: Path, tmp_path: Path, team: Team
) -> None:
    config = make_config(corpus, settings(accumulate_gradient=2))  # with dropout
    alone = run(config, tmp_path / "alone")
    rows.clear()
    (tmp_path / "team").mkdir()
    nlp = init_nlp(config)
    n_steps = train_shared(nlp, team, tmp_path / "team", stdout=io.StringIO())
    assert n_steps == 14
    together = Outcome(list(rows), tmp_path / "team")
    assert together.rows == alone.rows
    assert_same_weights(together.last, alone.last)
    assert_same_weights(together.best, alone.best)
    assert sorted(path.name for path in together.folder.iterdir()) == [
        "model-best",
        "model-last",
    ]


def test_stored_run_of_a_team_can_be_resumed_by_one(
    corpus: Path, tmp_path: Path, team: Team
) -> None:
    from ..training.runs import resume

    stored = callbacks(stored_in(tmp_path / "run"))
    whole = run(make_config(corpus), tmp_path / "whole")
    nlp = init_nlp(make_config(corpus, settings(max_steps=8), stored))
    (tmp_path / "out").mkdir()
    train_shared(nlp, team, tmp_path / "out", stdout=io.StringIO())
    rest = resume(tmp_path / "run", tmp_path / "out", **{"training.max_steps": 13})
    assert_same_weights(rest.last, whole.last)


def test_other_processes_draw_the_same_batches_and_other_dropout() -> None:
    nlp = trained("span_diffusion")
    copies = [copy_of(nlp), copy_of(nlp)]
    drawn = [drawn_by(copy, rank) for rank, copy in enumerate(copies)]
    (order, own, noise, dropout), (order1, own1, noise1, dropout1) = drawn
    assert order == order1
    assert own != own1 and noise != noise1 and dropout != dropout1


def drawn_by(nlp: Any, rank: int) -> Tuple[float, float, float, float]:
    """List one number from each stream of a process."""
    team: Any = SimpleNamespace(rank=rank, first=lambda value: value)
    fix_random_seed(3)
    own = _part_random_numbers(nlp, team, seed=3)
    noise = float(nlp.get_pipe("span_diffusion").rng.random())
    return random.random(), own.random(), noise, float(torch.rand(()))


def test_batches_are_drawn_alike_whatever_else_draws() -> None:
    def batches() -> Iterator[Tuple[int, float]]:
        for epoch in range(4):
            yield epoch, random.random()

    random.seed(5)
    expected = list(batches())
    random.seed(5)
    found = []
    for drawn in _drawn_alike(batches()):
        found.append(drawn)
        random.seed(99)
    assert found == expected


def test_first_process_scores_for_all_and_losses_are_added() -> None:
    nlp = trained("span_biaffine")
    copies = [nlp, copy_of(nlp)]

    def evaluated(team: ThreadTeam) -> Any:
        updates = SharedUpdates(copies[team.rank], team, parts=1, own=random.Random(0))
        updates.losses = {"a": team.rank + 1.0, **({"b": 5.0} if team.rank else {})}
        calls: List[int] = []

        def evaluate() -> Tuple[float, Any]:
            calls.append(1)
            return 0.25, {"f": 0.25}

        score = _scores_of_first(team, evaluate, updates)()  # type: ignore[arg-type]
        return score, len(calls), updates.losses["a"]

    assert in_threads(2, evaluated) == [
        ((0.25, {"f": 0.25}), 1, 3.0),
        ((0.25, {"f": 0.25}), 0, 3.0),
    ]


def test_weights_that_part_end_the_training() -> None:
    nlp = trained("span_biaffine")
    copies = [nlp, copy_of(nlp)]
    pipe: Any = copies[1].get_pipe("span_biaffine")
    module = pipe.model.get_ref("output_layer").shims[0].module
    with torch.no_grad():
        next(module.parameters()).view(-1)[0] += 1e-4

    def evaluated(team: ThreadTeam) -> None:
        updates = SharedUpdates(copies[team.rank], team, parts=1, own=random.Random(0))
        evaluate: Any = lambda: (0.0, {})  # noqa: E731
        _scores_of_first(team, evaluate, updates)()  # type: ignore[arg-type]

    with pytest.raises(ValueError, match=r"\[SP133\] The weights of process 1"):
        in_threads(2, evaluated)


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
    assert f"Process 1 of 4 has ended {how}" in str(caught.value)
    assert str(tmp_path / "model-best") in str(caught.value)
    assert seen[0].nproc_per_node == 4 and seen[0].max_restarts == 0
    assert seen[1:] == ["-m", "spacy_spanner.parallel", "train", "config.cfg"]


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
        "spacy_spanner.parallel.launching.launch_training",
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
