"""The panel trains what is missing, chooses on dev alone, shows what was measured."""

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List

import pytest
import spacy
from spacy.tokens import Doc, Span

from .in_process import run_script

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
BUDGET = {"epochs": 2, "min_steps": 6, "batch_size": 2, "looks": 3, "max_sentences": 0}
WNUT = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
SENTENCE = "Ann\tB-person\nleft\tO\nRome\tB-location\n\n"
OWN = ("panel", "panel_page", "panel_runs", "corpora", "common", "datasets")


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Benchmarks and scripts can be imported in a test, and in no other."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in OWN:
        sys.modules.pop(name, None)


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def make_run(**changes: Any) -> Any:
    runs = load("panel_runs")
    budget = runs.Budget(**{**BUDGET, **changes.pop("budget", {})})
    about = {"corpus": "wnut17", "encoder": "cnn", "share": 100, "seed": 0}
    return runs.Run(**{**about, "system": "span_biaffine", **changes}, budget=budget)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "wnut17").mkdir(parents=True)
    for name in WNUT:
        (folder / "wnut17" / name).write_text(20 * SENTENCE, encoding="utf8")
    return folder


def make_docs(n_docs: int) -> List[Doc]:
    vocab = spacy.blank("en").vocab
    docs = []
    for number in range(n_docs):
        doc = Doc(vocab, words=["Ann", "left", str(number)])
        doc.spans["ents"] = [Span(doc, 0, 1, label="PER")]
        docs.append(doc)
    return docs


# ----------------------------------------------------------------- what is trained


def test_a_restart_trains_what_is_missing(tmp_path: Path) -> None:
    panel, trained = load("panel"), []
    paths = {tmp_path / f"{seed}.json": make_run(seed=seed) for seed in range(3)}

    def train(run: Any) -> Dict[str, Any]:
        if run.seed == 1 and not trained.count(2):
            raise ValueError("interrupted")
        trained.append(run.seed)
        return {"seed": run.seed, "scores": {"f": 0.5}, "seconds": 1.0}

    assert panel.run_missing(paths, train) == [tmp_path / "1.json"]
    missing = {path: run for path, run in paths.items() if not path.exists()}
    assert panel.run_missing(missing, train) == []
    assert trained == [0, 2, 1]
    assert json.loads((tmp_path / "1.json").read_text("utf8"))["seed"] == 1


def test_results_belong_to_the_setting_that_made_them(data: Path) -> None:
    changes: List[Dict[str, Any]] = [
        {},
        {"seed": 1},
        {"share": 5},
        {"corpus": "demo"},
        {"system": "span_biaffine threshold=0.5"},
        {"budget": {"epochs": 3}},
    ]
    paths = [make_run(**change).path(data, data) for change in changes]
    assert len(set(paths)) == len(paths)
    assert make_run().path(data, data) == paths[0]
    (data / "wnut17" / WNUT[0]).write_text(SENTENCE, encoding="utf8")
    load("panel_runs").corpus_digest.cache_clear()
    assert make_run().path(data, data) != paths[0]


