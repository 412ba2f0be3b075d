"""Reading each batch twice in training, with other dropout."""

from typing import Any, Dict, List, Tuple

import pytest
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_spanner.training.optimizer import make_adamw

from ..helpers import (
    FACTORIES,
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    blank_pipeline,
    make_examples,
    small_model,
)
from ..training.test_optimizer import weights

LISTENER = {
    "@architectures": "spacy.Tok2VecListener.v1",
    "width": SMALL_WIDTH,
    "upstream": "tok2vec",
}
Tensors = Dict[str, torch.Tensor]


def prepared(factory: str, listens: bool, **settings: Any) -> Any:
    """RETURNS: an initialized pipeline with always the same weights, and examples."""
    encoder = LISTENER if listens else None
    nlp = blank_pipeline(factory, model=small_model(factory, encoder), **settings)
    if listens:
        nlp.add_pipe("tok2vec", first=True, config={"model": SMALL_ENCODER})
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    return nlp, examples


def learn(
    nlp: Language, examples: List[Example], drop: float = 0.0, updates: int = 1
) -> Tuple[List[float], Tensors]:
    """RETURNS: the loss of each update, and all weights afterwards."""
    optimizer = make_adamw(encoder=0.005, head=0.005)
    found: List[float] = []
    for _ in range(updates):
        losses: Dict[str, float] = {}
        nlp.update(examples, sgd=optimizer, drop=drop, losses=losses)
        found.append(losses[nlp.pipe_names[-1]])
    tensors = [
        (f"{name}.{place}", tensor.detach().clone())
        for name, pipe in nlp.pipeline
        for place, tensor in enumerate(weights(pipe.model).values())
    ]
    return found, dict(tensors)


@pytest.mark.parametrize("listens", [False, True])
def test_two_readings_without_dropout_teach_what_one_does(
    factory: str, listens: bool
) -> None:
    (loss,), once = learn(*prepared(factory, listens))
    (both,), twice = learn(*prepared(factory, listens, r_drop=3.0))
    assert both == pytest.approx(loss, rel=1e-4)
    for name in once:
        torch.testing.assert_close(twice[name], once[name], atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("listens", [False, True])
def test_readings_with_dropout_disagree_and_the_model_learns(
    factory: str, listens: bool
) -> None:
    def run(weight: float) -> List[float]:
        nlp, examples = prepared(factory, listens, r_drop=weight)
        for module in dropouts(nlp, factory):
            module.p = 0.3
        return learn(nlp, examples, drop=0.2, updates=15)[0]

    little, much = run(1e-6), run(5.0)
    assert much[0] > little[0]
    assert much[-1] < 0.8 * much[0]


def dropouts(nlp: Language, factory: str) -> List[Any]:
    head = nlp.get_pipe(factory).model.get_ref("output_layer")
    modules = head.shims[0].module.modules()
    return [one for one in modules if isinstance(one, torch.nn.Dropout)]


def test_loss_without_training_is_that_of_one_reading() -> None:
    nlp, examples = prepared("span_biaffine", False)
    expected = nlp.get_pipe("span_biaffine").get_loss(examples, None)[0]
    other, same = prepared("span_biaffine", False, r_drop=3.0)
    assert other.get_pipe("span_biaffine").get_loss(same, None)[0] == expected


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("value", [-1, float("inf"), "1", None])
def test_weight_out_of_its_limits_fails(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"SP002.*r_drop|r_drop"):
        blank_pipeline(name, r_drop=value).initialize(lambda: [])
