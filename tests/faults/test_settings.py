"""Each setting of each factory, wrong in turn: refused by name when it is given."""

from math import inf, nan
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import spacy
from spacy.util import registry

from spacy_spanner.settings import at_least

from ..helpers import FACTORIES, NESTED, SMALL_ENCODER, defaults_of, make_examples

Count = Callable[..., None]

# What no setting of a kind may be, by the kind of its default. What pydantic reads as
# a number or a truth value, such as "1", is none of these.
WRONG: Dict[type, List[Any]] = {
    bool: ["maybe", 7, 0.5, nan, [], {}, "\x00", None],
    int: [-1, 0.5, nan, inf, 2**64, "many", "", [], {}, [1], None],
    float: [-1, -1e-9, nan, inf, -inf, "high", "", [], {}, None],
    str: ["", [], {}, ["ents"], None],
    list: ["high", [0], [-1], [0.5], [nan], ["a"], [[1]], {}, [], None],
    dict: ["high", [0], {"A": 2}, {"A": -1}, {"A": nan}, {"A": "b"}, {"A": None}, None],
}
# Settings that may also be left out: null is right, and the type is not seen from it.
OPTIONAL = {
    "max_width": int,
    "max_seed": int,
    "max_candidates": int,
    "negatives": int,
    "repeats": int,
}
NO_CHOICES = ("spans_key",)
BELOW_0_TOO = ("bias",)


def wrong_values(default: Any, name: str) -> List[Any]:
    """List what a setting must not be."""
    if name in OPTIONAL:
        return [value for value in WRONG[OPTIONAL[name]] if value is not None]
    values = list(WRONG[type(default)])
    if name in BELOW_0_TOO:
        values = [value for value in values if value not in (-1, -1e-9)]
    if isinstance(default, str) and name not in NO_CHOICES:
        values += ["no such thing", default.upper(), f" {default}", 0, True]
    return values


def all_settings(factory: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Yield each setting and a config in which it is wrong."""
    config = dict(defaults_of(factory))
    model = config.pop("model")
    del config["scorer"]
    for name, default in config.items():
        for value in wrong_values(default, name):
            yield name, {name: value}
    for name, default in model.items():
        if name not in ("@architectures", "tok2vec"):
            for value in wrong_values(default, name):
                yield name, {"model": {**model, name: value}}


def test_each_setting_wrong_in_turn_is_refused_by_name(
    factory: str, tried: Count
) -> None:
    nlp = spacy.blank("en")
    wrong = []
    for name, config in all_settings(factory):
        tried("wrong settings")
        try:
            nlp.add_pipe(factory, config=config)
        except ValueError as error:  # those of pydantic are such, too
            if name not in str(error):
                wrong.append((name, config, str(error)))
        else:
            nlp.remove_pipe(factory)
            wrong.append((name, config, "accepted"))
    assert not wrong


def test_each_setting_wrong_in_cfg_is_refused_by_name(
    factory: str, tried: Count
) -> None:
    """Where spaCy's commands and users write to after loading."""
    pipe = spacy.blank("en").add_pipe(factory)
    for name, config in all_settings(factory):
        if name not in config:
            continue  # of the architecture
        tried("wrong settings")
        before = pipe.cfg[name]
        pipe.cfg[name] = config[name]
        with pytest.raises(ValueError, match=rf"SP002.*'{name}'"):
            _ = pipe.settings, pipe.codec
        pipe.cfg[name] = before


@pytest.mark.parametrize(
    "name", ["spacy_spanner.BiLSTM.v1", "spacy_spanner.Features.v1"]
)
def test_missing_encoder_is_refused(name: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        registry.resolve({"model": {"@architectures": name, "no_such": SMALL_ENCODER}})


def test_every_factory_has_settings_of_every_kind() -> None:
    """The table above would miss settings of a kind that it does not know."""
    kinds = {
        type(default)
        for factory in FACTORIES
        for name, default in defaults_of(factory).items()
        if name not in ("model", "scorer") and name not in OPTIONAL
    }
    assert kinds <= set(WRONG)


def test_whole_numbers_fit_arrays() -> None:
    assert at_least(0).accepts(2**63 - 1)
    assert not at_least(0).accepts(2**63)


def test_largest_seed_can_be_used(factory: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, config={"seed": 2**63 - 1})
    nlp.initialize(lambda: make_examples(nlp, NESTED))
    nlp.update(make_examples(nlp, NESTED))
    assert "ents" in nlp(NESTED[0][0]).spans
