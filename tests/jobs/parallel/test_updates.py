"""An update by several processes has the gradients of an update by one."""

import random
from typing import Any, Callable, Dict, List, Sequence

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from spacy.training.loop import subdivide_batch

from spacy_spanner.jobs.parallel.updates import (
    add_up_gradients,
    drawing_from,
    shared_updates,
)
from spacy_spanner.jobs.run.slots import slots_of
from spacy_spanner.training.owners import torch_shims, total_of

from ...helpers import (
    CROSSING,
    NESTED,
    SMALL_ENCODER,
    blank_pipeline,
    copy_of,
    make_examples,
    trained,
)
from .threads import ThreadTeam, in_threads

Gradients = Dict[str, torch.Tensor]
# These draw nothing at random; the noise of span_diffusion is each process's own.
ALIKE = ["span_biaffine", "span_locate_label", "span_offset"]
DATA = [*NESTED, *CROSSING]


def gradients_of(nlp: Language) -> Gradients:
    slots = [slot for slot in slots_of(nlp) if slot.has_gradient]
    return {slot.place: slot.gradient.clone() for slot in slots}


def learned_alone(
    nlp: Language, examples: Sequence[Example], parts: int = 1, **options: Any
) -> Gradients:
    copy = copy_of(nlp)
    for part in subdivide_batch(examples, parts):
        copy.update(part, sgd=False, **options)  # type: ignore[arg-type]
    return gradients_of(copy)


def learned_together(
    nlp: Language,
    examples: Sequence[Example],
    size: int,
    parts: int = 1,
    **options: Any,
) -> List[Gradients]:
    copies = [copy_of(nlp) for _ in range(size)]

    def work(team: ThreadTeam) -> Gradients:
        mine = copies[team.rank]
        with shared_updates(mine, team, parts=parts, own=random.Random(0)):
            mine.update(examples, sgd=False, **options)
        return gradients_of(mine)

    return in_threads(size, work)


def assert_same(one: Gradients, other: Gradients) -> None:
    assert one.keys() == other.keys() and one
    assert any(gradient.abs().max() > 1e-3 for gradient in one.values())
    for place, gradient in one.items():
        assert torch.allclose(gradient, other[place], rtol=1e-4, atol=1e-5), place


def no_dropout(factory: str) -> Language:
    return trained(factory, seed=0)


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize("name", ALIKE)
def test_shares_add_up_to_the_batch(name: str, size: int) -> None:
    nlp = no_dropout(name)
    examples = make_examples(nlp, DATA)
    alone = learned_alone(nlp, examples, drop=0.0)
    for together in learned_together(nlp, examples, size, drop=0.0):
        assert_same(alone, together)


@pytest.mark.parametrize("parts", [2, 4])
def test_shares_of_accumulated_parts_add_up(parts: int) -> None:
    nlp = no_dropout("span_biaffine")
    examples = make_examples(nlp, DATA)
    alone = learned_alone(nlp, examples, parts, drop=0.0)
    for together in learned_together(nlp, examples, 2, parts, drop=0.0):
        assert_same(alone, together)


def test_documents_without_annotation_do_not_count() -> None:
    nlp = no_dropout("span_biaffine")
    missing = [
        Example(nlp.make_doc(text), nlp.make_doc(text))
        for text in ("Nobody has read this one, which is the longest of all.", "Nor me")
    ]
    examples = [*missing, *make_examples(nlp, DATA)]
    alone = learned_alone(nlp, examples, drop=0.0)
    for together in learned_together(nlp, examples, 2, drop=0.0):
        assert_same(alone, together)


