"""Arrays where they lie, and as much work at once as fits."""

from typing import Any, List

import numpy as np
import pytest
import torch

from spacy_spanner.layers.devices import (
    NUMBERS_PER_CELL,
    as_many_as_fit,
    cells_that_fit,
    view_of,
)
from spacy_spanner.models.blocks.cells import list_on_device
from spacy_spanner.models.blocks.constants import constant
from spacy_spanner.models.blocks.padded_rows import to_device
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.settings import CELLS_ON_CPU
from spacy_spanner.spans.geometry import enumerate_spans

from ..helpers import FACTORIES, predict_nested, spans_of, trained, trained_copy

CPU, GPU = torch.device("cpu"), torch.device("cuda")
GIGABYTE = 2**30


def test_view_shares_its_memory() -> None:
    array = np.zeros(3, dtype=np.float32)
    view_of(array).fill_(2.0)
    assert array.tolist() == [2.0] * 3


def pretend(monkeypatch: pytest.MonkeyPatch, free: int, reserved: int = 0) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 80 * GIGABYTE))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: reserved)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 0)


def test_auto_takes_what_is_free_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 20 * GIGABYTE, 4 * GIGABYTE)
    half = 12 * GIGABYTE
    assert cells_that_fit("auto", GPU) == half // (4 * NUMBERS_PER_CELL)
    assert cells_that_fit("auto", GPU) > 5 * CELLS_ON_CPU
    assert cells_that_fit("auto", GPU, 24) == half // (4 * 24)
    assert cells_that_fit(123, GPU) == 123


def test_auto_takes_less_where_less_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 8_000)
    assert as_many_as_fit("auto", GPU, numbers_each=10, on_cpu=7) == 100
    assert as_many_as_fit("auto", GPU, numbers_each=10_000, on_cpu=7) == 1
    assert as_many_as_fit(50, GPU, numbers_each=10, on_cpu=7) == 50
    for other in (CPU, torch.device("mps")):  # whose free memory torch does not know
        assert as_many_as_fit("auto", other, numbers_each=10, on_cpu=7) == 7


def test_cells_are_never_fewer_than_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 0)
    assert cells_that_fit("auto", GPU) == cells_that_fit("auto", CPU) == CELLS_ON_CPU


@pytest.mark.parametrize("factory", FACTORIES)
def test_auto_predicts_the_same(factory: str) -> None:
    expected = [spans_of(doc) for doc in predict_nested(trained(factory))]
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg["max_cells"] = "auto"
    assert [spans_of(doc) for doc in predict_nested(nlp)] == expected


@pytest.mark.parametrize("max_width", [None, 1, 3, 50])
@pytest.mark.parametrize("lengths", [[5, 1, 3], [1], [2, 2]])
def test_spans_are_listed_on_the_device_as_on_the_host(
    lengths: Any, max_width: Any
) -> None:
    lengths = np.asarray(lengths)
    batch = WindowBatch(torch.zeros(len(lengths), int(lengths.max()), 1), lengths)
    found = list_on_device(batch, max_width)
    expected = enumerate_spans(lengths, max_width)
    for one, two in zip(found, expected, strict=True):
        assert one.tolist() == two.tolist()


@pytest.mark.parametrize("is_empty", [False, True])
def test_columns_are_copied_at_once(is_empty: bool) -> None:
    columns: List[Any] = [
        np.arange(3),
        np.asarray([[True, False]]),
        np.zeros((0, 2), dtype=np.float32),
        np.asarray([[0.5], [1.5]], dtype=np.float32),
    ]
    if is_empty:  # as in a batch without annotation
        columns = [column[:0] for column in columns]
    # `meta` has no values, but takes the way of a GPU.
    for tensor, column in zip(to_device(columns, torch.device("meta")), columns):
        assert tensor.shape == column.shape
        assert tensor.dtype == torch.from_numpy(column).dtype
    for tensor, column in zip(to_device(columns, CPU), columns):
        assert tensor.tolist() == column.tolist()


def test_constants_are_made_once_and_can_be_trained_with() -> None:
    with torch.inference_mode():
        made = constant(np.arange, 3, device=CPU)
    assert made is constant(np.arange, 3, device=CPU)
    assert not made.is_inference()
