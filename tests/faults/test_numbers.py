"""Numbers that are none: training stops with an explanation, and weights stay good."""

from typing import Any, List

import numpy as np
import pytest
from spacy.language import Language
from thinc.api import Optimizer

from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.training.optimizer import make_adamw

from ..helpers import NESTED, make_examples, predict_nested, scored_spans
from .test_memory import gradients_of

NO_NUMBERS = [float("nan"), float("inf"), -float("inf")]


def weights_of(nlp: Language) -> bytes:
    return nlp.get_pipe(nlp.pipe_names[0]).model.to_bytes()


def break_loss(nlp: Language, patch: pytest.MonkeyPatch, value: float) -> None:
    codec_type = type(nlp.get_pipe(nlp.pipe_names[0]).codec)
    loss = codec_type.loss
    patch.setattr(codec_type, "loss", lambda *args: loss(*args) * value)


def test_loss_that_is_no_number_changes_nothing(
    own_nlp: Language, factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = make_examples(own_nlp, NESTED)
    optimizer, before = own_nlp.resume_training(), weights_of(own_nlp)
    expected = [scored_spans(doc) for doc in predict_nested(own_nlp)]
    advice = rf"SP010.*'{factory}'.*Lower the learning rate"
    for value in NO_NUMBERS:
        with monkeypatch.context() as patch:
            break_loss(own_nlp, patch, value)
            with pytest.raises(ValueError, match=advice):
                own_nlp.update(examples, sgd=optimizer)
    assert weights_of(own_nlp) == before
    model = own_nlp.get_pipe(factory).model
    assert not any(gradients_of(model))
    # Who catches the error and goes on, goes on with good gradients.
    model.finish_update(optimizer)
    assert [scored_spans(doc) for doc in predict_nested(own_nlp)] == expected
    assert np.isfinite(own_nlp.update(examples, sgd=optimizer)[factory])


def break_gradient(nlp: Language, part: str) -> None:
    """Let values of the next gradient be no numbers; the loss is not affected."""
    model = nlp.get_pipe(nlp.pipe_names[0]).model
    if part == "head":
        module = get_shim(model.get_ref("output_layer")).module
        parameter = list(module.parameters())[-1]
        wrong = [float("nan")]
        parameter.register_hook(lambda grad: grad * (wrong.pop() if wrong else 1.0))
    else:
        node = next(n for n in model.get_ref("tok2vec").walk() if n.has_param("W"))
        node.inc_grad("W", np.full_like(node.get_param("W"), np.nan))


@pytest.mark.parametrize("part", ["head", "encoder"])
@pytest.mark.parametrize("clip", [1.0, 0.0])
def test_gradient_that_is_no_number_changes_no_weight(
    own_nlp: Language, factory: str, part: str, clip: float
) -> None:
    examples, before = make_examples(own_nlp, NESTED), weights_of(own_nlp)
    optimizer = make_adamw(grad_clip=clip)
    break_gradient(own_nlp, part)
    with pytest.raises(ValueError, match=rf"SP147.*'{factory}'.*Lower the learning"):
        own_nlp.update(examples, sgd=optimizer)
    assert weights_of(own_nlp) == before
    # Who catches the error and goes on, goes on with good gradients.
    own_nlp.update(examples, sgd=optimizer)
    assert weights_of(own_nlp) != before


def test_gradient_that_is_no_number_with_other_optimizers_stops_one_step_later(
    own_nlp: Language, factory: str
) -> None:
    examples = make_examples(own_nlp, NESTED)
    break_gradient(own_nlp, "encoder")
    optimizer: Optimizer = own_nlp.resume_training()
    own_nlp.update(examples, sgd=optimizer)
    with pytest.raises(ValueError, match="SP010"):
        own_nlp.update(examples, sgd=optimizer)


def test_gradient_of_a_scaled_shim_that_overflowed_is_left_out(
    own_nlp: Language, factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half precision overflows now and then; its scaler leaves such a step out."""
    examples = make_examples(own_nlp, NESTED)
    optimizer = make_adamw()
    pipe = own_nlp.get_pipe(factory)
    head = pipe.model.get_ref("output_layer")
    own_nlp.update(examples, sgd=optimizer)
    before = head.to_bytes(), pipe.model.to_bytes()
    pipe.update(examples)
    for parameter in get_shim(head).module.parameters():
        if parameter.grad is not None:
            parameter.grad.fill_(float("inf"))
    get_shim(head)._grad_scaler._found_inf = True
    pipe.finish_update(optimizer)
    assert head.to_bytes() == before[0]
    assert pipe.model.to_bytes() != before[1]
    assert np.isfinite(own_nlp.update(examples, sgd=optimizer)[factory])


def test_vectors_that_are_no_numbers_stop_training(
    own_nlp: Language, factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = own_nlp.get_pipe(factory).model.get_ref("tok2vec")
    forward = encoder._func

    def spoil(*args: Any, **kwargs: Any) -> Any:
        vectors, backprop = forward(*args, **kwargs)
        spoiled: List[np.ndarray] = [vector.copy() for vector in vectors]
        spoiled[0][0, 0] = np.nan
        return spoiled, backprop

    monkeypatch.setattr(encoder, "_func", spoil)
    before = weights_of(own_nlp)
    with pytest.raises(ValueError, match="SP010"):
        own_nlp.update(make_examples(own_nlp, NESTED), sgd=own_nlp.resume_training())
    assert weights_of(own_nlp) == before
