"""The table of recipes: how its layers join, and what programs get from it."""

from pathlib import Path
from typing import Any, List

import pytest
import spacy
from spacy.util import load_config

from spacy_spanner import recipe
from spacy_spanner.pipeline.factories import codec_types
from spacy_spanner.preflight import recipes

from ..cli.helpers import invoke, run
from ..helpers import FACTORIES, defaults_of

CONFIGS = Path(__file__).parents[2] / "configs" / "paper"
DATASETS = {
    "span_biaffine": "conll03",
    "span_locate_label": "genia",
    "span_diffusion": "ace04",
    "span_offset": "resume",
}


def test_layers_of_the_table() -> None:
    below = {"a": {"b": 1, "c": {"@x": "one", "d": 2}}, "e": {"own": 3, "note": "n"}}
    merged = recipes.merge(below, {"a": {"b": {"paper": 0.00005}}, "e": 4})
    assert merged == {
        "a": {"b": {"own": 1, "paper": 0.00005}, "c": {"@x": "one", "d": 2}},
        "e": 4,
    }
    assert recipes.merge(below, {"a": {"c": {"@x": "two"}}})["a"]["c"] == {"@x": "two"}
    values, comments = recipes.split(merged)
    assert values == {"a": {"b": 1, "c": {"@x": "one", "d": 2}}, "e": 4}
    assert comments == {"a": {"b": "own (paper: 0.00005)"}}
    explained = {"x": {"value": 1, "note": "n"}, "y": {"code": 2, "note": "n"}}
    merged = recipes.merge(explained, {"x": {"paper": 3}, "y": {"paper": 4}})
    assert merged == {
        "x": {"own": 1, "paper": 3, "note": "n"},
        "y": {"code": 2, "paper": 4, "note": "n"},
    }


def test_reason_for_a_setting_that_has_no_value() -> None:
    merged = recipes.merge({"a": {"lr": 1}}, {"a": {"rl": {"paper": 2}}})
    with pytest.raises(ValueError, match=r"a\.rl has no value"):
        recipes.split(merged)


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"own": 1}, "own"),
        ({"own": 1, "paper": 2, "note": "why"}, "own (paper: 2): why"),
        ({"code": None, "paper": 0.5}, "the authors' code (paper: 0.5)"),
        ({"value": 1, "note": "why"}, "why"),
        ({"size": 1}, ""),
        ({}, ""),
        (1, ""),
    ],
)
def test_reason_of_a_value(value: Any, expected: str) -> None:
    assert recipes.reason(value) == expected


@pytest.mark.parametrize("factory", FACTORIES)
def test_recipe_of_the_paper_is_that_of_its_config(factory: str) -> None:
    dataset = DATASETS[factory]
    path = CONFIGS / f"{factory[5:]}_{dataset}.cfg"
    config = load_config(path).interpolate()["components"][factory]
    del config["factory"]
    assert recipe(factory, "paper", dataset) == config


@pytest.mark.parametrize("factory", FACTORIES)
def test_tuned_recipe_has_the_defaults_of_the_factory(factory: str) -> None:
    found = recipe(factory[5:])
    default = defaults_of(factory)
    expected = {**default, "model": None, "threshold": "auto"}
    assert {**found, "model": None} == expected
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(factory, config=found)
    assert pipe.settings.threshold == default["threshold"]
    assert nlp.config["components"][factory]["model"] == found["model"]


@pytest.mark.parametrize("factory", FACTORIES)
def test_recipe_of_the_paper_makes_a_component(factory: str, tiny_bert: Path) -> None:
    found = recipe(factory, "paper", DATASETS[factory])
    block: Any = found["model"]["tok2vec"]
    while "tok2vec" in block:
        block = block["tok2vec"]
    block.update(name=str(tiny_bert), layers=1)
    pipe: Any = spacy.blank("en").add_pipe(factory, config=found)
    for name in codec_types[factory].__dataclass_fields__:
        assert pipe.cfg[name] == found[name], name


def test_recipe_that_the_paper_lacks_names_those_that_exist() -> None:
    for dataset in ("wnut17", None):
        with pytest.raises(ValueError, match=r"SP085.*conll03") as raised:
            recipe("span_biaffine", "paper", dataset)
        assert repr(dataset) in str(raised.value)
        assert "span_biaffine" in str(raised.value)


def test_unknown_recipe_and_model() -> None:
    with pytest.raises(ValueError, match=r"SP002.*'tuned', 'paper'"):
        recipe("span_biaffine", "own")
    with pytest.raises(ValueError, match="SP076"):
        recipe("span_unknown")


def test_tuned_recipe_has_no_datasets() -> None:
    for dataset in ("genia", "nonsense", ""):
        with pytest.raises(ValueError, match=r"SP030.*'tuned'.*'paper'") as raised:
            recipe("span_offset", dataset=dataset)
        assert repr(dataset) in str(raised.value)


def test_command_writes_the_config_of_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "bopn.cfg"
    options = ["--model", "span_offset", "--recipe", "paper", "--dataset", "genia"]
    shown = run("init-config", str(path), *options)
    assert "spacy train" in shown
    assert load_config(path) == load_config(CONFIGS / "offset_genia.cfg")
    heading = path.read_text("utf8").split("[paths]")[0]
    assert "Findings of EMNLP 2023" in heading and "spacy train" in heading


@pytest.mark.parametrize(
    "options, code, named",
    [
        (["--recipe", "paper"], "SP085", "ace05"),
        (["--recipe", "paper", "--dataset", "wnut17"], "SP085", "wnut17"),
        (["--recipe", "paper", "--dataset", "genia", "--steps", "9"], "SP030", "steps"),
        (["--dataset", "genia"], "SP030", "--recipe tuned"),
        (["--recipe", "best"], "SP002", "best"),
    ],
    ids=str,
)
def test_command_refuses_recipes_that_do_not_exist(
    options: List[str], code: str, named: str, tmp_path: Path
) -> None:
    path = tmp_path / "new.cfg"
    done = invoke("init-config", str(path), "--model", "span_offset", *options)
    assert done.exit_code == 1
    assert f"[{code}]" in done.stderr and named in done.stderr
    assert not path.exists()
