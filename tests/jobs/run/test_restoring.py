"""Random numbers, tensors and optimizers that are restored go on alike."""

import copy
import pickle
import random
from functools import partial
from typing import Any, Callable, Dict, List, Optional

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.util import registry
from thinc.api import Optimizer, fix_random_seed

from spacy_spanner.jobs.run import checkpoint as storage
from spacy_spanner.jobs.run.optimizer_state import (
    find_optimizer,
    moments_of,
    restore_optimizer,
)
from spacy_spanner.jobs.run.run_state import (
    random_numbers,
    random_tensors,
    restore_random,
    restore_tensors,
    separate_order,
    tensor_records,
)
from spacy_spanner.jobs.run.slots import slots_of
from spacy_spanner.training.frozen import frozen_keys, set_frozen
from spacy_spanner.training.optimizer import AdamW, make_adamw
from spacy_spanner.training.owners import tensor_keys

from ...helpers import NESTED, blank_pipeline, copy_of, make_examples
from ...runs import NAME
from ...training.loops import Loop, UnboundProxy
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
    numbers, tensors = random_numbers(nlp, random.Random()), random_tensors(1)
    first = draw()
    assert not set(draw()) & set(first)
    restore_random(nlp, storage.json.loads(storage.json.dumps(numbers)), tensors)
    assert draw() == first


def test_random_states_of_a_run_on_the_cpu_do_not_start_cuda(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start() -> None:
        raise RuntimeError("CUDA was started")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", start)
    assert set(random_tensors(1)) == {"torch"}


def test_updates_draw_from_their_own_numbers() -> None:
    nlp, drawn = blank_pipeline(NAME), []
    nlp.update = lambda: drawn.append(random.random())  # type: ignore[assignment]
    random.seed(5)
    before = random.getstate()
    for _ in range(2):  # the second run replaces the generator of the first
        separate_order(nlp, random.Random(7))
        nlp.update()  # type: ignore[call-arg]
        nlp.update()  # type: ignore[call-arg]
    assert random.getstate() == before
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]


# --------------------------------------------------------------------- tensors


def optimizer() -> AdamW:
    made = make_adamw(encoder=0.01, head=0.01, weight_decay=0.5, frozen_steps=4)
    assert isinstance(made, AdamW)
    return made


def thinc_optimizer(name: str) -> Callable[[], Optimizer]:
    return partial(registry.optimizers.get(name), 0.01, L2=0.5, use_averages=True)


OPTIMIZERS: Dict[str, Callable[[], Optimizer]] = {
    "AdamW": optimizer,
    "Adam": thinc_optimizer("Adam.v1"),
    "RAdam": thinc_optimizer("RAdam.v1"),
    "SGD": thinc_optimizer("SGD.v1"),
}


def trained_loop(steps: int = 3, create: Callable[[], Optimizer] = optimizer) -> Loop:
    loop = Loop()
    loop.optimizer = create()
    loop.run(lambda nlp, info: None, steps)
    return loop


def restored_copy(loop: Loop, create: Callable[[], Optimizer] = optimizer) -> Loop:
    """Write and read all, as another process would."""
    other = Loop()
    other.nlp = copy_of(loop.nlp)
    other.examples = make_examples(other.nlp, NESTED)
    other.optimizer = create()
    records = tensor_records(loop.nlp, loop.optimizer)
    moments = moments_of(loop.nlp, loop.optimizer)
    moments = {name: tensor.clone() for name, tensor in moments.items()}
    restore_optimizer(other.nlp, other.optimizer, records, moments)
    restore_tensors(other.nlp, records)
    return other


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
    other = restored_copy(loop)
    pairs = zip(take_steps(loop), take_steps(other), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_known_optimizer_goes_on_alike(name: str) -> None:
    create = OPTIMIZERS[name]
    loop = trained_loop(3, create)
    other = restored_copy(loop, create)
    assert not set(loop.optimizer.nr_update) & set(other.optimizer.nr_update)
    pairs = zip(take_steps(loop), take_steps(other), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    keys = zip(slots_of(loop.nlp), slots_of(other.nlp), strict=True)
    for one, two in ((one.key, two.key) for one, two in keys):
        averages = loop.optimizer.averages, other.optimizer.averages
        assert (averages[0] is None) == (name == "AdamW")
        if averages[0] is not None:
            assert (averages[0][one] == averages[1][two]).all()
            assert averages[0][one].any()


def test_restored_tensors_know_what_they_knew() -> None:
    loop = trained_loop()
    set_frozen(loop.nlp.get_pipe(NAME), "head", True)
    module = loop.nlp.get_pipe(NAME).model.get_ref("output_layer").shims[0].module
    assert not any(weight.requires_grad for weight in module.parameters())
    other = restored_copy(loop)
    known = tensor_records(loop.nlp, loop.optimizer)
    assert tensor_records(other.nlp, other.optimizer) == known
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


def test_optimizer_of_the_loop_is_found() -> None:
    """The one that trains the pipeline at the moment, and no earlier or other one."""
    loop, other = trained_loop(2), trained_loop(2)
    found: List[Optional[Optimizer]] = []

    def look(nlp: Language, info: Dict[str, Any]) -> None:
        of_another_pipeline = other.optimizer
        found.append(find_optimizer(nlp))
        assert found[-1] is not of_another_pipeline

    for _ in range(2):
        loop.optimizer = optimizer()
        loop.run(look, 3)
        assert found == [None, loop.optimizer, loop.optimizer]
        found.clear()


def test_optimizer_is_not_found_outside_of_its_loop() -> None:
    loop = trained_loop(2)
    assert find_optimizer(loop.nlp) is None


def test_loop_without_an_optimizer_in_sight_is_told() -> None:
    loop = trained_loop(2)
    loop.nlp._optimizer = None
    with pytest.raises(ValueError, match=r"SP118.*variable"):
        find_optimizer(loop.nlp)


def test_optimizer_is_found_beside_proxies_that_fail() -> None:
    loop = trained_loop(2)
    proxy, trains = UnboundProxy(), loop.optimizer
    assert find_optimizer(loop.nlp) is trains
    assert type(proxy) is UnboundProxy


def test_marks_of_frozen_parts_are_copied_and_not_stored() -> None:
    loop = trained_loop()
    set_frozen(loop.nlp.get_pipe(NAME), "encoder", True)
    model = loop.nlp.get_pipe(NAME).model
    assert frozen_keys(model)
    assert not frozen_keys(copy_of(loop.nlp).get_pipe(NAME).model)  # by bytes
    copies = [model.copy(), copy.deepcopy(loop.nlp.get_pipe(NAME)).model]
    copies += [pickle.loads(pickle.dumps(loop.nlp.get_pipe(NAME))).model]
    for one in copies:
        assert len(frozen_keys(one)) == len(frozen_keys(model))