def several_components() -> Language:
    nlp = spacy.blank("en")
    encoder = {**SMALL_ENCODER, "@architectures": "spacy.HashEmbedCNN.v2"}
    nlp.add_pipe("tok2vec", config={"model": encoder})
    listener = {
        "@architectures": "spacy.Tok2VecListener.v1",
        "width": SMALL_ENCODER["width"],
        "upstream": "*",
    }
    for name in ("tagger", "ner", "spancat", "textcat", "span_biaffine"):
        config: Dict[str, Any] = {"spans_key": "ents"} if name == "spancat" else {}
        nlp.add_pipe(name, config=config)
        if name == "textcat":
            continue
        model = nlp.get_pipe_meta(name).default_config["model"]
        config["model"] = {**model, "tok2vec": listener}
        if name == "span_biaffine":
            config["model"].update(dropout=0.0, input_dropout=0.0)
        nlp.remove_pipe(name)
        nlp.add_pipe(name, config=config)
    return nlp


def test_components_of_spacy_and_a_shared_encoder_take_part() -> None:
    nlp = several_components()
    # Of an empty document, textcat learns only beside others.
    examples = [one for one in make_examples(nlp, DATA) if len(one.reference)]
    for example in examples:
        doc = example.reference
        for token in doc:
            token.tag_ = "LONG" if len(token) > 4 else "SHORT"
        doc.ents = [span for span in doc.spans["ents"] if len(span) == 1][:1]
        doc.cats = {"odd": float(len(doc) % 2), "even": float(len(doc) % 2 == 0)}
    nlp.initialize(lambda: examples)
    alone = learned_alone(nlp, examples, drop=0.0)
    names = {place.split("/")[0] for place in alone}
    assert names == {"tok2vec", "tagger", "ner", "spancat", "textcat", "span_biaffine"}
    again = learned_alone(nlp, examples, drop=0.0)
    # A gradient of ner differs from run to run, with one process too.
    moods = {place for place in alone if not torch.equal(alone[place], again[place])}
    assert all(place.startswith("ner/") for place in moods) and len(moods) <= 1
    for size in (2, 9):
        for together in learned_together(nlp, examples, size, drop=0.0):
            assert moods <= together.keys() <= alone.keys()
            for place in moods:
                together[place] = alone[place]
            assert_same(alone, together)


def test_excluded_components_are_left_alone() -> None:
    nlp = no_dropout("span_biaffine")
    examples = make_examples(nlp, DATA)
    found = learned_together(nlp, examples, 2, exclude=["span_biaffine"])
    assert found == [{}, {}]


def test_losses_are_those_of_shares() -> None:
    nlp = no_dropout("span_biaffine")
    examples = make_examples(nlp, DATA)
    whole = copy_of(nlp).update(examples, sgd=False)  # type: ignore[arg-type]

    def work(team: ThreadTeam) -> Dict[str, float]:
        mine, losses = copy_of(nlp), {"span_biaffine": 1.0}
        with shared_updates(mine, team, parts=1, own=random.Random(0)) as updates:
            mine.update(examples, sgd=False, losses=losses)  # type: ignore[arg-type]
            assert updates.losses is losses
        return losses

    shares = in_threads(2, work)
    total = sum(losses["span_biaffine"] - 1.0 for losses in shares)
    assert total == pytest.approx(whole["span_biaffine"], rel=1e-4)


def test_update_is_spacys_own_afterwards() -> None:
    nlp = copy_of(no_dropout("span_biaffine"))
    pipe: Any = nlp.get_pipe("span_biaffine")

    def work(team: ThreadTeam) -> None:
        with shared_updates(nlp, team, parts=1, own=random.Random(0)) as updates:
            assert vars(nlp)["update"] is updates
            assert pipe.total_of == updates.total_of
            assert pipe.total_of(3) == 3

    in_threads(1, work)
    assert "update" not in vars(nlp)
    assert pipe.total_of is int


def test_counts_of_all_processes_are_added() -> None:
    nlp = copy_of(no_dropout("span_biaffine"))
    copies = [nlp, copy_of(nlp)]

    def work(team: ThreadTeam) -> Any:
        mine = copies[team.rank]
        with shared_updates(mine, team, parts=1, own=random.Random(0)):
            return mine.get_pipe("span_biaffine").total_of(team.rank + 1)

    assert in_threads(2, work) == [3, 3]


