"""The ablation tables name settings that exist, and are computed right."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
import srsly
from spacy.util import load_config, load_model_from_config, registry

from spacy_spanner.jobs.search.trials import Plan, require_settings

ROOT = Path(__file__).parents[3]
TABLES: Dict[str, Any] = srsly.read_yaml(ROOT / "configs" / "ablations.yml")
MODELS = [model for model in TABLES if (ROOT / f"configs/{model}_cnn.cfg").exists()]


@pytest.fixture(scope="module")
def ablations() -> Iterator[Any]:
    """The script, which imports others beside it."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("ablations")
    sys.path.remove(str(ROOT / "scripts"))


def all_rows(ablations: Any, model: str) -> Any:
    choice = ablations.Choice("tuned", encoders=["one", "two"])
    return ablations.read_page(model, choice)


@pytest.mark.parametrize("model", MODELS)
def test_rows_change_settings_that_exist(ablations: Any, model: str) -> None:
    path = ROOT / "configs" / f"{model}_minilm.cfg"
    base, *others = ablations.variants_of(all_rows(ablations, model), model, [0])
    assert base.name == ablations.BASE and others
    paths = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    require_settings(Plan(path, paths), others)
    unchanged = load_config(path, interpolate=True)
    for variant in (base, *others):
        config = load_config(
            path, overrides={**paths, **variant.overrides}, interpolate=True
        )
        load_model_from_config(config)  # checks the values
        registry.resolve(config["corpora"])
    nlp = load_model_from_config(unchanged)
    for changes in base.later.values():
        pipe: Any = nlp.get_pipe(f"span_{model}")
        assert set(changes) <= set(pipe.cfg)
        saved = dict(pipe.cfg)
        pipe.cfg.update(changes)
        _ = pipe.codec, pipe.settings  # check the values
        pipe.cfg.update(saved)


