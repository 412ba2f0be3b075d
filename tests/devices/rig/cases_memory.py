"""The settings "auto" read the free memory of the device that is not there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, List, Tuple

import pytest
import torch
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import require_cpu, require_gpu

from spacy_spanner.encoders.batch_size import PIECES_ON_CPU, pieces_at_once
from spacy_spanner.layers import torch_head
from spacy_spanner.layers.devices import NUMBERS_PER_CELL, cells_that_fit, device_of
from spacy_spanner.layers.torch_shim import get_shim
from spacy_spanner.settings import CELLS_ON_CPU

from ...helpers import annotate
from ..elsewhere import ELSEWHERE
from . import lives

GIGABYTE = 2**30


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    require_gpu()
    yield
    require_cpu()


def new_auto(bert: Path) -> Tuple[Any, Any]:
    """RETURNS (Tuple[Any, Any]): a pipeline with "auto", and its encoder's shim."""
    nlp = lives.new_pipeline("span_biaffine", "transformer", bert)
    pipe: Any = nlp.get_pipe("span_biaffine")
    pipe.cfg["max_cells"] = "auto"
    encoder = pipe.model.get_ref("tok2vec")
    encoder.attrs["batch_pieces"] = "auto"
    return nlp, encoder.shims[0]


def batches_of_pieces(nlp: Any, shim: Any) -> List[Tuple[int, ...]]:
    """RETURNS (List[Tuple[int, ...]]): the shapes that the encoder trains on."""
    seen: List[Tuple[int, ...]] = []
    hook = shim.module.register_forward_pre_hook(
        lambda _, inputs: seen.append(tuple(inputs[0].shape))
    )
    lives.update(nlp, lives.make_optimizer("adamw", nlp))
    hook.remove()
    return seen


def test_less_memory_makes_more_batches(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp, shim = new_auto(tiny_bert)
    (whole,) = batches_of_pieces(nlp, shim)
    asked = []

    def little(device: torch.device) -> Tuple[int, int]:
        asked.append(device)
        return 64 * 1024, GIGABYTE

    monkeypatch.setattr(torch.cuda, "mem_get_info", little)
    parts = batches_of_pieces(nlp, shim)
    assert len(parts) == whole[0]  # one segment at a time
    assert set(asked) == {ELSEWHERE}


def windows_at_once(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> List[int]:
    """RETURNS (List[int]): the windows of each group of an update."""
    sizes: List[int] = []
    read = torch_head.read_group

    def noted(source: Any, group: Any, max_cells: int) -> Any:
        sizes.append(len(group.windows))
        return read(source, group, max_cells)

    words = ["a"] * 60
    examples = [
        Example(Doc(nlp.vocab, words=words), annotate(Doc(nlp.vocab, words=words), []))
        for _ in range(300)
    ]
    with monkeypatch.context() as patch:
        patch.setattr(torch_head, "read_group", noted)
        nlp.update(examples, sgd=lives.make_optimizer("adamw", nlp))
    return sizes


def test_seeds_fill_the_memory_that_is_free(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = lives.new_pipeline("span_locate_label", "cnn", tiny_bert)
    pipe: Any = nlp.get_pipe("span_locate_label")
    module: Any = get_shim(pipe.model.get_ref("output_layer")).module
    fixed = windows_at_once(nlp, monkeypatch)
    pipe.cfg["max_cells"] = "auto"
    assert windows_at_once(nlp, monkeypatch) == [300]
    kept = 60 * module.token_numbers + 595 * module.seed_numbers
    free = 4 * kept * 2 * 250 + 10_000  # half of it holds 250 windows
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, GIGABYTE))
    assert windows_at_once(nlp, monkeypatch) == [250, 50]
    assert 1 < fixed[0] < 250


def test_memory_is_that_of_the_weights_in_every_thread(tiny_bert: Path) -> None:
    _, shim = new_auto(tiny_bert)

    def read() -> Tuple[int, int]:
        pieces = pieces_at_once(shim, [], "auto", is_train=False)
        return pieces, cells_that_fit("auto", device_of(shim.module))

    pieces, cells = read()
    assert cells == 8 * GIGABYTE // 2 // (4 * NUMBERS_PER_CELL) > CELLS_ON_CPU
    assert pieces > PIECES_ON_CPU
    assert lives.in_thread(read) == (pieces, cells)  # where Thinc has the CPU
