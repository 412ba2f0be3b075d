"""Architectures take the settings of their module by name, as configs have them."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List

import pytest
import spacy
from spacy.util import registry
from thinc.api import Model

from spacy_spanner.layers.architectures import span_architecture
from spacy_spanner.settings import at_least, check, documented

from ..helpers import FACTORIES, SMALL_ENCODER, defaults_of

NAME = "spacy_spanner.test_of_architectures.v1"


@dataclass(frozen=True)
class Sizes:
    """Sizes of a module.

    width (int): of everything.
    names (str): of something.
    """

    width: int = 3
    names: str = "a"

    def __post_init__(self) -> None:
        check(self, width=at_least(2))


@pytest.fixture
def built() -> Iterator[List[Any]]:
    """What was given to an architecture that is registered for a test."""
    given: List[Any] = []

    @span_architecture(NAME, Sizes)
    def build_test_model(tok2vec: Any, settings: Sizes) -> Model:
        """Build nothing.

        tok2vec (Model): the encoder.
        """
        given.append((tok2vec, settings))
        return tok2vec

    yield given


def resolve(**settings: Any) -> Any:
    block = {"@architectures": NAME, "tok2vec": SMALL_ENCODER, **settings}
    return registry.resolve({"model": block})


def test_architecture_gets_its_settings_in_one_object(built: List[Any]) -> None:
    resolve(width=7)
    ((encoder, settings),) = built
    assert isinstance(encoder, Model)
    assert settings == Sizes(width=7, names="a")


def test_architecture_fills_in_the_defaults_of_its_settings(built: List[Any]) -> None:
    block = {"@architectures": NAME, "tok2vec": SMALL_ENCODER}
    filled = registry.fill({"model": block})["model"]
    assert (filled["width"], filled["names"]) == (3, "a")


@pytest.mark.parametrize("wrong", [{"width": "wide"}, {"height": 3}])
def test_config_with_a_wrong_setting_is_refused(
    built: List[Any], wrong: Dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="|".join(wrong)):
        resolve(**wrong)
    assert not built


def test_settings_out_of_their_limits_are_refused(built: List[Any]) -> None:
    with pytest.raises(ValueError, match=r"SP002.*'width'"):
        resolve(width=1)


def test_architecture_has_the_name_and_descriptions_of_both(built: List[Any]) -> None:
    build = registry.architectures.get(NAME)
    assert build.__name__ == "build_test_model"
    assert build.__module__ == __name__
    assert documented(build) == {
        "tok2vec": "the encoder.",
        "width": "of everything.",
        "names": "of something.",
    }


@pytest.mark.parametrize("factory", FACTORIES)
def test_default_config_has_every_documented_setting(factory: str) -> None:
    spacy.blank("en")
    block = dict(defaults_of(factory)["model"])
    build = registry.architectures.get(block.pop("@architectures"))
    assert set(documented(build)) == set(block)
