"""Random numbers, tensors and optimizers that are restored go on alike."""

import random
from typing import List

import numpy as np
import pytest
import torch
from thinc.api import fix_random_seed

from spacy_spanner.jobs.run import checkpoint as storage
from spacy_spanner.jobs.run.random_states import (
    random_numbers,
    random_tensors,
    restore_random,
)
from spacy_spanner.jobs.run.tensor_states import (
    moments_of,
    optimizer_of,
    restore_tensors,
    slots_of,
    tensor_records,
)
from spacy_spanner.training.optimizer import AdamW, make_adamw
from spacy_spanner.training.owners import set_frozen, tensor_keys

from ...helpers import NESTED, blank_pipeline, copy_of, make_examples
from ...runs import NAME
from ...training.loops import Loop
from ...training.test_optimizer import weights

# --------------------------------------------------------------------- random numbers


def test_every_stream_of_random_numbers_is_restored() -> None:
    nlp = blank_pipeline(NAME)

    def draw() -> List[float]:
        own = nlp.get_pipe(NAME).rng.random()
        drawn = [random.random(), random.gauss(0.0, 1.0), own, torch.rand(1).item()]
        return [*drawn, np.random.random(), np.random.randn()]

    fix_random_seed(3)
    draw()
    numbers, tensors = random_numbers(nlp), random_tensors()
    first = draw()
    assert not set(draw()) & set(first)
    restore_random(nlp, storage.json.loads(storage.json.dumps(numbers)), tensors)
    assert draw() == first


# --------------------------------------------------------------------- tensors


def optimizer() -> AdamW:
    made = make_adamw(encoder=0.01, head=0.01, weight_decay=0.5, frozen_steps=4)
    assert isinstance(made, AdamW)
    return made


def trained_loop(steps: int = 3) -> Loop:
    loop = Loop()
    loop.optimizer = optimizer()
    loop.run(lambda nlp, info: None, steps)
    return loop


def restored_copy(loop: Loop) -> Loop:
    """Write and read all, as another process would."""
    copy = Loop()
    copy.nlp = copy_of(loop.nlp)
    copy.examples = make_examples(copy.nlp, NESTED)
    copy.optimizer = optimizer()
    records = tensor_records(loop.nlp, loop.optimizer)
    moments = moments_of(loop.nlp, loop.optimizer)
    moments = {name: tensor.clone() for name, tensor in moments.items()}
    restore_tensors(copy.nlp, copy.optimizer, records, moments)
    return copy


def take_steps(loop: Loop, steps: int = 3) -> List[torch.Tensor]:
    """Step once without a gradient, then with."""
    pipe = loop.nlp.get_pipe(NAME)
    pipe.finish_update(loop.optimizer)
    for _ in range(steps):
        loop.nlp.update(loop.examples, sgd=loop.optimizer)
    return [weight.detach().clone() for weight in weights(pipe.model).values()]


@pytest.mark.parametrize("part", ["", "encoder", "head"])
def test_restored_optimizer_goes_on_alike(part: str) -> None:
    loop = trained_loop()
    if part:
        set_frozen(loop.nlp.get_pipe(NAME), part, True)
    copy = restored_copy(loop)
    pairs = zip(take_steps(loop), take_steps(copy), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_restored_tensors_know_what_they_knew() -> None:
    loop = trained_loop()
    set_frozen(loop.nlp.get_pipe(NAME), "head", True)
    module = loop.nlp.get_pipe(NAME).model.get_ref("output_layer").shims[0].module
    assert not any(weight.requires_grad for weight in module.parameters())
    copy = restored_copy(loop)
    known = tensor_records(loop.nlp, loop.optimizer)
    assert tensor_records(copy.nlp, copy.optimizer) == known
    assert {record["gradient"] for record in known.values()} == {True, False}
    assert {record["learns"] for record in known.values()} == {True, False}
    assert {record["frozen"] for record in known.values()} == {True, False}
    assert {record["updates"] for record in known.values()} == {3}


def test_places_are_the_same_for_equal_pipelines() -> None:
    one, other = (Loop().nlp for _ in range(2))
    places = [slot.place for slot in slots_of(one)]
    assert places == [slot.place for slot in slots_of(other)]
    assert len(set(places)) == len(places)
    keys = [set(tensor_keys(node)) for node in one.get_pipe(NAME).model.walk()]
    assert {slot.key for slot in slots_of(one)} == set().union(*keys)


def test_optimizer_is_found_by_its_tensors_and_steps() -> None:
    loop, other = trained_loop(2), trained_loop(2)
    assert optimizer_of(blank_pipeline(NAME), 2) is None
    assert optimizer_of(loop.nlp, 2) is loop.optimizer
    assert optimizer_of(other.nlp, 2) is other.optimizer
    used = {}
    for steps in (1, 3, 4):
        loop.optimizer = used[steps] = optimizer()
        loop.run(lambda nlp, info: None, steps)
    assert [optimizer_of(loop.nlp, steps) for steps in used] == [*used.values()]
