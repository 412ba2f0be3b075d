"""Training on a GPU, and the same answers as on the CPU.

Without a GPU, `test_rig` runs these tests on a device that is not there, except for
those that measure memory.
"""

import gc
import sys
from functools import cache
from pathlib import Path
from typing import Any, Dict, Iterator, Sequence

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed, prefer_gpu, require_cpu
from thinc.util import get_torch_default_device

from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.training.optimizer import make_adamw

from .. import runs
from ..helpers import (
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    annotate,
    blank_pipeline,
    make_examples,
    small_model,
    spans_of,
    texts,
    train,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

# The emulated one has no memory to measure, and adds up in the same order each time.
EMULATED = "tests.devices.rig.plugin" in sys.modules
real_gpu = pytest.mark.skipif(EMULATED, reason="needs a real GPU")
UPDATES = 8
# Everything that was found is reported, however little a tiny model has learned.
ALL = {"threshold": 0.0, "overlap": "any", "max_candidates": 500}
# Sums are taken in another order there: scores differ by more than on one device.
CLOSE = 1e-3
LEAST = 0.02
MEGABYTE = 2**20
TEXTS = [
    *texts(NESTED),
    "Boston",
    " ",
    "Ana Ruiz met the mayor of Oslo in Leon County.",
]


@pytest.fixture(autouse=True)
def on_gpu() -> Iterator[None]:
    assert prefer_gpu(), "torch sees a GPU, but cupy is not installed"
    yield
    require_cpu()
    gc.collect()
    torch.cuda.empty_cache()


@pytest.fixture(params=["cnn", "bilstm", "transformer", "mixed_precision"])
def encoder(request: pytest.FixtureRequest, tiny_bert: Path) -> Dict[str, Any]:
    transformer = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
    }
    blocks: Dict[str, Dict[str, Any]] = {
        "cnn": SMALL_ENCODER,
        "bilstm": {
            "@architectures": "spacy_spanner.BiLSTM.v1",
            "tok2vec": SMALL_ENCODER,
            "width": SMALL_WIDTH,
            "dropout": 0.0,
        },
        "transformer": transformer,
        "mixed_precision": {**transformer, "mixed_precision": True},
    }
    return blocks[request.param]


def learned(factory: str, encoder: Dict[str, Any]) -> Language:
    """Train a pipeline on the active device; its loss falls."""
    nlp = blank_pipeline(factory, model=small_model(factory, encoder), **ALL)
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.005
    losses = [nlp.update(examples, sgd=optimizer)[factory] for _ in range(UPDATES)]
    assert np.isfinite(losses).all()
    assert min(losses) < losses[0]
    return nlp


def learned_cnn(factory: str) -> Language:
    """Load a pipeline that was trained once, to the active device."""
    nlp = blank_pipeline(factory, **ALL)
    return nlp.from_bytes(_stored(factory))


@cache
def _stored(factory: str) -> bytes:
    return learned(factory, SMALL_ENCODER).to_bytes()


def assert_close(docs: Sequence[Doc], others: Sequence[Doc]) -> None:
    """Everything that one device found is found by the other, with the same score."""
    assert any(len(doc.spans["ents"]) for doc in docs)
    for doc, other in zip(docs, others, strict=True):
        assert scored(doc) == pytest.approx(scored(other), abs=CLOSE)


def scored(doc: Doc) -> Dict[Any, float]:
    scores = doc.spans["ents"].attrs["scores"].tolist()
    # The filter of the two stages may let a seed pass on one device only.
    return {span: score for span, score in zip(spans_of(doc), scores) if score > LEAST}


def load_on_cpu(nlp: Language, factory: str) -> Language:
    """Take a pipeline to the CPU, for good."""
    saved, config = nlp.to_bytes(), nlp.config
    require_cpu()
    return type(nlp).from_config(config).from_bytes(saved)


# ---------------------------------------------------------- training, prediction