class TenfoldTeam(ThreadTeam):
    """One process that believes in nine others like it."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1

    def total(self, count: int) -> int:
        return 10 * count

    def any_of(self, flags: Sequence[bool]) -> List[bool]:
        return list(flags)


def test_old_place_of_total_of_still_works() -> None:
    """Components written for the release before call it in their update."""
    nlp = copy_of(no_dropout("span_biaffine"))
    pipe: Any = nlp.get_pipe("span_biaffine")
    seen: List[int] = []
    pipe.update = lambda batch, **options: seen.append(total_of(len(batch)))
    examples = make_examples(nlp, DATA[:3])
    with pytest.warns(DeprecationWarning, match=r"SW007.*total_of"):
        nlp.update(examples, sgd=False)  # type: ignore[arg-type]
        with shared_updates(nlp, TenfoldTeam(), parts=1, own=random.Random(0)):
            nlp.update(examples, sgd=False)  # type: ignore[arg-type]
    assert seen == [3, 30]


def with_two_teams(change: Callable[[Language, int], None]) -> List[Language]:
    """Let two copies add up gradients of their own making."""
    nlp = no_dropout("span_biaffine")
    copies = [copy_of(nlp), copy_of(nlp)]
    for rank, copy in enumerate(copies):
        change(copy, rank)
    in_threads(
        2, lambda team: add_up_gradients(list(slots_of(copies[team.rank])), team)
    )
    return copies


def test_gradient_of_one_process_is_that_of_all() -> None:
    def change(nlp: Language, rank: int) -> None:
        for index, slot in enumerate(slots_of(nlp)):
            if index == rank or index == 2:
                slot.set_zero_gradient()
                slot.gradient.fill_(rank + 1.0)

    for copy in with_two_teams(change):
        found = {slot.has_gradient for slot in list(slots_of(copy))[3:]}
        assert found == {False}
        values = [float(s.gradient.mean()) for s in list(slots_of(copy))[:3]]
        assert values == [1.0, 2.0, 3.0]


def test_overflow_in_one_process_is_known_to_all() -> None:
    def change(nlp: Language, rank: int) -> None:
        shim = next(shim for slot in slots_of(nlp) for shim in torch_shims(slot.node))
        shim._grad_scaler._found_inf = rank == 1

    for copy in with_two_teams(change):
        shims = [shim for slot in slots_of(copy) for shim in torch_shims(slot.node)]
        assert all(shim._grad_scaler.found_inf for shim in shims)


def test_components_draw_from_numbers_of_their_own() -> None:
    own = random.Random(7)
    random.seed(1)
    expected = random.Random(1).random()
    with drawing_from(own):
        first = random.random()
    with drawing_from(own):
        second = random.random()
    numbers = random.Random(7)
    assert [first, second] == [numbers.random(), numbers.random()]
    assert random.random() == expected


def test_blank_documents_stand_for_an_empty_share() -> None:
    """Every component is called, also where there is nothing to learn."""
    nlp = blank_pipeline("span_biaffine")
    examples = make_examples(nlp, DATA)
    nlp.initialize(lambda: examples)
    seen: List[int] = []
    pipe: Any = nlp.get_pipe("span_biaffine")
    update = pipe.update
    pipe.update = lambda batch, **options: (
        seen.append(len(batch)),
        update(batch, **options),
    )
    copies = [nlp, copy_of(nlp)]

    def work(team: ThreadTeam) -> None:
        mine = copies[1 - team.rank]
        with shared_updates(mine, team, parts=1, own=random.Random(0)):
            mine.update(examples[:1], sgd=False)  # type: ignore[arg-type]

    in_threads(2, work)
    assert seen == [1]
