"""Targets, loss and settings of the diffusion codec."""

import warnings
from typing import Any, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.diffusion import targets as targets_module
from spacy_spanner.models.diffusion.codec import DiffusionCodec
from spacy_spanner.spans.table import SpanTable

from .helpers import GOLD, Oracle, Rows, batch_of, module_of

# -------------------------------------------------------------------- training


def targets_of(
    codec: DiffusionCodec, gold: Sequence[Rows], lengths: Sequence[int], seed: int = 0
) -> Any:
    return codec.targets(
        [SpanTable.of(rows) for rows in gold],
        np.asarray(lengths),
        rng=np.random.default_rng(seed),
    )


def loss_of(codec: DiffusionCodec, module: nn.Module, gold: Sequence[Rows]) -> Tensor:
    lengths = [5] * len(gold)
    targets = targets_of(codec, gold, lengths)
    return codec.loss(module, batch_of(lengths, 6), targets)


@pytest.mark.parametrize("rows", GOLD.values(), ids=GOLD.keys())
def test_loss_of_a_perfect_denoiser_is_next_to_nothing(rows: Rows) -> None:
    codec = DiffusionCodec(train_spans=12, repeats=None)
    assert loss_of(codec, Oracle([rows]), [rows]).item() < 1e-4


@pytest.mark.parametrize("pointer_loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("classifier", ["denoised", "noisy"])
@pytest.mark.parametrize("draws", [1, 3])
def test_loss_is_finite_and_teaches_with_and_without_gold(
    draws: int, classifier: str, pointer_loss: str
) -> None:
    codec = DiffusionCodec(draws=draws, train_spans=6, pointer_loss=pointer_loss)
    for gold in ([GOLD["nested"], [], GOLD["crossing"]], [[], []]):
        module = module_of(classifier=classifier)
        loss = loss_of(codec, module, gold)
        assert torch.isfinite(loss) and loss > 0
        loss.backward()
        output = module.classifier.output[-1]
        assert output.weight.grad is not None and output.weight.grad.any()


def test_loss_of_a_window_without_gold_teaches_no_entity_only() -> None:
    module = module_of()
    loss_of(DiffusionCodec(train_spans=6), module, [[]]).backward()
    bias = module.classifier.output[-1].bias.grad
    assert bias is not None and bias[0] < 0 and (bias[1:] > 0).all()
    assert module.start.query.weight.grad is None or not (
        module.start.query.weight.grad.any()
    )


def test_loss_with_no_entity_weight_of_zero_ignores_windows_without_gold() -> None:
    codec = DiffusionCodec(train_spans=6, no_entity_weight=0.0)
    assert loss_of(codec, module_of(), [[]]).item() == 0.0


def test_loss_of_windows_is_the_sum_over_windows() -> None:
    codec = DiffusionCodec(train_spans=6, draws=2)
    gold, lengths = [GOLD["nested"], [], GOLD["crossing"]], [4, 2, 5]
    batch, module = batch_of(lengths, 6), module_of().eval()
    targets = targets_of(codec, gold, lengths)
    together = codec.loss(module, batch, targets)
    alone = []
    for row, length in enumerate(lengths):
        own = slice(2 * row, 2 * row + 2)
        part = targets._replace(
            gold=type(targets.gold)(*(column[own] for column in targets.gold)),
            **{name: getattr(targets, name)[own] for name in targets._fields[1:]},
        )
        window = WindowBatch(batch.vectors[[row], :length], np.asarray([length]))
        alone.append(codec.loss(module, window, part).item())
    assert together.item() == pytest.approx(sum(alone), rel=1e-5)


def test_loss_of_draws_is_their_mean() -> None:
    gold = [GOLD["nested"]]
    single = [
        loss_of(DiffusionCodec(train_spans=6, draws=n), module_of().eval(), gold).item()
        for n in (1, 20)
    ]
    assert single[1] == pytest.approx(single[0], rel=0.5)


def test_targets_leave_out_second_labels_of_a_span() -> None:
    codec = DiffusionCodec()
    rows: Rows = [(0, 2, 0), (0, 2, 1), (1, 2, 1)]
    (lost,) = codec.lost(SpanTable.of(rows)).values()
    assert lost.tolist() == [False, True, False]
    assert targets_of(codec, [rows], [3]).gold.counts.tolist() == [2]


def test_targets_warn_once_of_windows_with_more_gold_than_spans() -> None:
    targets_module._warn_once.cache_clear()
    many: Rows = [(i, i + 1, 0) for i in range(5)]
    with pytest.warns(UserWarning, match="SW040.* 4 spans"):
        targets_of(DiffusionCodec(spans=4), [many], [5])
    second_labels: Rows = [*many, (0, 1, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        targets_of(DiffusionCodec(spans=4), [many], [5])
        targets_of(DiffusionCodec(spans=5), [many], [5])
        targets_of(DiffusionCodec(spans=5), [second_labels], [5])


# ------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name, value",
    [
        ("steps", 0),
        ("spans", 0),
        ("spans", 2.5),
        ("eta", 1.1),
        ("train_spans", 0),
        ("draws", 0),
        ("timesteps", 0),
        ("schedule", "square"),
        ("scale", 0),
        ("expansion", "none"),
        ("repeats", 0),
        ("distance_cost", -1),
        ("no_entity_weight", -1),
        ("pointer_loss", "hinge"),
        ("score", "product"),
        ("seed", -1),
    ],
)
def test_codec_rejects_a_setting_out_of_its_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"SP002.*{name}"):
        DiffusionCodec(**{name: value})


def test_rescore_leaves_scores_as_they_are() -> None:
    spans = SpanTable.of([(0, 1, 0, 0.25), (0, 2, 0, 0.75)])
    assert DiffusionCodec().rescore(spans, np.asarray([0, 0])).tolist() == [0.25, 0.75]