def test_learned_on_gpu_predicts_there_as_on_cpu(
    factory: str, encoder: Dict[str, Any]
) -> None:
    nlp = learned(factory, encoder)
    on_gpu = list(nlp.pipe(TEXTS))
    on_cpu = list(load_on_cpu(nlp, factory).pipe(TEXTS))
    # Halves are rounded otherwise on each device, and of two denoised spans with the
    # same probability either may be right.
    if encoder.get("mixed_precision") or factory == "span_diffusion":
        assert any(map(scored, on_gpu)) == any(map(scored, on_cpu))
    else:
        assert_close(on_gpu, on_cpu)


def test_learned_on_cpu_predicts_as_on_gpu(factory: str) -> None:
    require_cpu()
    nlp = learned(factory, SMALL_ENCODER)
    on_cpu, saved, config = list(nlp.pipe(TEXTS)), nlp.to_bytes(), nlp.config
    assert prefer_gpu()
    loaded = type(nlp).from_config(config).from_bytes(saved)
    head = loaded.get_pipe(factory).model.get_ref("output_layer")
    assert {p.device.type for p in get_shim(head).module.parameters()} == {
        get_torch_default_device().type
    }
    assert_close(list(loaded.pipe(TEXTS)), on_cpu)


def test_loss_and_gradients_are_those_of_the_cpu(factory: str) -> None:
    nlp = learned_cnn(factory)
    examples = make_examples(nlp, NESTED)
    on_gpu, _ = nlp.get_pipe(factory).get_loss(examples)
    other = load_on_cpu(nlp, factory)
    on_cpu, _ = other.get_pipe(factory).get_loss(make_examples(other, NESTED))
    if (
        factory != "span_diffusion"
    ):  # where two matchings cost the same, either is right
        assert on_gpu == pytest.approx(on_cpu, rel=CLOSE)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_pipe_on_gpu_is_the_same_for_all_batches(factory: str, batch_size: int) -> None:
    nlp = learned_cnn(factory)
    alone = [nlp(text) for text in TEXTS]
    backwards = list(nlp.pipe(TEXTS[::-1] * 3, batch_size=batch_size))
    assert_close(backwards, alone[::-1] * 3)


def test_mixed_precision_stays_close_to_full(factory: str, tiny_bert: Path) -> None:
    full = {"@architectures": "spacy_spanner.Transformer.v1", "name": str(tiny_bert)}
    nlp = learned(factory, full)
    expected = list(nlp.pipe(TEXTS))
    shim = nlp.get_pipe(factory).model.get_ref("tok2vec").shims[0]
    shim._mixed_precision = True
    for doc, other in zip(nlp.pipe(TEXTS), expected, strict=True):
        found, full = scored(doc), scored(other)
        if full:  # what is most probable stays so
            best = max(full, key=lambda span: full[span])
            assert found[best] == pytest.approx(full[best], abs=0.1)


def test_scores_are_on_the_host_and_no_tensor_stays_on_a_doc(factory: str) -> None:
    nlp = learned_cnn(factory)
    for doc in nlp.pipe(TEXTS):
        assert type(doc.spans["ents"].attrs["scores"]) is np.ndarray
        assert doc.tensor.shape[0] == 0
        assert Doc(nlp.vocab).from_bytes(doc.to_bytes()).text == doc.text


# ------------------------------------------------------------------- optimizer


def test_adamw_on_gpu_makes_the_weights_of_the_cpu(factory: str) -> None:
    if factory == "span_diffusion":
        pytest.skip("where two matchings cost the same, either is right")
    require_cpu()
    nlp = blank_pipeline(factory)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    saved = nlp.to_bytes()
    weights = []
    for take_device in (require_cpu, prefer_gpu):
        take_device()
        nlp = blank_pipeline(factory).from_bytes(saved)
        optimizer = make_adamw(encoder=1e-3, head=1e-3)
        for _ in range(3):
            nlp.update(make_examples(nlp, NESTED), sgd=optimizer)
        head = nlp.get_pipe(factory).model.get_ref("output_layer")
        state = get_shim(head).module.state_dict()
        weights.append({name: value.cpu() for name, value in state.items()})
    for name, value in weights[0].items():
        # A gradient of nearly zero may have either sign, and moves its weight by 1e-3.
        assert (weights[1][name] - value).abs().max() <= 2 * 3 * 1e-3
        assert (weights[1][name] - value).abs().mean() <= 1e-4


