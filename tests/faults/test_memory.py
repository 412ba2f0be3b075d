"""Too little memory: what to lower is named, and nothing of the step stays behind."""

from typing import Any, List

import numpy as np
import pytest
import torch
from spacy.language import Language
from thinc.api import Model

from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.pipeline.system import is_out_of_memory

from ..helpers import NESTED, assert_same_predictions, make_examples, predict_nested


def ask_for_too_much(*args: Any, **kwargs: Any) -> Any:
    """Fail as torch's allocator for the CPU really does."""
    return torch.empty(10**15)


def ask_gpu_for_too_much(*args: Any, **kwargs: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def ask_numpy_for_too_much(*args: Any, **kwargs: Any) -> Any:
    return np.empty(10**15)


ASKERS = [ask_for_too_much, ask_gpu_for_too_much, ask_numpy_for_too_much]
# What to lower, and what it stands at.
NAMED = r"(?s)SP146.*4 documents.*max_cells.*2000000.*max_window.*size of batches"


@pytest.fixture
def pipe(own_nlp: Language, factory: str) -> Any:
    return own_nlp.get_pipe(factory)


def gradients_of(model: Model) -> List[float]:
    module = get_shim(model.get_ref("output_layer")).module
    return [
        float(p.grad.abs().max()) for p in module.parameters() if p.grad is not None
    ]


def test_prediction_names_what_to_lower(
    own_nlp: Language, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = predict_nested(own_nlp)
    docs = [doc.copy() for doc in expected]
    for ask in ASKERS:
        with monkeypatch.context() as patch:
            patch.setattr(type(pipe.codec), "candidate_parts", ask)
            with pytest.raises(MemoryError, match=NAMED):
                pipe.predict(docs)
    assert_same_predictions(predict_nested(own_nlp), expected)


def test_training_names_what_to_lower_and_forgets_the_step(
    own_nlp: Language, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = make_examples(own_nlp, NESTED)
    pipe.cfg["max_cells"] = 1
    expected = pipe.get_loss(examples)[0]
    loss, n_calls = type(pipe.codec).loss, []

    def ask_in_the_second_group(*args: Any) -> Any:
        n_calls.append(1)
        return loss(*args) if len(n_calls) == 1 else ask_for_too_much()

    with monkeypatch.context() as patch:
        patch.setattr(type(pipe.codec), "loss", ask_in_the_second_group)
        with pytest.raises(MemoryError, match=r"SP146.*max_cells.*now 1;"):
            pipe.update(examples)
    assert len(n_calls) == 2
    assert not any(gradients_of(pipe.model))
    assert pipe.get_loss(examples)[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("is_train", [False, True])
def test_encoder_without_memory_names_what_to_lower(
    own_nlp: Language, pipe: Any, is_train: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = pipe.model.get_ref("tok2vec")
    monkeypatch.setattr(encoder, "_func", ask_for_too_much)
    examples = make_examples(own_nlp, NESTED)
    with pytest.raises(MemoryError, match=NAMED):
        if is_train:
            pipe.update(examples)
        else:
            pipe.predict([example.predicted for example in examples])


def test_encoder_without_memory_on_the_way_back(
    own_nlp: Language, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = pipe.model.get_ref("tok2vec")
    forward = encoder._func

    def encode(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)[0], ask_for_too_much

    monkeypatch.setattr(encoder, "_func", encode)
    with pytest.raises(MemoryError, match=NAMED):
        pipe.update(make_examples(own_nlp, NESTED))


def test_other_errors_are_left_as_they_are(
    own_nlp: Language, pipe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(type(pipe.codec), "candidate_parts", fail)
    with pytest.raises(RuntimeError, match=r"^mat1 and mat2"):
        predict_nested(own_nlp)


@pytest.mark.parametrize(
    "error,expected",
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("x"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_counts_as_out_of_memory(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected
