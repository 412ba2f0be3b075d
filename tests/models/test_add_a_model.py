"""The model of docs/add_a_model.md is complete, and the page names every place."""

import contextlib
import io
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Dict, Iterator, List

import pytest
import spacy
from spacy.util import registry

import spacy_spanner.models
from spacy_spanner.pipeline.factories import codec_types

from ..helpers import (
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    copy_of,
    make_examples,
    predict_nested,
    spans_of,
    train,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add_a_model.md").read_text(encoding="utf8")
BLOCK = re.compile(r"```(?:python|ini)\n(.*?)```", re.DOTALL)
# The code of each section, by its heading.
CODE: Dict[str, str] = {
    section.split("\n")[0].strip("`"): block[1]
    for section in PAGE.split("\n## ")
    for block in BLOCK.finditer(section)
}
PLACES: List[str] = re.findall(r"^\| \d+ \| `([^`]+)`", PAGE, re.MULTILINE)
FACTORY = "span_pair"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the factory, which is made from the files on the page."""
    spacy.blank("en")  # loads the factories of this package
    before = set(sys.modules)
    folder = tmp_path_factory.mktemp("models") / "pair"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""A model of the documentation."""\n')
    for name, code in CODE.items():
        if name.endswith(".py"):
            (folder / name).write_text(code, encoding="utf8")
    spacy_spanner.models.__path__.append(str(folder.parent))
    import_module("spacy_spanner.models.pair.register")
    yield FACTORY
    spacy_spanner.models.__path__.remove(str(folder.parent))
    del codec_types[FACTORY]
    for name in set(sys.modules) - before:
        if name.startswith("spacy_spanner.models.pair"):
            del sys.modules[name]


def test_page_has_the_three_files() -> None:
    assert {"codec.py", "module.py", "register.py"} <= set(CODE)


def test_page_names_at_most_ten_places_that_the_other_models_have() -> None:
    assert 0 < len(PLACES) <= 10
    for place in PLACES:
        assert (ROOT / place.replace("pair", "biaffine")).exists(), place


def test_entry_points_on_the_page_are_like_those_of_the_other_models() -> None:
    setup = (ROOT / "setup.cfg").read_text(encoding="utf8").splitlines()
    lines = CODE["setup.cfg"].replace("pair", "biaffine").replace("Pair", "Biaffine")
    for line in lines.splitlines():
        assert line in setup


def test_model_of_the_page_learns_and_is_stored(pair: str) -> None:
    nlp = blank_pipeline(pair)
    train(nlp, make_examples(nlp, NESTED))
    docs = predict_nested(nlp)
    assert [sorted(spans_of(doc)) for doc in docs] == [gold for _, gold in NESTED]
    assert_same_predictions(docs, predict_nested(copy_of(nlp)))


def test_settings_of_the_page_reach_the_config_and_are_checked(pair: str) -> None:
    default = spacy.blank("en").get_factory_meta(pair).default_config
    assert default["model"]["hidden_width"] == 150
    assert (default["threshold"], default["max_width"]) == (0.3, None)
    assert registry.architectures.get("spacy_spanner.Pair.v1")
    with pytest.raises(ValueError, match=r"SP002.*'max_width'"):
        blank_pipeline(pair, max_width=0)
    with pytest.raises(ValueError, match=r"SP002.*'lstm_width'"):
        spacy.blank("en").add_pipe(pair, config={"model": {"lstm_width": 3}})


def test_gold_that_the_model_of_the_page_loses_is_reported(pair: str) -> None:
    nlp = blank_pipeline(pair, max_width=1)
    with pytest.warns(UserWarning, match=r"SW001.*longer than max_width = 1"):
        train(nlp, make_examples(nlp, NESTED), updates=1)


def test_example_of_the_page_prints_its_spans(pair: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(CODE["Try it"], "docs/add_a_model.md", "exec"), {})
    assert printed.getvalue().splitlines() == [
        "0 19 PER The mayor of Boston",
        "13 19 GPE Boston",
        "24 32 PER Ana Ruiz",
    ]
