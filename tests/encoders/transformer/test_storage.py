"""An owned transformer to bytes and back, without the folder that it came from."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from thinc.api import Adam

from spacy_spanner.encoders.transformer import build_transformer, get_shim

from ...helpers import doc_of
from .helpers import WIDTH, WORDS, encoder_of, sentences, vectors_of, weight_gradients

transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_bytes_into_a_fresh_layer_of_a_wrong_name(
    tiny_bert: Path, layers: int
) -> None:
    model = encoder_of(tiny_bert, layers=layers)
    weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    fresh = build_transformer("no/such-model", layers=layers)
    fresh.from_bytes(model.to_bytes())
    assert fresh.get_dim("nO") == WIDTH
    docs = [doc_of(WORDS), sentences(2, 3), doc_of([" "])]
    for one, two in zip(model.predict(docs), fresh.predict(docs)):
        np.testing.assert_array_equal(one, two)


def test_transformer_initialized_after_loading_stays_as_loaded(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    fresh = build_transformer("no/such-model").from_bytes(model.to_bytes())
    fresh.initialize()
    np.testing.assert_array_equal(
        vectors_of(fresh, doc_of(WORDS)), vectors_of(model, doc_of(WORDS))
    )


def test_transformer_bytes_before_it_is_initialized(tiny_bert: Path) -> None:
    saved = build_transformer(str(tiny_bert)).to_bytes()
    fresh = build_transformer(str(tiny_bert)).from_bytes(saved)
    fresh.initialize()
    assert vectors_of(fresh, doc_of(WORDS))[0].any()


def test_transformer_loaded_can_be_trained_and_stored_again(tiny_bert: Path) -> None:
    saved = encoder_of(tiny_bert).to_bytes()
    model = build_transformer("no/such-model").from_bytes(saved)
    before = vectors_of(model, doc_of(WORDS))[0]
    weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    after = vectors_of(model, doc_of(WORDS))[0]
    assert np.abs(after - before).max() > 1e-3
    again = build_transformer("no/such-model").from_bytes(model.to_bytes())
    np.testing.assert_array_equal(vectors_of(again, doc_of(WORDS))[0], after)


@pytest.fixture(params=["as installed", "as stored"])
def precision_of_checkpoints(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Load checkpoints as the installed transformers does, and as version 5 does."""
    if request.param == "as stored":
        load = transformers.AutoModel.from_pretrained
        keep = partial(load, torch_dtype="auto")
        monkeypatch.setattr(transformers.AutoModel, "from_pretrained", keep)


@pytest.mark.usefixtures("precision_of_checkpoints")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_transformer_stored_in_half_precision_is_used_in_full(
    tiny_bert: Path, tmp_path: Path, dtype: torch.dtype
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "half")
    loaded = transformers.AutoModel.from_pretrained(folder).to(dtype)
    loaded.save_pretrained(folder)
    encoder = encoder_of(folder)
    fresh = build_transformer("no/such-model").from_bytes(encoder.to_bytes())
    doc, stored = doc_of(WORDS), loaded.float().state_dict()
    for layer in (encoder, fresh):
        state = get_shim(layer).module.transformer.state_dict()
        assert {value.dtype for value in state.values()} == {torch.float32}
        assert all(torch.equal(value, stored[name]) for name, value in state.items())
        weight_gradients(layer, [doc])
        layer.finish_update(Adam(1e-5))
    one, two = vectors_of(encoder, doc)[0], vectors_of(fresh, doc)[0]
    assert one.dtype == np.float32 and np.isfinite(one).all()
    np.testing.assert_array_equal(one, two)


def test_transformer_copy_is_independent(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    copy = model.copy()
    before = vectors_of(model, doc_of(WORDS))
    np.testing.assert_array_equal(vectors_of(copy, doc_of(WORDS)), before)
    weight_gradients(copy, [doc_of(WORDS)])
    copy.finish_update(Adam(0.01))
    np.testing.assert_array_equal(vectors_of(model, doc_of(WORDS)), before)
