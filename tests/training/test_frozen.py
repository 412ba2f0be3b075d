"""Frozen parts: the mark stands on the layers, and is undone without a trace."""

from typing import Any, Dict

import pytest
import spacy
import torch
from spacy.language import Language

from spacy_spanner.training.frozen import frozen_keys, frozen_names, set_frozen
from spacy_spanner.training.optimizer import make_adamw
from spacy_spanner.training.owners import ENCODER, HEAD, owners_of

from ..helpers import NESTED, SMALL_ENCODER, blank_pipeline, make_examples
from .test_optimizer import weights

NAME = "span_biaffine"


@pytest.fixture
def nlp() -> Language:
    made = blank_pipeline(NAME)
    examples = make_examples(made, NESTED)
    made.initialize(lambda: examples)
    return made


def learning(pipe: Any) -> Dict[str, bool]:
    shim = pipe.model.get_ref("output_layer").shims[0]
    return {
        name: weight.requires_grad for name, weight in shim.module.named_parameters()
    }


@pytest.mark.parametrize("part", [ENCODER, HEAD])
def test_frozen_tensors_are_those_of_the_part(nlp: Language, part: str) -> None:
    pipe: Any = nlp.get_pipe(NAME)
    owners = owners_of(pipe.model)
    stored = pipe.model.to_bytes()
    set_frozen(pipe, part, True)
    frozen = frozen_keys(pipe.model)
    assert frozen == {key for key, owner in owners.items() if owner.part == part}
    assert pipe.model.to_bytes() == stored
    set_frozen(pipe, part, False)
    assert not frozen_keys(pipe.model)
    assert all("frozen" not in name for n in pipe.model.walk() for name in n.attrs)


def test_frozen_head_gets_no_gradient_until_it_is_thawed(nlp: Language) -> None:
    pipe: Any = nlp.get_pipe(NAME)
    set_frozen(pipe, HEAD, True)
    assert not any(learning(pipe).values())
    set_frozen(pipe, HEAD, False)
    assert all(learning(pipe).values())


def test_what_a_user_has_frozen_stays_so(nlp: Language) -> None:
    pipe: Any = nlp.get_pipe(NAME)
    module = pipe.model.get_ref("output_layer").shims[0].module
    module.biaffine.weight.requires_grad_(False)
    set_frozen(pipe, HEAD, False)
    assert [name for name, learns in learning(pipe).items() if not learns] == [
        "biaffine.weight"
    ]


def test_frozen_layers_of_thinc_do_not_move(nlp: Language) -> None:
    pipe: Any = nlp.get_pipe(NAME)
    set_frozen(pipe, ENCODER, True)
    encoder = pipe.model.get_ref("tok2vec")
    before = {key: weight.clone() for key, weight in weights(encoder).items()}
    nlp.update(make_examples(nlp, NESTED), sgd=make_adamw(encoder=0.1))
    assert all(torch.equal(w, before[k]) for k, w in weights(encoder).items())


def test_copy_of_a_frozen_component_can_be_thawed_alone(nlp: Language) -> None:
    pipe: Any = nlp.get_pipe(NAME)
    set_frozen(pipe, ENCODER, True)
    other = pipe.model.copy()
    for node in other.walk():
        node.attrs.pop("spanner_frozen", None)
    assert frozen_keys(pipe.model) and not frozen_keys(other)


def test_frozen_names_of_a_shared_encoder() -> None:
    nlp = spacy.blank("en")
    encoder = {**SMALL_ENCODER, "@architectures": "spacy.HashEmbedCNN.v2"}
    pipe: Any = nlp.add_pipe("tok2vec", config={"model": encoder})
    set_frozen(pipe, ENCODER, True)
    nodes = list(pipe.model.walk())
    assert all(frozen_names(node) == set(node.param_names) for node in nodes)
    assert any(frozen_names(node) for node in nodes)
