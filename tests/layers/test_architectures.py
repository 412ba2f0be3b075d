"""Architectures take the settings of their module by name, as configs have them."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Dict

import pytest
import spacy
from spacy.util import registry
from thinc.api import Model
from torch import nn

from spacy_spanner.layers.span_model import span_architecture
from spacy_spanner.layers.torch_head import get_shim
from spacy_spanner.settings import Settings, at_least, documented, setting

from ..helpers import FACTORIES, SMALL_ENCODER, defaults_of

NAME = "spacy_spanner.test_of_architectures.v1"


class Part(nn.Module):
    """A module that is never built."""


@dataclass(frozen=True)
class Sizes(Settings):
    """Sizes of a module.

    width (int): of everything.
    names (str): of something.
    """

    width: int = setting(3, at_least(2))
    names: str = "a"


def refuse_many_names(tok2vec: Model, settings: Sizes) -> None:
    if len(settings.names) > 3:
        raise ValueError(f"too many names for {tok2vec.name}")


@pytest.fixture(autouse=True)
def registered() -> None:
    span_architecture(NAME, Part, Sizes, refuse_many_names)


def resolve(**settings: Any) -> Any:
    block = {"@architectures": NAME, "tok2vec": SMALL_ENCODER, **settings}
    return registry.resolve({"model": block})["model"]


def test_module_gets_its_settings_in_one_object() -> None:
    model = resolve(width=7)
    build = get_shim(model.get_ref("output_layer")).build
    assert isinstance(build, partial)
    assert build.func is Part
    assert build.keywords == {"settings": Sizes(width=7, names="a")}


def test_architecture_fills_in_the_defaults_of_its_settings() -> None:
    block = {"@architectures": NAME, "tok2vec": SMALL_ENCODER}
    filled = registry.fill({"model": block})["model"]
    assert (filled["width"], filled["names"]) == (3, "a")


@pytest.mark.parametrize("wrong", [{"width": "wide"}, {"height": 3}])
def test_config_with_a_wrong_setting_is_refused(wrong: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="|".join(wrong)):
        resolve(**wrong)


def test_settings_out_of_their_limits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"SP002.*'width'"):
        resolve(width=1)


def test_encoder_that_does_not_fit_the_settings_is_refused() -> None:
    assert resolve(names="abc")
    with pytest.raises(ValueError, match="too many names for"):
        resolve(names="abcd")


def test_architecture_has_the_descriptions_of_encoder_and_settings() -> None:
    assert documented(registry.architectures.get(NAME)) == {
        "tok2vec": "the encoder, or a listener to a shared one.",
        "width": "of everything.",
        "names": "of something.",
    }


@pytest.mark.parametrize("factory", FACTORIES)
def test_default_config_has_every_documented_setting(factory: str) -> None:
    spacy.blank("en")
    block = dict(defaults_of(factory)["model"])
    build = registry.architectures.get(block.pop("@architectures"))
    assert set(documented(build)) == set(block)
