"""What only a CUDA device can show: training there, and the same answers as on CPU."""

from typing import Iterator, List

import numpy as np
import pytest
import torch
from spacy.language import Language
from thinc.api import prefer_gpu, require_cpu

from .helpers import DATA, FACTORIES, blank_pipeline, make_examples

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(autouse=True)
def on_gpu() -> Iterator[None]:
    assert prefer_gpu(), "torch sees a GPU, but cupy is not installed"
    yield
    require_cpu()


@pytest.mark.parametrize("factory", FACTORIES)
def test_training_on_gpu_lowers_the_loss_and_predicts_as_on_cpu(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, DATA["nested"])
    optimizer = nlp.initialize(lambda: examples)
    losses = [nlp.update(examples, sgd=optimizer)[factory] for _ in range(20)]
    assert losses[-1] < losses[0]
    on_gpu = scores_of(nlp, examples)
    saved = nlp.to_bytes()
    require_cpu()
    on_cpu = blank_pipeline(factory).from_bytes(saved)
    np.testing.assert_allclose(scores_of(on_cpu, examples), on_gpu, atol=1e-3)


def scores_of(nlp: Language, examples: List) -> np.ndarray:
    docs = nlp.pipe([example.text for example in examples])
    return np.concatenate([doc.spans["ents"].attrs["scores"] for doc in docs])
