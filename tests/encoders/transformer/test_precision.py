"""Prediction in other precisions than that of the weights."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from thinc.api import Model

from spacy_spanner import set_precision
from spacy_spanner.encoders.fast import copies, processor
from spacy_spanner.encoders.fast.copies import Chosen
from spacy_spanner.encoders.fast.packed import PackedTransformer
from spacy_spanner.encoders.transformer import build_transformer, get_shim
from spacy_spanner.pipeline.precision import get_precision
from spacy_spanner.training.optimizer import make_adamw

from ...helpers import NESTED, doc_of, make_examples, scored_spans, train
from .helpers import encoder_of, long_words, sentences, vectors_of
from .test_pipelines import span_pipeline

LOW = ("bfloat16", "int8")
# Long and short, empty, and with pieces that are longer than the tokens.
DOCS = [["Leon", "County"], long_words(40), [], ["a", "unbelievable", "x"]]


def low_encoder(folder: Path, precision: str, **settings: Any) -> Model:
    return encoder_of(folder, precision=precision, emulate_precision=True, **settings)


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    """The vectors have a standard deviation of 1, and weights are large."""
    assert found.shape == expected.shape
    if found.size:
        difference = np.abs(found - expected)
        assert difference.mean() < 0.04 and difference.max() < 0.4


def without_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "instructions", frozenset)


def with_all_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    known = frozenset().union(*processor.NEEDED.values())
    monkeypatch.setattr(processor, "instructions", lambda: known)


@pytest.mark.parametrize("precision", LOW)
@pytest.mark.parametrize("layers", [1, 2])
def test_low_precision_is_close_to_float32(
    tiny_bert: Path, precision: str, layers: int
) -> None:
    full = encoder_of(tiny_bert, layers=layers)
    low = low_encoder(tiny_bert, precision, layers=layers)
    assert isinstance(get_shim(low).prediction_module(), PackedTransformer)
    docs = [doc_of(words) for words in DOCS]
    for expected, found in zip(vectors_of(full, *docs), vectors_of(low, *docs)):
        assert found.dtype == np.float32 and found.shape == expected.shape
        assert_close(found, expected)
        assert not len(found) or (found != expected).any()


@pytest.mark.parametrize("precision", LOW)
def test_low_precision_with_prompts_copies_the_module(
    tiny_bert: Path, precision: str
) -> None:
    full, low = build_transformer(str(tiny_bert), prompts=1), None
    full.set_dim("nL", 3)
    full.initialize()
    low = full.copy()
    get_shim(low).chosen = Chosen(precision, emulate=True)
    doc = sentences(3, 5)
    (expected,), (found,) = full.predict([doc]), low.predict([doc])
    assert not isinstance(get_shim(low).prediction_module(), PackedTransformer)
    assert_close(found, expected)
    assert low.predict([doc]).types.dtype == np.float32
    assert (found != expected).any()


@pytest.mark.parametrize("precision", LOW)
def test_document_has_the_same_vectors_in_any_batch(
    tiny_bert: Path, precision: str
) -> None:
    low = low_encoder(tiny_bert, precision)
    docs = [doc_of(words) for words in DOCS]
    for doc, vectors in zip(docs, vectors_of(low, *docs)):
        (alone,) = vectors_of(low, doc)
        assert_close(alone, vectors)


def test_long_segments_use_the_attention_of_torch(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = low_encoder(tiny_bert, "int8")
    docs = [doc_of(words) for words in DOCS]
    expected = vectors_of(low, *docs)
    monkeypatch.setattr("spacy_spanner.encoders.fast.packed.LONG", 1)
    for one, other in zip(vectors_of(low, *docs), expected):
        assert_close(one, other)


def test_weights_are_converted_once(tiny_bert: Path) -> None:
    low = low_encoder(tiny_bert, "int8")
    shim = get_shim(low)
    first = shim.prediction_module()
    vectors_of(low, doc_of(["a"]))
    assert shim.prediction_module() is first


def test_threads_share_one_copy(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = get_shim(low_encoder(tiny_bert, "bfloat16"))
    made = []
    convert = copies.convert
    monkeypatch.setattr(copies, "convert", lambda *a: made.append(1) or convert(*a))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shim.prediction_module(), range(32)))
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_copy_is_made_again_after_training(tiny_bert: Path) -> None:
    low, doc = low_encoder(tiny_bert, "int8"), doc_of(["Leon", "County"])
    shim = get_shim(low)
    (before,) = vectors_of(low, doc)
    vectors, backprop = low.begin_update([doc])
    backprop([np.ones_like(one) for one in vectors])
    (unchanged,) = vectors_of(low, doc)  # between backpropagation and update
    np.testing.assert_array_equal(unchanged, before)
    low.finish_update(make_adamw(encoder=0.1))
    (after,) = vectors_of(low, doc)
    assert np.abs(after - before).max() > 0.01
    shim.chosen = Chosen()
    assert_close(after, vectors_of(low, doc)[0])


def test_copy_is_made_again_after_loading(tiny_bert: Path) -> None:
    low, doc = low_encoder(tiny_bert, "int8"), doc_of(["Leon", "County"])
    (before,) = vectors_of(low, doc)
    changed = encoder_of(tiny_bert)
    with torch.no_grad():
        for weights in get_shim(changed).module.parameters():
            weights.mul_(0.7)
    low.from_bytes(changed.to_bytes())
    (after,) = vectors_of(low, doc)
    assert np.abs(after - before).max() > 0.01
    state = encoder_of(tiny_bert)
    get_shim(low).module.load_state_dict(get_shim(state).module.state_dict())
    np.testing.assert_array_equal(vectors_of(low, doc)[0], before)


def test_copies_and_pickles_make_their_own(tiny_bert: Path) -> None:
    low, doc = low_encoder(tiny_bert, "int8"), doc_of(["Leon"])
    (expected,) = vectors_of(low, doc)
    for other in (low.copy(), pickle.loads(pickle.dumps(low))):
        assert get_shim(other).copies is not get_shim(low).copies
        np.testing.assert_array_equal(vectors_of(other, doc)[0], expected)


@pytest.mark.parametrize("precision", LOW)
def test_processor_without_instructions_stays_in_float32(
    tiny_bert: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_instructions(monkeypatch)
    low, doc = encoder_of(tiny_bert, precision=precision), doc_of(["Leon"])
    with pytest.warns(UserWarning, match=rf"SW241.*'{precision}'.*avx512"):
        (found,) = vectors_of(low, doc)
    np.testing.assert_array_equal(found, vectors_of(encoder_of(tiny_bert), doc)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectors_of(low, doc)  # it warns once
        get_shim(low).chosen = Chosen(precision, emulate=True)
        (emulated,) = vectors_of(low, doc)
    assert (emulated != found).any()


def test_auto_chooses_what_the_processor_is_fast_in(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auto = encoder_of(tiny_bert, precision="auto")
    shim = get_shim(auto)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without_instructions(monkeypatch)
        assert shim.prediction_module() is shim.module
        shim.copies.forget()
        with_all_instructions(monkeypatch)
        copied = shim.prediction_module()
    assert copied.layers[0].inner.weight.dtype == torch.bfloat16


def test_torch_without_the_product_of_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("not implemented for CPU")

    with_all_instructions(monkeypatch)
    processor.multiplies_int8.cache_clear()
    assert processor.is_fast("int8", "cpu")
    processor.multiplies_int8.cache_clear()
    monkeypatch.setattr(torch, "_int_mm", fail)
    assert not processor.is_fast("int8", "cpu")
    processor.multiplies_int8.cache_clear()


def test_wrong_copy_is_not_used(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = low_encoder(tiny_bert, "bfloat16")

    class Wrong(torch.nn.Module):
        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return torch.full((*ids.shape, 16), torch.nan)

    monkeypatch.setattr(copies, "convert", lambda *_: Wrong())
    with pytest.warns(UserWarning, match=r"SW242.*bfloat16.*nan"):
        assert get_shim(low).prediction_module() is get_shim(low).module


def test_unknown_precision(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match=r"SP002.*'precision'.*'half'"):
        build_transformer("minilm", precision="half")
    with pytest.raises(ValueError, match=r"SP002.*'precision'.*'half'"):
        set_precision(span_pipeline(tiny_bert), "half")


def test_pipeline_without_an_encoder_of_ours() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("span_biaffine")
    assert get_precision(nlp) is None
    with pytest.raises(ValueError, match=r"SP240.*span_biaffine"):
        set_precision(nlp, "bfloat16")


def test_precision_is_stored_with_the_pipeline(tiny_bert: Path, tmp_path: Path) -> None:
    nlp = span_pipeline(tiny_bert)
    train(nlp, make_examples(nlp, NESTED), updates=1)
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.0
    before = [scored_spans(nlp(words)) for words, _ in NESTED]
    set_precision(nlp, "bfloat16", emulate=True)
    expected = [scored_spans(nlp(words)) for words, _ in NESTED]
    assert expected != before
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert get_precision(loaded) == "bfloat16"
    assert [scored_spans(loaded(words)) for words, _ in NESTED] == expected
    changed = {"components.span_biaffine.model.tok2vec.precision": "float32"}
    other = spacy.load(tmp_path, config=changed)
    assert get_precision(other) == "float32"
    assert [scored_spans(other(words)) for words, _ in NESTED] == before