@pytest.mark.parametrize("model", MODELS)
def test_rows_of_all_tables_have_different_names(model: str) -> None:
    page = TABLES[model]
    names = [name for table in page["tables"] for name in table["rows"]]
    names += page["later"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("model", MODELS)
def test_results_of_the_papers_belong_to_known_columns_and_corpora(
    ablations: Any, model: str
) -> None:
    datasets = importlib.import_module("datasets")
    page = TABLES[model]
    later = page.get("later_corpora", page["base"]["corpora"])
    tables = [*page["tables"], {"corpora": later, "rows": page["later"]}]
    for table in tables:
        assert set(table.get("corpora", ())) <= set(datasets.DATASETS)
        for row in (*table["rows"].values(), page["base"]):
            for column, results in row.get("paper", {}).items():
                assert column in ablations.COLUMNS
                corpora = row.get("corpora") or table["corpora"]
                assert 0 < len(results) <= len(corpora)
                assert all(x is None or 0 < x < 100 for x in results)


def test_page_of_the_papers_names_tables_that_exist() -> None:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf8")
    sections = re.split(r"^## .*\(`span_(\w+)`\)$", page, flags=re.MULTILINE)[1:]
    found = dict(zip(sections[::2], sections[1::2]))
    assert set(found) == set(MODELS)
    for model, section in found.items():
        named = re.findall(r"--vars\.ablation_tables (\w+)", section)
        existing = [table["name"] for table in TABLES[model]["tables"]]
        assert set(named) == set(existing) - {"own"}
    sweeps = re.findall(r"configs/sweeps/\w+\.yml", page)
    assert sweeps and all((ROOT / path).exists() for path in sweeps)


def test_every_config_of_a_model_has_a_table() -> None:
    names = {
        path.name[: -len("_cnn.cfg")] for path in (ROOT / "configs").glob("*_cnn.cfg")
    }
    assert names - {"ensemble"} <= set(TABLES)


def test_rows_are_trained_with_every_seed(ablations: Any) -> None:
    choice = ablations.Choice(names=["lstm", "label_smoothing"])
    page = ablations.read_page("biaffine", choice)
    assert [table.title for table in page.tables] == [
        "Label smoothing instead of boundary smoothing",
        "Without the BiLSTM",
    ]
    variants = ablations.variants_of(page, "biaffine", [0, 1])
    assert len(variants) == 2 * (1 + 3 + 2)
    assert [v.overrides["system.seed"] for v in variants[:3]] == [0, 1, 0]
    assert [bool(v.later) for v in variants[:3]] == [True, True, False]


def test_tables_that_compare_encoders_have_rows_for_each(ablations: Any) -> None:
    choice = ablations.Choice(names=["encoders"], encoders=["one", "two"])
    (table,) = ablations.read_page("biaffine", choice).tables
    assert list(table.rows) == [
        "one, hard targets",
        "one, boundary smoothing",
        "two, hard targets",
        "two, boundary smoothing",
    ]
    assert table.rows["two, boundary smoothing"] == {ablations.ENCODER: "two"}
    assert ablations.read_page("biaffine", choice._replace(encoders=[])).tables == []


def test_tables_of_a_recipe_are_left_out_of_others(ablations: Any) -> None:
    names = ["type_inputs"]
    assert ablations.read_page("offset", ablations.Choice(names=names)).tables == []
    choice = ablations.Choice("paper", names=names)
    assert len(ablations.read_page("offset", choice).tables) == 1


def test_unknown_tables_are_a_message(ablations: Any) -> None:
    ablations.require_tables(["lstm"], ["biaffine", "offset"])
    with pytest.raises(SystemExit, match=r"No ablation table lstm.*offset: parts"):
        ablations.require_tables(["lstm"], ["offset"])


def test_rows_with_the_config_of_the_base_are_trained_once(
    ablations: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []

    def run(plan: Any, variants: Any, output: Any, **_: Any) -> Any:
        trained.extend(variant.name for variant in variants)
        return [{"name": v.name, "later": dict(v.later)} for v in variants]

    monkeypatch.setattr(ablations, "run_variants", run)
    page = ablations.read_page("biaffine", ablations.Choice(names=["smoothing"]))
    variants = ablations.variants_of(page, "biaffine", [0])
    plan = Plan(ROOT / "configs" / "biaffine_cnn.cfg", {})
    runs = ablations.train_rows(plan, variants, ROOT)
    assert [run["name"] for run in runs] == [variant.name for variant in variants]
    assert set(run["name"] for run in runs) - set(trained) == {"ε = 0.1, D = 1"}
    assert [bool(run["later"]) for run in runs] == [True] + [False] * 7


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

    rows: Dict[str, Any] = {"other": {}}
    table = ablations.Table("Rows", rows, {"other": {"F1": 93.5, "ECE": 1.0}})
    later = ablations.Table("Later", {"l": {}}, {})
    page = ablations.Page("Title", [table], later, {"F1": 95.0})
    base = ablations.BASE
    runs = [
        {"name": base, "scores": scores(0.5), "later": {"l": scores(0.25)}},
        {"name": base, "scores": scores(0.7), "later": {"l": scores(0.25)}},
        {"name": "other", "scores": scores(0.9), "later": {}},
    ]
    lines = ablations.render(page, "demo", runs, "Note.").splitlines()
    assert lines[0] == "# Title" and "## Rows" in lines and "## Later" in lines
    own = "60.0 ± 14.1 | "
    base_row = f"| {base} | {own * 2}60.0 ± 14.1 (95.0) | {own}" + "- | " * 4 + " |"
    assert lines.count(base_row) == 2
    row = "| other | 90.0 | 90.0 | 90.0 (93.5) | 90.0 | - | - | - | - (1.0) | +30.0 |"
    assert row in lines
    assert lines[-1] == "| l | " + "25.0 ± 0.0 | " * 4 + "- | " * 4 + "-35.0 |"
