"""Analyses of trained pipelines, which leave these as they were."""

from typing import List

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Example

from spacy_spanner.evaluation.landscape import (
    find_component,
    loss_landscape,
    mean_loss,
    prepare_examples,
    random_direction,
    weights_of,
)
from spacy_spanner.evaluation.model_costs import count_parameters
from spacy_spanner.evaluation.report.figures.analyses import (
    grid_figure,
    landscape_figure,
)
from spacy_spanner.evaluation.settings_grid import (
    Axis,
    parse_axis,
    settings_grid,
)

from ..helpers import NESTED, make_examples, trained_copy

NAME = "span_biaffine"


@pytest.fixture
def nlp() -> Language:
    nlp = trained_copy(NAME)
    nlp.add_pipe("sentencizer", first=True)
    return nlp


@pytest.fixture
def examples(nlp: Language) -> List[Example]:
    return make_examples(nlp, NESTED)


def test_component_is_found_or_asked_for() -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match=r"SP079.*none"):
        find_component(nlp)
    nlp.add_pipe(NAME)
    assert find_component(nlp) == NAME
    nlp.add_pipe(NAME, name="two")
    with pytest.raises(ValueError, match=rf"SP079.*{NAME}, two"):
        find_component(nlp)
    assert find_component(nlp, "two") == "two"
    with pytest.raises(ValueError, match="SP079"):
        find_component(nlp, "three")


def test_examples_are_seen_as_by_the_component(
    nlp: Language, examples: List[Example]
) -> None:
    unknown = Example(nlp.make_doc("Who?"), nlp.make_doc("Who?"))
    found = prepare_examples(nlp, NAME, [*examples, unknown])
    assert len(found) == len(examples)
    assert all(eg.predicted.has_annotation("SENT_START") for eg in found[:3])
    assert not any("ents" in eg.predicted.spans for eg in found)


def test_loss_is_on_hard_targets_and_changes_nothing(
    nlp: Language, examples: List[Example]
) -> None:
    pipe = nlp.get_pipe(NAME)
    pipe.rng = np.random.default_rng(7)  # type: ignore[attr-defined]
    state = pipe.rng.bit_generator.state  # type: ignore[attr-defined]
    loss = mean_loss(pipe, examples)
    assert mean_loss(pipe, examples) == loss
    assert pipe.rng.bit_generator.state == state  # type: ignore[attr-defined]
    assert pipe.cfg["boundary_smoothing"] > 0  # type: ignore[attr-defined]
    assert loss < pipe.get_loss(examples)[0]  # type: ignore[attr-defined]
    assert mean_loss(pipe, []) == 0.0


def test_direction_has_the_norm_of_each_weight() -> None:
    weights = [np.full((3, 4), 2.0, "f"), torch.full((2, 5), -3.0)]
    direction = random_direction(weights, np.random.default_rng(0))
    for weight, step in zip(weights, direction):
        assert type(step) is type(weight)
        assert step.shape == weight.shape
        norms = [float((values**2).sum()) ** 0.5 for values in (weight, step)]
        assert norms[0] == pytest.approx(norms[1], rel=1e-5)
    again = random_direction(weights, np.random.default_rng(0))
    assert (again[0] == direction[0]).all()


def test_landscape_is_lowest_at_the_trained_weights(
    nlp: Language, examples: List[Example]
) -> None:
    pipe = nlp.get_pipe(NAME)
    before = pipe.to_bytes()
    kinds = {type(weight.owner).__name__ for weight in weights_of(pipe.model)}
    assert kinds == {"Model", "Parameter"}  # the encoder is of Thinc, the head of torch
    found = loss_landscape(nlp, NAME, {"train": examples, "none": []}, n_points=5)
    assert found["positions"] == [-1.0, -0.5, 0.0, 0.5, 1.0]
    losses = found["losses"]["train"]
    assert min(losses) == losses[2]
    assert losses[2] == pytest.approx(
        mean_loss(pipe, prepare_examples(nlp, NAME, examples))
    )
    assert min(losses[0], losses[-1]) > 2 * losses[2]
    assert found["losses"]["none"] == [0.0] * 5
    costs = count_parameters(nlp, NAME)
    assert found["moved"] + found["still"] == sum(costs)
    assert 0 < found["still"] < found["moved"]
    assert pipe.to_bytes() == before
    assert landscape_figure(found).axes[0].lines[0].get_ydata()[2] == losses[2]


def test_grid_measures_every_pair(nlp: Language, examples: List[Example]) -> None:
    pipe = nlp.get_pipe(NAME)
    before = dict(pipe.cfg)  # type: ignore[attr-defined]
    rows, columns = Axis("threshold", [0.3, 1.0]), Axis("overlap", ["flat", "nested"])
    found = settings_grid(nlp, NAME, examples, rows=rows, columns=columns)
    assert pipe.cfg == before  # type: ignore[attr-defined]
    # Flat loses the inner span of two documents: 4 of 6 found.
    assert found["f"] == [[pytest.approx(0.8), 1.0], [0.0, 0.0]]
    assert np.shape(found["words_per_second"]) == (2, 2)
    shown = [text.get_text() for text in grid_figure(found).axes[0].texts]
    assert shown == ["80.0", "100.0", "0.0", "0.0"]


def test_grid_of_an_unknown_setting(nlp: Language, examples: List[Example]) -> None:
    axes = {"rows": Axis("threshold", [0.5]), "columns": Axis("spans", [1])}
    with pytest.raises(ValueError, match=r"SP080.*'spans'.*threshold"):
        settings_grid(nlp, NAME, examples, **axes)


def test_axis_is_read_with_its_types() -> None:
    assert parse_axis("a.b = 1, 0.5,x,null,true") == ("a.b", [1, 0.5, "x", None, True])
    for text in ("steps", "steps=", "=1", "steps=1,,2"):
        with pytest.raises(ValueError, match="SP081"):
            parse_axis(text)
