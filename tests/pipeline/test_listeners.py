"""A component on a shared encoder: linked, unlinked, frozen, or one of two."""

from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, fix_random_seed

from ..helpers import (
    N_UPDATES,
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    annotate,
    assert_same_predictions,
    copy_of,
    make_examples,
    small_model,
    spans_of,
    texts,
)

LISTENER = {
    "@architectures": "spacy.Tok2VecListener.v1",
    "width": SMALL_WIDTH,
    "upstream": "*",
}
COURT_SPANS = [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]

_shared: Dict[str, Language] = {}


def shared_pipeline(factory: str, *names: str) -> Language:
    """Make a pipeline of a tok2vec and listeners, each with a key of its own name."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    for name in names:
        model = small_model(factory, LISTENER)
        nlp.add_pipe(factory, name=name, config={"model": model, "spans_key": name})
    return nlp


def examples_for(nlp: Language, *names: str) -> List[Example]:
    examples = make_examples(nlp, NESTED)
    for example, (_, spans) in zip(examples, NESTED):
        del example.reference.spans["ents"]
        for name in names:
            annotate(example.reference, spans, name)
    return examples


def initialized(factory: str, *names: str) -> Language:
    nlp = shared_pipeline(factory, *names)
    fix_random_seed(0)
    nlp.initialize(lambda: examples_for(nlp, *names))
    return nlp


def learn(nlp: Language, examples: List[Example], **settings: Any) -> None:
    optimizer = nlp.create_optimizer()
    for _ in range(N_UPDATES):
        nlp.update(examples, sgd=optimizer, **settings)


def update_twice(nlp: Language, examples: List[Example]) -> Dict[str, float]:
    """Learn two batches: `nlp.update` steps the encoder before its listeners, so what
    a batch teaches a shared encoder is applied with the next one.
    """
    optimizer = nlp.resume_training()
    nlp.update(examples, sgd=optimizer)
    return nlp.update(examples, sgd=optimizer)


def encoder_weights(model: Model) -> List[np.ndarray]:
    return [
        node.get_param(name).copy()
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name)
    ]


def head_weights(nlp: Language, name: str) -> List[np.ndarray]:
    head = nlp.get_pipe(name).model.get_ref("output_layer")
    state = head.shims[0].module.state_dict()
    return [value.numpy().copy() for value in state.values()]


def n_changed(before: List[np.ndarray], after: List[np.ndarray]) -> int:
    return sum(not np.array_equal(*pair) for pair in zip(before, after, strict=True))


@pytest.fixture
def shared(factory: str) -> Language:
    """A trained pipeline of `tok2vec` and `ents`; not to be changed."""
    if factory not in _shared:
        nlp = initialized(factory, "ents")
        learn(nlp, examples_for(nlp, "ents"))
        _shared[factory] = nlp
    return _shared[factory]


def predicted(nlp: Language) -> List[Doc]:
    return list(nlp.pipe(texts(NESTED)))


# ----------------------------------------------------------------- one listener


def test_listener_learns_by_heart(shared: Language) -> None:
    assert spans_of(predicted(shared)[0]) == COURT_SPANS
    assert shared.evaluate(examples_for(shared, "ents"))["spans_ents_f"] == 1.0


def test_listener_training_moves_shared_weights(factory: str) -> None:
    nlp = initialized(factory, "ents")
    tok2vec = nlp.get_pipe("tok2vec").model
    before = encoder_weights(tok2vec)
    update_twice(nlp, examples_for(nlp, "ents"))
    assert n_changed(before, encoder_weights(tok2vec)) == len(before) > 5


def test_listener_has_the_width_of_the_encoder(shared: Language) -> None:
    assert shared.get_pipe("ents").model.get_ref("output_layer").get_dim("nI") == 32


def test_listener_survives_disk(shared: Language, tmp_path: Path) -> None:
    shared.to_disk(tmp_path)
    assert_same_predictions(predicted(spacy.load(tmp_path)), predicted(shared))


def test_listener_update_after_reloading_moves_shared_weights(shared: Language) -> None:
    nlp = copy_of(shared)
    before = encoder_weights(nlp.get_pipe("tok2vec").model)
    update_twice(nlp, examples_for(nlp, "ents"))
    after = encoder_weights(nlp.get_pipe("tok2vec").model)
    assert n_changed(before, after) == len(before)


def test_listener_batch_without_gold_then_with_gold(factory: str) -> None:
    nlp = initialized(factory, "ents")
    missing = [Example(nlp.make_doc("A b."), nlp.make_doc("A b."))]
    optimizer = nlp.create_optimizer()
    losses = nlp.update(missing, sgd=optimizer)
    assert losses["ents"] == 0.0
    assert nlp.update(examples_for(nlp, "ents"), sgd=optimizer)["ents"] > 0


def test_listener_batch_of_empty_docs_then_with_gold(factory: str) -> None:
    nlp = initialized(factory, "ents")
    empty = Example(nlp.make_doc(""), annotate(nlp.make_doc(""), []))
    optimizer = nlp.create_optimizer()
    assert nlp.update([empty], sgd=optimizer)["ents"] == 0.0
    assert nlp.update(examples_for(nlp, "ents"), sgd=optimizer)["ents"] > 0


# -------------------------------------------------------------------- unlinked


def test_replace_listeners_predicts_the_same(shared: Language) -> None:
    nlp = copy_of(shared)
    nlp.replace_listeners("tok2vec", "ents", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    assert_same_predictions(predicted(nlp), predicted(shared))


def test_replace_listeners_can_be_stored(shared: Language, tmp_path: Path) -> None:
    nlp = copy_of(shared)
    nlp.replace_listeners("tok2vec", "ents", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    nlp.to_disk(tmp_path)
    assert_same_predictions(predicted(spacy.load(tmp_path)), predicted(shared))


def test_replace_listeners_goes_on_learning(shared: Language) -> None:
    nlp = copy_of(shared)
    nlp.replace_listeners("tok2vec", "ents", ["model.tok2vec"])
    own = nlp.get_pipe("ents").model.get_ref("tok2vec")
    before = encoder_weights(own), encoder_weights(nlp.get_pipe("tok2vec").model)
    nlp.update(examples_for(nlp, "ents"), sgd=nlp.resume_training())
    assert n_changed(before[0], encoder_weights(own)) == len(before[0]) > 5
    assert n_changed(before[1], encoder_weights(nlp.get_pipe("tok2vec").model)) == 0


def test_sourced_with_its_encoder_predicts_the_same(shared: Language) -> None:
    source = copy_of(shared)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", source=source)
    nlp.add_pipe("ents", source=source)
    assert_same_predictions(predicted(nlp), predicted(shared))


# ---------------------------------------------------------------------- frozen


def test_frozen_encoder_that_annotates_keeps_its_weights(factory: str) -> None:
    nlp = initialized(factory, "ents")
    tok2vec = nlp.get_pipe("tok2vec").model
    before = encoder_weights(tok2vec), head_weights(nlp, "ents")
    # spaCy's listener takes an empty document for one that was not annotated.
    examples = [eg for eg in examples_for(nlp, "ents") if len(eg.predicted)]
    learn(nlp, examples, exclude=["tok2vec"], annotates=["tok2vec"])
    assert n_changed(before[0], encoder_weights(tok2vec)) == 0
    assert n_changed(before[1], head_weights(nlp, "ents")) == len(before[1])
    assert spans_of(predicted(nlp)[0]) == COURT_SPANS


def test_frozen_component_keeps_its_weights(factory: str) -> None:
    nlp = initialized(factory, "one", "two")
    before = head_weights(nlp, "one"), head_weights(nlp, "two")
    examples = examples_for(nlp, "one", "two")
    losses = nlp.update(examples, sgd=nlp.create_optimizer(), exclude=["one"])
    assert "one" not in losses
    assert n_changed(before[0], head_weights(nlp, "one")) == 0
    assert n_changed(before[1], head_weights(nlp, "two")) == len(before[1])


# --------------------------------------------------------------- two listeners


def test_two_listeners_learn_on_one_encoder(factory: str) -> None:
    nlp = initialized(factory, "one", "two")
    learn(nlp, examples_for(nlp, "one", "two"))
    doc = predicted(nlp)[0]
    assert spans_of(doc, "one") == spans_of(doc, "two") == COURT_SPANS
    scores = nlp.evaluate(examples_for(nlp, "one", "two"))
    assert (scores["spans_one_f"], scores["spans_two_f"]) == (1.0, 1.0)


def test_two_listeners_one_without_gold_still_move_shared_weights(factory: str) -> None:
    nlp = initialized(factory, "one", "two")
    before = encoder_weights(nlp.get_pipe("tok2vec").model)
    examples = examples_for(nlp, "one")
    losses = update_twice(nlp, examples)
    assert losses["one"] > 0
    assert losses["two"] == 0.0
    after = encoder_weights(nlp.get_pipe("tok2vec").model)
    assert n_changed(before, after) == len(before)
