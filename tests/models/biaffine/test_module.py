"""The biaffine scorer: equations, padding, bands, gradients."""

from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from spacy_spanner.models.biaffine.module import BiaffineModule, BiaffineSettings
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.spans.geometry import enumerate_spans

WIDTH, N_LABELS = 3, 2
LSTM_WIDTHS = [0, 4]
CONV_LAYERS = [0, 2]


def build(seed: int = 0, **changes: Any) -> BiaffineModule:
    torch.manual_seed(seed)
    settings = {
        "lstm_width": 4,
        "hidden_width": 5,
        "width_embedding": 2,
        "n_widths": 4,
        "dropout": 0.2,
        "input_dropout": 0.1,
        "conv_width": 3,
    }
    return BiaffineModule(
        WIDTH, N_LABELS, BiaffineSettings(**{**settings, **changes})
    ).double()


def windows(lengths: Sequence[int]) -> WindowBatch:
    """Random vectors, zero where padded."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths), WIDTH)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    batch = WindowBatch(vectors, np.asarray(lengths))
    return batch._replace(vectors=vectors * batch.mask[:, :, None])


def cells(lengths: ArrayLike, band: Optional[int] = None) -> List[Tensor]:
    found = enumerate_spans(np.asarray(lengths), band)
    return [torch.as_tensor(column) for column in found]


def scores(
    module: BiaffineModule, batch: WindowBatch, band: Optional[int] = None
) -> Tensor:
    return module(batch, *cells(batch.lengths, band), band=band)


def naive_scores(module: BiaffineModule, batch: WindowBatch) -> Tensor:
    """Equation 3 span by span, with the concatenation written out."""
    vectors = module.lstm(batch).vectors
    weight = module.biaffine.weight
    bilinear, bias = weight[:, :-1, :-1], weight[:, -1, -1]
    linear = torch.cat(
        [weight[:, :-1, -1], weight[:, -1, :-1], module.width_scores.weight], dim=1
    )
    rows = []
    for window, start, last in zip(*cells(batch.lengths)):
        h_s = module.start(vectors[window, start])
        h_e = module.last(vectors[window, last])
        w = module.width_embedding.weight[min(int(last - start), 3)]
        product = torch.stack([h_s @ u @ h_e for u in bilinear])
        rows.append(product + linear @ torch.cat([h_s, h_e, w]) + bias)
    return torch.stack(rows)


@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_equals_the_equation_span_by_span(lstm_width: int) -> None:
    module = build(lstm_width=lstm_width).eval()
    batch = windows([6, 2])
    torch.testing.assert_close(scores(module, batch), naive_scores(module, batch))


def test_module_scores_every_class_of_every_span() -> None:
    assert scores(build(), windows([3, 2])).shape == (6 + 3, N_LABELS + 1)


def test_module_scores_the_given_spans_in_the_given_order() -> None:
    module, batch = build().eval(), windows([3, 2])
    grid = scores(module, batch)
    # Cells of the first window: (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2).
    chosen = [torch.tensor(column) for column in ([1, 0], [1, 0], [1, 2])]
    torch.testing.assert_close(module(batch, *chosen), grid[[8, 2]])


def test_module_shares_the_embedding_of_wide_spans() -> None:
    module = build(n_widths=2)
    table = module.scores_by_width()
    assert table.shape == (2, N_LABELS + 1)
    batch = windows([4])._replace(vectors=torch.zeros(1, 4, WIDTH).double())
    without_lstm = build(n_widths=2, lstm_width=0).eval()
    by_cell = scores(without_lstm, batch)
    # Equal vectors everywhere: (0, 1), (0, 2) and (0, 3) differ in width only.
    torch.testing.assert_close(by_cell[1], by_cell[3])
    assert not torch.allclose(by_cell[0], by_cell[1])


# -------------------------------------------------------------------- padding


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("band", [None, 2])
@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_scores_a_window_alone_as_in_a_padded_batch(
    lstm_width: int, band: Optional[int], conv_layers: int
) -> None:
    module = build(lstm_width=lstm_width, conv_layers=conv_layers).eval()
    lengths = [2, 5, 1, 4]
    batch = windows(lengths)
    together = scores(module, batch, band)
    alone = [
        scores(
            module,
            WindowBatch(batch.vectors[[row], :length], np.asarray([length])),
            band,
        )
        for row, length in enumerate(lengths)
    ]
    torch.testing.assert_close(together, torch.cat(alone))


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_does_not_read_behind_the_end_of_a_window(
    lstm_width: int, conv_layers: int
) -> None:
    module = build(lstm_width=lstm_width, conv_layers=conv_layers).eval()
    batch = windows([2, 5])
    garbage = batch.vectors.masked_fill(~batch.mask[:, :, None], 1e3)
    torch.testing.assert_close(
        scores(module, batch), scores(module, batch._replace(vectors=garbage))
    )


# ----------------------------------------------------------------------- band


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("band", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_with_band_equals_the_full_grid_there(
    lstm_width: int, band: int, conv_layers: int
) -> None:
    module = build(lstm_width=lstm_width, conv_layers=conv_layers).eval()
    batch = windows([5, 2, 4])
    spans = cells(batch.lengths, band)
    torch.testing.assert_close(
        module(batch, *spans, band=band), module(batch, *spans, band=None)
    )


@pytest.mark.parametrize("band, used", [(1, 1), (2, 2), (3, None), (5, None)])
def test_module_uses_a_band_that_is_smaller_than_the_grid(
    monkeypatch: pytest.MonkeyPatch, band: int, used: Optional[int]
) -> None:
    # 5 tokens with 3 classes each, against a band of vectors of 5 numbers.
    module, seen = build(), []
    forward = module.biaffine.forward

    def spy(x: Tensor, y: Tensor, given: Optional[int]) -> Tensor:
        seen.append(given)
        return forward(x, y, given)

    monkeypatch.setattr(module.biaffine, "forward", spy)
    scores(module, windows([5]), band)
    assert seen == [used]


# --------------------------------------------------------- gradients and seeds


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("band", [None, 3])
def test_module_gives_every_parameter_a_gradient(
    band: Optional[int], conv_layers: int
) -> None:
    module = build(conv_layers=conv_layers).train()
    scores(module, windows([5, 3]), band).square().sum().backward()
    silent = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("band", [None, 2])
@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_has_exact_gradients(
    lstm_width: int, band: Optional[int], conv_layers: int
) -> None:
    module = build(lstm_width=lstm_width, conv_layers=conv_layers).eval()
    batch = windows([3, 2])

    def run(vectors: Tensor) -> Tensor:
        return scores(module, batch._replace(vectors=vectors), band)

    assert torch.autograd.gradcheck(run, batch.vectors.clone().requires_grad_())


@pytest.mark.parametrize("conv_layers", CONV_LAYERS)
@pytest.mark.parametrize("lstm_width", LSTM_WIDTHS)
def test_module_sends_no_gradient_into_padding(
    lstm_width: int, conv_layers: int
) -> None:
    module = build(lstm_width=lstm_width, conv_layers=conv_layers).eval()
    batch = windows([2, 4])
    vectors = batch.vectors.clone().requires_grad_()
    scores(module, batch._replace(vectors=vectors)).square().sum().backward()
    assert vectors.grad is not None
    assert not vectors.grad[~batch.mask].any()
    assert vectors.grad[batch.mask].any(dim=1).all()


def test_module_of_one_seed_is_the_same_twice() -> None:
    batch = windows([4])
    first, second = (scores(build(seed=3).eval(), batch) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_module_of_another_seed_differs() -> None:
    batch = windows([4])
    first, second = (scores(build(seed=seed).eval(), batch) for seed in (3, 4))
    assert not torch.allclose(first, second)


def test_module_of_one_seed_draws_the_same_dropout_twice() -> None:
    batch = windows([4])
    first, second = (scores(build(seed=3).train(), batch) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("rate", ["dropout", "input_dropout"])
def test_module_drops_in_training_only(rate: str) -> None:
    rates: Dict[str, Any] = {"dropout": 0.0, "input_dropout": 0.0, rate: 0.5}
    module, batch = build(**rates), windows([4])
    module.eval()
    torch.testing.assert_close(scores(module, batch), scores(module, batch))
    module.train()
    assert not torch.allclose(scores(module, batch), scores(module, batch))
