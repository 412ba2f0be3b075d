"""Every public name of setup.cfg leads somewhere, and is known to spaCy."""

from configparser import ConfigParser
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Iterator, List, NamedTuple

import pytest
import spacy
from spacy.util import registry

from ..helpers import FACTORIES

SETUP = Path(__file__).parents[2] / "setup.cfg"


class EntryPoint(NamedTuple):
    group: str
    name: str
    target: str


def listed() -> Iterator[EntryPoint]:
    parser = ConfigParser(delimiters=["="])
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(SETUP, encoding="utf8")
    for group, lines in parser["options.entry_points"].items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            name, target = line.split("=")
            yield EntryPoint(group, name.strip(), target.strip())


LISTED: List[EntryPoint] = list(listed())


@pytest.mark.parametrize("point", LISTED, ids=lambda point: point.name)
def test_entry_point_resolves(point: EntryPoint) -> None:
    module, name = point.target.split(":")
    assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("point", LISTED, ids=lambda point: point.name)
def test_entry_point_is_installed(point: EntryPoint) -> None:
    installed = entry_points(group=point.group, name=point.name)
    assert point.target in [one.value for one in installed]


@pytest.mark.parametrize("point", LISTED, ids=lambda point: point.name)
def test_entry_point_is_found_by_spacy(point: EntryPoint) -> None:
    if not point.group.startswith("spacy_") or point.group == "spacy_cli":
        pytest.skip("not a registry of spaCy")
    spacy.blank("en")
    found = getattr(registry, point.group[len("spacy_") :]).get(point.name)
    module, name = point.target.split(":")
    assert found is getattr(import_module(module), name)


@pytest.mark.parametrize("point", LISTED, ids=lambda point: point.name)
def test_entry_point_name_follows_the_rules(point: EntryPoint) -> None:
    if point.group == "spacy_factories":
        assert point.name.startswith("span_")
    elif point.group != "spacy_cli":
        assert point.name.startswith("spacy_spanner.")
        assert point.name.rsplit(".", 1)[1].startswith("v")


def test_entry_points_list_every_tested_factory() -> None:
    names = [point.name for point in LISTED if point.group == "spacy_factories"]
    assert sorted(names) == sorted([*FACTORIES, "span_ensemble"])
