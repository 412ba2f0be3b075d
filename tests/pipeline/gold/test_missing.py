"""Examples without annotation teach nothing, those without spans do."""

from typing import List

import numpy as np
import pytest
from spacy.language import Language

from ...helpers import (
    COURT_WORDS,
    NESTED,
    annotate,
    blank_pipeline,
    make_examples,
    train,
)
from .helpers import coded_warnings, initialized, same_words


def gradients(nlp: Language, factory: str) -> List[np.ndarray]:
    """List the gradients that wait for the optimizer, of encoder and head."""
    model = nlp.get_pipe(factory).model
    module = model.get_ref("output_layer").shims[0].module
    torch_grads = [p.grad.numpy() for p in module.parameters() if p.grad is not None]
    return torch_grads + [
        node.get_grad(name)
        for node in model.walk()
        for name in node.param_names
        if node.has_grad(name)
    ]


def test_missing_annotation_gives_no_loss_and_no_gradient(factory: str) -> None:
    nlp = initialized(factory)
    pipe = nlp.get_pipe(factory)
    assert pipe.update([same_words(nlp), same_words(nlp)]) == {factory: 0.0}
    assert not any(gradient.any() for gradient in gradients(nlp, factory))


def test_empty_group_gives_loss_and_gradient(factory: str) -> None:
    nlp = initialized(factory)
    example = same_words(nlp)
    annotate(example.reference, [])
    assert nlp.get_pipe(factory).update([example])[factory] > 0.1
    # Not all: some weights of a model may learn from entities alone.
    assert sum(gradient.any() for gradient in gradients(nlp, factory)) > 5


def test_missing_annotation_beside_gold_changes_neither_loss_nor_gradient(
    factory: str,
) -> None:
    found = []
    for n_missing in (0, 2):
        nlp = initialized(factory)
        gold = make_examples(nlp, NESTED[:2])
        missing = [same_words(nlp, COURT_WORDS[:5]) for _ in range(n_missing)]
        losses = nlp.get_pipe(factory).update([*missing[:1], *gold, *missing[1:]])
        found.append((losses[factory], gradients(nlp, factory)))
    (loss, grads), (other_loss, other_grads) = found
    assert loss == pytest.approx(other_loss, rel=1e-5)
    for one, two in zip(grads, other_grads, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)


def test_missing_annotation_is_counted_once_with_sw002(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = [*make_examples(nlp, NESTED), same_words(nlp), same_words(nlp)]
    with coded_warnings() as found:
        optimizer = nlp.initialize(lambda: examples)
        for _ in range(2):
            nlp.update(examples, sgd=optimizer)
    assert len(found) == 1
    assert f"[SW002] '{factory}': 2 of 6 examples" in found[0]


def test_complete_annotation_gives_no_warning(factory: str) -> None:
    nlp = blank_pipeline(factory)
    with coded_warnings() as found:
        train(nlp, make_examples(nlp, NESTED), updates=2)
    assert found == []