def test_results_of_other_defaults_do_not_count(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = load("panel_runs")
    before = make_run().path(data, data)
    defaults = {**runs.default_config("span_biaffine"), "threshold": 0.123}
    monkeypatch.setattr(runs, "default_config", lambda factory: defaults)
    assert make_run().path(data, data) != before


def test_ner_needs_flat_corpora_and_minilm_english() -> None:
    panel = load("panel")
    chosen = panel.select(
        *("wnut17,genia,weibo", "cnn,minilm", "100", "span_offset,ner", "0"),
        **BUDGET,
        minilm_epochs=1,
    )
    found = [(run.corpus, run.encoder, run.system) for run in chosen]
    assert found == [
        ("wnut17", "cnn", "span_offset"),
        ("wnut17", "cnn", "ner"),
        ("genia", "cnn", "span_offset"),
        ("weibo", "cnn", "span_offset"),
        ("weibo", "cnn", "ner"),
        ("wnut17", "minilm", "span_offset"),
        ("wnut17", "minilm", "ner"),
        ("genia", "minilm", "span_offset"),
    ]


def test_samples_differ_by_seed_and_keep_the_order() -> None:
    draw = load("corpora").draw
    samples = [draw(list(range(100)), 5, seed=seed) for seed in (0, 0, 1)]
    assert samples[0] == samples[1] == sorted(samples[0])
    assert samples[0] != samples[2]
    assert draw([1, 2], 5, seed=0) == [1, 2]


def test_small_data_get_a_minimum_of_updates() -> None:
    budget = make_run().budget
    assert [budget.n_steps(n) for n in (2, 5, 6, 100)] == [6, 6, 6, 100]


def test_the_pipeline_is_chosen_on_dev(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, common = load("panel_runs"), load("common")
    train, dev = (common.to_examples(make_docs(n)) for n in (4, 2))
    scores, seen = iter([0.2, 0.9, 0.5]), []

    def score(nlp: Any, examples: Any, key: str) -> Dict[str, float]:
        assert examples is dev
        seen.append(nlp.get_pipe("span_biaffine").to_bytes())
        return {"f": next(scores)}

    monkeypatch.setattr(runs, "scores_of", score)
    nlp = common.build_pipeline("span_biaffine", "cnn")
    chosen = runs.train_best(nlp, train, dev, make_run())
    assert chosen == {"step": 4, "steps": 6, "f": 0.9}
    assert nlp.get_pipe("span_biaffine").to_bytes() == seen[1]
    assert len(set(seen)) == 3


def test_a_system_that_finds_nothing_is_not_tuned(data: Path) -> None:
    run = make_run(system="span_biaffine threshold=1.0")
    result = load("panel_runs").train_and_test(run, data)
    assert result["chosen"]["f"] == 0.0
    assert result["tuned"] == result["scores"]


def test_ner_learns_and_predicts_the_scored_group() -> None:
    common = load("common")
    docs = make_docs(8)
    for doc in docs:
        doc.set_ents(list(doc.spans["ents"]))
    nlp = common.build_pipeline("ner", "cnn")
    common.train_from_start(
        nlp, common.to_examples(docs), encoder="cnn", epochs=20, decay=False
    )
    doc = nlp(Doc(nlp.vocab, words=["Ann", "left", "3"]))
    assert [(span.text, span.label_) for span in doc.spans["ents"]] == [("Ann", "PER")]


@pytest.mark.slow
def test_panel_trains_once_and_writes_the_page(data: Path, tmp_path: Path) -> None:
    words: List[object] = [data]
    words += ["--corpora", "wnut17", "--encoders", "cnn", "--shares", "50,100"]
    words += ["--systems", "span_biaffine,ner", "--seeds", 0, "--epochs", 8]
    words += ["--min-steps", 10, "--results", tmp_path / "runs", "--looks", 2]
    words += ["--max-sentences", 16, "--output", tmp_path / "page.md"]

    def run(*more: object) -> str:
        done = run_script(BENCHMARKS / "panel.py", *words, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("--list").count("missing") == 4
    assert run("--limit", 1).endswith("1 of 4 runs are done\n")
    assert "3 of 4 runs of this selection are missing" in page_of(tmp_path)
    assert run("--list").count("done") == 1
    assert run().endswith("4 of 4 runs are done\n")
    assert "F1" not in run()  # nothing is trained again
    results = [json.loads(p.read_text("utf8")) for p in (tmp_path / "runs").iterdir()]
    assert sorted(each["sentences"]["train"] for each in results) == [8, 8, 16, 16]
    assert {each["sentences"]["dev"] for each in results} == {16}
    assert {each["sentences"]["test"] for each in results} == {20}
    assert all(0 <= each["scores"]["f"] <= 1 for each in results)
    assert all(each["tuned"] is None for each in results if each["system"] == "ner")
    page = page_of(tmp_path)
    assert "panel.py DATA --corpora wnut17" in page
    assert str(tmp_path) not in page
    assert "missing" not in page


def page_of(folder: Path) -> str:
    return (folder / "page.md").read_text(encoding="utf8")


# ----------------------------------------------------------------- the page


def result(corpus: str, system: str, f: float, **more: Any) -> Dict[str, Any]:
    about = {"corpus": corpus, "encoder": "cnn", "share": 100, "seed": 0}
    cost = {"seconds": 60.0, "memory_mb": 500.0}
    chosen = {"f": 0.5, "step": 4, "steps": 6}
    sentences = {"train": 1_000, "dev": 200, "test": 300}
    scores = {"p": f, "r": f, "f": f, "nested_f": None, "ece": None}
    shown = {"machine": {"date": "2026-01-01", "load": 0.5}, "system": system}
    shown |= {"scores": scores, "chosen": chosen, "sentences": sentences}
    return {**about, **cost, **shown, **more}


def make_page(*results: Dict[str, Any], n_missing: int = 0) -> str:
    about = {"command": "python panel.py", "budget": "6 epochs", "looks": 3}
    return load("panel_page").make_page(results, n_missing=n_missing, **about)


def cells(page: str, start: str) -> List[str]:
    """RETURNS (List[str]): the other cells of the first line that starts so."""
    (line, *_) = [x for x in page.splitlines() if x.startswith(f"| {start} |")]
    return re.split(r" \| ", line[2:-2])[1:]


def test_page_shows_means_deviations_and_the_best() -> None:
    page = make_page(
        result("wnut17", "span_offset", 0.5),
        result("wnut17", "span_offset", 0.6, seed=1),
        result("wnut17", "spancat", 0.4),
        n_missing=1,
    )
    assert "CNN and 100 % of the training sentences, seeds: 0, 1" in page
    table = page[page.index("## F1 with") :]
    assert cells(table, "wnut17") == ["**55.0 ± 7.1**", "40.0"]
    assert "1 of 4 runs of this selection are missing" in page
    assert "python panel.py" in page


def test_page_ranks_ner_on_flat_corpora_only() -> None:
    page = make_page(
        result("genia", "span_offset", 0.6),
        result("genia", "spancat", 0.4),
        result("wnut17", "span_offset", 0.4),
        result("wnut17", "spancat", 0.3),
        result("wnut17", "ner", 0.5),
        result("weibo", "span_offset", 0.9),  # the others are not finished
    )
    assert cells(page, "mean over corpora (2)") == ["50.0", "35.0", "-"]
    assert cells(page, "mean rank over corpora (2)") == ["1.0", "2.0", "-"]
    assert cells(page, "mean over flat corpora (1)") == ["40.0", "30.0", "50.0"]
    assert cells(page, "mean rank over flat corpora (1)") == ["2.0", "3.0", "1.0"]
    assert "0 of" not in page


def test_page_compares_means_of_the_same_seeds_only() -> None:
    page = make_page(
        result("wnut17", "span_offset", 0.4),
        result("wnut17", "spancat", 0.2),
        result("weibo", "span_offset", 0.6),
        result("weibo", "span_offset", 0.9, seed=1),
        result("weibo", "spancat", 0.6),
    )
    assert cells(page, "mean over corpora (1)") == ["40.0", "20.0"]


def test_page_separates_encoders_and_shares() -> None:
    page = make_page(
        result("wnut17", "span_offset", 0.4),
        result("wnut17", "span_offset", 0.3, share=5),
        result("wnut17", "span_offset", 0.6, encoder="minilm"),
    )
    titles = [line for line in page.splitlines() if line.startswith("## F1")]
    assert [title.split(" of the")[0] for title in titles] == [
        "## F1 with CNN and 100 %",
        "## F1 with CNN and 5 %",
        "## F1 with MiniLM and 100 %",
    ]
    assert [line for line in page.splitlines() if "| MiniLM | 100 % |" in line]


def test_page_has_scores_of_nested_entities_where_there_are_some() -> None:
    pages = []
    for corpus in ("genia", "wnut17"):
        run = result(corpus, "span_offset", 0.5)
        run["scores"]["nested_f"] = 0.25
        pages.append(make_page(run))
    assert ["25.0" in page for page in pages] == [True, False]


def test_page_shows_scores_after_tuning_where_there_are_some() -> None:
    tuned = {"f": 0.55, "ece": 0.03}
    page = make_page(
        result("wnut17", "span_offset", 0.5, tuned=tuned),
        result("wnut17", "ner", 0.4, tuned=None),
    )
    table = page[page.index("## All scores") :]
    header = cells(table, "corpus")
    found = dict(zip(header, cells(table, "wnut17")))
    assert [found["F1 tuned"], found["ECE tuned"]] == ["55.0", "3.0"]
    (line,) = [line for line in table.splitlines() if "`ner`" in line]
    assert re.split(r" \| ", line)[1 + header.index("F1 tuned")] == "-"


def test_page_of_nothing_has_no_tables() -> None:
    assert "|" not in make_page(n_missing=3)


# ----------------------------------------------------------------- the recommendation


def test_the_recommended_model_is_the_same_everywhere() -> None:
    from spacy_spanner.cli.preflight import init_config_cli

    pages = {
        name: (ROOT / name).read_text(encoding="utf8")
        for name in ("README.md", "docs/index.md")
    }
    recommended = re.findall(r'nlp\.add_pipe\("(\w+)"\)', pages["README.md"])[:1]
    for name, page in pages.items():
        table = page[page.index("| factory | choose it for |") :]
        first = re.findall(r"^\| `(\w+)` \|.*getting started", table, re.MULTILINE)
        assert first == recommended, name
        assert first == re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)[:1], name
    config = recommended[0].removeprefix("span_")
    components = (ROOT / "docs" / "components.md").read_text(encoding="utf8")
    assert f"spacy train configs/{config}_cnn.cfg" in components
    started = (ROOT / "docs" / "get_started.md").read_text(encoding="utf8")
    assert f"The config trains `{recommended[0]}`" in started
    option = inspect.signature(init_config_cli).parameters["model"].default
    assert option.default == recommended[0]
    models = (ROOT / "docs" / "models.md").read_text(encoding="utf8")
    assert f"Start with `{recommended[0]}`" in models
