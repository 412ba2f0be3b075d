"""The codec obeys each of its settings, and reports what any step has found."""

from typing import Any, Dict

import pytest
import torch
from torch import Tensor

from spacy_spanner.models.diffusion.codec import DiffusionCodec
from spacy_spanner.models.diffusion.module import Denoised

from .helpers import GOLD, Oracle, batch_of, module_of
from .test_candidates import found
from .test_codec import targets_of


def loss(**settings: Any) -> float:
    gold = [GOLD["nested"], GOLD["crossing"]]
    codec = DiffusionCodec(**{"train_spans": 12, "repeats": 2, **settings})
    targets = targets_of(codec, gold, [5, 5])
    return codec.loss(module_of().eval(), batch_of([5, 5], 6), targets).item()


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": 0.2},
        {"schedule": "linear"},
        {"expansion": "random"},
        {"repeats": 1},
        {"distance_cost": 0.0},
        {"no_entity_weight": 0.1},
        {"pointer_loss": "sigmoid"},
        {"train_spans": 4},
    ],
    ids=str,
)
def test_loss_obeys_setting(settings: Dict[str, Any]) -> None:
    assert loss(**settings) != pytest.approx(loss(), rel=1e-4)


def noisy_starts(**settings: Any) -> Tensor:
    """Starts of the noisy spans of all steps, in one window of 99 tokens."""
    oracle = Oracle([[(40, 45, 0)]])
    found(DiffusionCodec(spans=20, **settings), oracle, [99])
    return torch.stack([spans.start for spans in oracle.noisy])


@pytest.mark.parametrize(
    "settings",
    [{"eta": 0.0}, {"scale": 3.0}, {"schedule": "linear"}, {"timesteps": 50}],
    ids=str,
)
def test_sampling_obeys_setting(settings: Dict[str, Any]) -> None:
    assert not torch.equal(noisy_starts(**settings), noisy_starts())


class Forgetful(Oracle):
    """Finds the gold in its first step only."""

    def forward(self, *args: Any) -> Denoised:
        said = super().forward(*args)
        if len(self.times) > 1:
            said.start.zero_()
            said.last.zero_()
        return said


@pytest.mark.parametrize("score", ["class", "mean"])
def test_candidates_of_all_steps_are_reported(score: str) -> None:
    codec = DiffusionCodec(steps=3, score=score)
    rows = found(codec, Forgetful([[(1, 3, 0)]]), [5], [0.7, 0.7])
    assert rows == [[(1, 3, 0)]]


@pytest.mark.parametrize("pointer, counted", [("product", 3), ("sum", 8)])
def test_module_counts_the_vectors_of_a_pointer_of_sums(
    pointer: str, counted: int
) -> None:
    module = module_of(hidden_width=32, n_heads=4, pointer=pointer)
    assert module.scores_per_pair == counted