def test_resumed_run_on_gpu_is_close_to_the_whole(tmp_path: Path) -> None:
    corpus = runs.write_corpus(tmp_path / "corpus.spacy")
    # CuPy draws other numbers after each checkpoint, so the whole run has them, too.
    stores = runs.make_config(
        corpus, runs.callbacks(runs.stored_in(tmp_path / "other"))
    )
    whole = runs.run(stores, tmp_path / "whole")
    block = runs.stored_in(tmp_path / "run")
    config = runs.make_config(corpus, runs.callbacks(block))
    runs.run(config, tmp_path / "stopped", stop_at=8)
    resumed = runs.resume(tmp_path / "run", tmp_path / "resumed")
    steps = [row["step"] for row in whole.rows]
    assert [row["step"] for row in resumed.rows] == steps[-len(resumed.rows) :]
    for row, other in zip(resumed.rows[::-1], whole.rows[::-1]):
        close = 1e-5 if EMULATED else 0.05
        assert row["losses"] == pytest.approx(other["losses"], rel=close)


# ---------------------------------------------------------------------- memory


def peak_of_prediction(nlp: Language, n_tokens: int) -> float:
    """Measure the memory of the device above what is held already, in MB."""
    words = [token.text for text in TEXTS[:2] for token in nlp.make_doc(text)]
    doc = Doc(nlp.vocab, words=(words * (n_tokens // len(words) + 1))[:n_tokens])
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    assert len(nlp(doc).spans["ents"])
    return (torch.cuda.max_memory_allocated() - before) / MEGABYTE


@real_gpu
def test_memory_of_prediction_is_bounded(factory: str) -> None:
    nlp = learned_cnn(factory)
    peak_of_prediction(nlp, 1_000)  # what libraries take once
    small, large = (peak_of_prediction(nlp, size) for size in (2_000, 16_000))
    assert large < 10 * small + 100
    assert large < 1_500


@real_gpu
def test_memory_of_training_and_prediction_does_not_grow(factory: str) -> None:
    nlp = learned_cnn(factory)
    examples = make_examples(nlp, NESTED)
    optimizer = nlp.resume_training()
    used = []
    for _ in range(6):
        nlp.update(examples, sgd=optimizer)
        list(nlp.pipe(TEXTS))
        gc.collect()
        used.append(torch.cuda.memory_allocated())
    assert used[-1] <= used[1]


@real_gpu
def test_too_little_memory_names_what_to_lower(factory: str) -> None:
    nlp = learned_cnn(factory)
    pipe = nlp.get_pipe(factory)
    words = ["word"] * 20_000
    reference = annotate(Doc(nlp.vocab, words=words), [(0, 2, "GPE")])
    example = Example(Doc(nlp.vocab, words=words), reference)
    pipe.cfg.update(max_cells=10**12, max_window=20_000)
    total = torch.cuda.get_device_properties(0).total_memory
    gc.collect()
    torch.cuda.empty_cache()
    allowed = torch.cuda.memory_reserved() + 64 * MEGABYTE
    torch.cuda.set_per_process_memory_fraction(min(1.0, allowed / total))
    try:
        with pytest.raises(MemoryError, match=r"SP146.*max_cells.*max_window"):
            pipe.update([example])
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    pipe.cfg.update(max_cells=2_000_000, max_window=64)
    assert np.isfinite(pipe.update(make_examples(nlp, NESTED))[factory])
