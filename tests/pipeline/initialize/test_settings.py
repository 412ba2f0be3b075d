"""Settings that are out of their limits, unknown, or changed later."""

from typing import Any, Dict

import pytest
import spacy
from confection import ConfigValidationError
from spacy.language import Language

from .helpers import COURT


@pytest.mark.parametrize(
    "name,value",
    [
        ("spans_key", ""),
        ("threshold", 1.5),
        ("threshold", -0.1),
        ("threshold", "high"),
        ("label_thresholds", {"GPE": 2.0}),
        ("overlap", "crossing"),
        ("set_ents", "always"),
        ("window", "paragraph"),
        ("max_window", 0),
        ("stride", -1),
        ("stride", 256),
        ("max_cells", 0),
        ("seed", -1),
    ],
)
def test_add_pipe_setting_out_of_limits_fails(
    factory: str, name: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{name}' must be"):
        spacy.blank("en").add_pipe(factory, config={name: value})


@pytest.mark.parametrize(
    "name,value", [("treshold", 0.5), ("temperature", "high"), ("overwrite", "maybe")]
)
def test_add_pipe_unknown_setting_or_type_fails(
    factory: str, name: str, value: Any
) -> None:
    with pytest.raises(ConfigValidationError, match=name):
        spacy.blank("en").add_pipe(factory, config={name: value})


def test_setting_changed_later_out_of_limits_fails(
    own_nlp: Language, factory: str
) -> None:
    own_nlp.get_pipe(factory).cfg["overlap"] = "crossing"
    with pytest.raises(ValueError, match=r"SP002.*'overlap'"):
        own_nlp(COURT)


def test_two_components_do_not_share_settings(factory: str) -> None:
    nlp = spacy.blank("en")
    one, two = nlp.add_pipe(factory, name="one"), nlp.add_pipe(factory, name="two")
    one.cfg["label_thresholds"]["GPE"] = 0.9
    assert two.settings.label_thresholds == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"lstm_width": 5},
        {"lstm_width": -2},
        {"hidden_width": 0},
        {"n_widths": 0},
        {"width_embedding": 0},
        {"dropout": 1.5},
        {"input_dropout": -1.0},
    ],
)
def test_architecture_out_of_its_limits_fails_at_once(settings: Dict) -> None:
    nlp = spacy.blank("en")
    (name,) = settings
    with pytest.raises(ValueError, match=f"SP002.*'{name}'"):
        nlp.add_pipe("span_biaffine", config={"model": settings})
