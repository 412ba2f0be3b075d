"""The ablation tables name settings that exist, and are computed right."""

import importlib
import sys
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
import srsly
from spacy.util import load_config, load_model_from_config

ROOT = Path(__file__).parents[3]
TABLES: Dict[str, Any] = srsly.read_yaml(ROOT / "configs" / "ablations.yml")
MODELS = [model for model in TABLES if (ROOT / f"configs/{model}_cnn.cfg").exists()]


@pytest.fixture(scope="module")
def ablations() -> Iterator[Any]:
    """The script, which imports others beside it."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("ablations")
    sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize("model", MODELS)
def test_rows_change_settings_that_exist(ablations: Any, model: str) -> None:
    path = ROOT / "configs" / f"{model}_cnn.cfg"
    base, *others = ablations.variants_of(model, [0])
    assert base.name == ablations.BASE and others
    unchanged = load_config(path, interpolate=True)
    for variant in (base, *others):
        config = load_config(path, overrides=variant.overrides, interpolate=True)
        load_model_from_config(config)  # checks the values
        assert variant is base or config != unchanged, variant.name
    nlp = load_model_from_config(unchanged)
    for changes in base.later.values():
        pipe: Any = nlp.get_pipe(f"span_{model}")
        assert set(changes) <= set(pipe.cfg)
        assert any(pipe.cfg[name] != value for name, value in changes.items())
        saved = dict(pipe.cfg)
        pipe.cfg.update(changes)
        _ = pipe.codec, pipe.settings  # check the values
        pipe.cfg.update(saved)


def test_every_config_of_a_model_has_a_table() -> None:
    names = {
        path.name[: -len("_cnn.cfg")] for path in (ROOT / "configs").glob("*_cnn.cfg")
    }
    assert names <= set(TABLES)


def test_rows_are_trained_with_every_seed(ablations: Any) -> None:
    variants = ablations.variants_of("biaffine", [0, 1])
    assert len(variants) == 2 * (1 + len(TABLES["biaffine"]["rows"]))
    assert [v.overrides["system.seed"] for v in variants[:3]] == [0, 1, 0]
    assert [bool(v.later) for v in variants[:3]] == [True, True, False]


def test_budget_ends_schedules_too(ablations: Any) -> None:
    found = ablations.budget(ROOT / "configs" / "biaffine_minilm.cfg", 50)
    assert found["training.max_steps"] == 50
    assert found["training.optimizer.encoder.total_steps"] == 50
    config = load_config(ROOT / "configs" / "biaffine_minilm.cfg", overrides=found)
    assert config["training"]["optimizer"]["head"]["warmup_steps"] == 5
    found = ablations.budget(ROOT / "configs" / "biaffine_cnn.cfg", 5)
    assert set(found) == {
        "training.max_steps",
        "training.max_epochs",
        "training.eval_frequency",
    }


def test_table_by_hand(ablations: Any) -> None:
    def scores(value: float) -> Dict[str, Any]:
        names = dict.fromkeys(("p", "r", "f", "nested_f"), value)
        return {"dev": {}, "test": {**names, "ece": None}}

    runs = [
        {"name": "base", "scores": scores(0.5), "later": {"l": scores(0.25)}},
        {"name": "base", "scores": scores(0.7), "later": {"l": scores(0.25)}},
        {"name": "other", "scores": scores(0.9), "later": {}},
    ]
    lines = ablations.render("Title", "demo", runs, "Note.").splitlines()
    assert lines[0] == "# Title"
    assert lines[-3] == "| base | " + "60.0 ± 14.1 | " * 4 + "- | " * 4 + " |"
    assert lines[-2] == "| other | " + "90.0 | " * 4 + "- | " * 4 + "+30.0 |"
    assert lines[-1] == "| l | " + "25.0 ± 0.0 | " * 4 + "- | " * 4 + "-35.0 |"
