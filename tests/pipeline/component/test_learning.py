"""Components learn by heart, and what an update changes."""

from typing import List

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from ...helpers import (
    DATA,
    NESTED,
    SEVERAL_LABELS,
    annotate,
    blank_pipeline,
    make_examples,
    spans_of,
    train,
    trained,
)

ZH = (
    ("北京大学校长见了王宁。", [(0, 4, "ORG"), (0, 2, "GPE"), (8, 10, "PER")]),
    ("昨天下雨。", []),
)


def weights(nlp: Language, name: str) -> List[np.ndarray]:
    model = nlp.get_pipe(name).model
    module = model.get_ref("output_layer").shims[0].module
    torch_weights = [value.numpy().copy() for value in module.state_dict().values()]
    return torch_weights + [
        node.get_param(param).copy()
        for node in model.walk()
        for param in node.param_names
        if node.has_param(param)
    ]


def test_update_plain_loop_without_settings_learns_by_heart(factory: str) -> None:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    found = []
    # At a constant rate, F1 goes up and down.
    while 1.0 not in found and len(found) < 10:
        for _ in range(20):
            nlp.update(examples)
        found.append(nlp.evaluate(make_examples(nlp, NESTED))["spans_ents_f"])
    assert 1.0 in found, found


@pytest.mark.parametrize("data", ["nested", "crossing"])
def test_predict_after_training_gives_gold(factory: str, data: str) -> None:
    nlp = trained(factory, data, overlap="any")
    for text, spans in DATA[data]:
        expected = sorted(spans, key=lambda span: (span[0], -span[1], span[2]))
        assert spans_of(nlp(text)) == expected


@pytest.mark.parametrize("factory", SEVERAL_LABELS)
def test_predict_several_labels_on_one_span(factory: str) -> None:
    nlp = trained(factory, "two_labels", **SEVERAL_LABELS[factory])
    for text, spans in DATA["two_labels"]:
        assert spans_of(nlp(text)) == list(spans)


def test_update_blank_zh_learns_characters(factory: str) -> None:
    nlp = blank_pipeline(factory, lang="zh")
    train(nlp, make_examples(nlp, ZH))
    assert spans_of(nlp(ZH[0][0])) == [(0, 4, "ORG"), (0, 2, "GPE"), (8, 10, "PER")]
    assert spans_of(nlp(ZH[1][0])) == []


def test_update_twice_with_one_seed_gives_equal_weights(factory: str) -> None:
    pipelines = []
    for _ in range(2):
        nlp = blank_pipeline(factory)
        train(nlp, make_examples(nlp, NESTED), updates=5)
        pipelines.append(nlp)
    one, two = (weights(nlp, factory) for nlp in pipelines)
    assert len(one) == len(two) > 5
    for first, second in zip(one, two):
        np.testing.assert_array_equal(first, second)


def test_initialize_starts_sampling_from_the_seed(factory: str) -> None:
    draws = []
    for seed, n_before in ((3, 0), (3, 7), (4, 0)):
        nlp = blank_pipeline(factory, seed=seed)
        pipe = nlp.get_pipe(factory)
        pipe.rng.random(n_before)
        nlp.initialize(lambda nlp=nlp: make_examples(nlp, NESTED))
        draws.append(pipe.rng.random())
    assert draws[0] == draws[1] != draws[2]


def test_update_changes_encoder_and_head(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    before = weights(nlp, factory)
    nlp.update(examples, sgd=nlp.create_optimizer())
    after = weights(nlp, factory)
    same = [np.array_equal(one, two) for one, two in zip(before, after)]
    assert not any(same)


def test_update_adds_to_losses_under_own_name(factory: str) -> None:
    nlp = blank_pipeline(factory, name="entities")
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    losses = {"entities": 1000.0, "other": 1.0}
    nlp.update(examples, losses=losses)
    assert losses["entities"] > 1000.0
    assert losses["other"] == 1.0


def test_update_without_sgd_waits_for_finish_update(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    before = weights(nlp, factory)
    pipe.update(examples)
    for one, two in zip(before, weights(nlp, factory)):
        np.testing.assert_array_equal(one, two)
    pipe.finish_update(nlp.create_optimizer())
    after = weights(nlp, factory)
    assert not any(np.array_equal(one, two) for one, two in zip(before, after))


def test_update_empty_batch_or_empty_docs_gives_no_loss(factory: str) -> None:
    nlp = blank_pipeline(factory)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    pipe = nlp.get_pipe(factory)
    empty = Example(nlp.make_doc(""), annotate(nlp.make_doc(""), []))
    for examples in ([], [empty, empty]):
        assert pipe.update(examples) == {factory: 0.0}
        assert pipe.get_loss(examples) == (0.0, None)


def test_update_dropout_of_the_call_reaches_encoder(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    fix_random_seed(1)
    losses = []
    for drop in (0.0, 0.5, 0.0):
        pipe.rng = np.random.default_rng(0)
        losses.append(pipe.update(examples, drop=drop)[factory])
    assert losses[0] != losses[1]
    assert losses[2] == pytest.approx(losses[0])


def test_get_loss_equals_loss_of_update_without_dropout(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    measured, gradient = pipe.get_loss(examples)
    assert gradient is None
    assert measured == pytest.approx(pipe.update(examples)[factory], rel=1e-5)


def test_update_of_a_generator_learns_as_from_a_list(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    assert pipe.update(example for example in examples)[factory] > 0


@pytest.mark.parametrize("method", ["update", "get_loss"])
def test_learning_before_initialize_says_what_to_do(factory: str, method: str) -> None:
    nlp = blank_pipeline(factory)
    pipe = nlp.get_pipe(factory)
    with pytest.raises(ValueError, match=rf"E109.*'{factory}'.*initialize"):
        getattr(pipe, method)(make_examples(nlp, NESTED))
