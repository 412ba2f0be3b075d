"""A team of one hears itself, and learns what one process does."""

import io
import socket
from pathlib import Path
from typing import Any, Iterator

import pytest
import torch
import torch.distributed as dist
from spacy.training.initialize import init_nlp

from spacy_spanner.jobs.parallel.team import LARGE, Team
from spacy_spanner.jobs.parallel.training import train_shared

from ...runs import (
    Outcome,
    assert_same_weights,
    callbacks,
    make_config,
    rows,
    run,
    settings,
    stored_in,
)


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
    from ...runs import resume

    stored = callbacks(stored_in(tmp_path / "run"))
    whole = run(make_config(corpus), tmp_path / "whole")
    nlp = init_nlp(make_config(corpus, settings(max_steps=8), stored))
    (tmp_path / "out").mkdir()
    train_shared(nlp, team, tmp_path / "out", stdout=io.StringIO())
    rest = resume(tmp_path / "run", tmp_path / "out", **{"training.max_steps": 13})
    assert_same_weights(rest.last, whole.last)
