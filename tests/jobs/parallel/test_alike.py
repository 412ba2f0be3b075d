"""What processes have alike: the order of batches, scores, weights."""

import random
from types import SimpleNamespace
from typing import Any, Iterator, List, Tuple

import pytest
import torch
from spacy.util import fix_random_seed

from spacy_spanner.jobs.parallel.training import (
    _drawn_alike,
    _part_random_numbers,
    _scores_of_first,
)
from spacy_spanner.jobs.parallel.updates import SharedUpdates

from ...helpers import copy_of, trained
from .threads import ThreadTeam, in_threads


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
