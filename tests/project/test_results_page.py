"""The page of benchmark results shows what the JSON files say, and the targets."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MACHINE = {"date": "2026-01-01", "load": 0.5, "threads": 1}


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("results_page")


def speed_row(system: str, training: float, prediction: float) -> Dict[str, Any]:
    row: Dict[str, Any] = {"system": system}
    for kind, value in (("training", training), ("prediction", prediction)):
        row |= {kind: 1000 * value, f"{kind}_ratio": value}
        row[f"{kind}_to_encoder"] = value
    return row


def part(rows: List[Dict[str, Any]], load: float = 0.5, **setup: Any) -> Dict[str, Any]:
    machine = {**MACHINE, "load": load}
    return {"machine": machine, "setup": setup, "results": rows}


def speed_part(encoder: str, *rows: Dict[str, Any]) -> Dict[str, Any]:
    setup = {"texts": "sentences", "batch_size": 8, "pipe_batch_size": 256}
    return part(list(rows), encoder=encoder, **setup)


def lines_of(text: str, *words: str) -> List[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


def test_page_tells_which_targets_are_met(page: ModuleType) -> None:
    parts = {
        "speed_minilm_sentences_8": speed_part(
            "minilm",
            speed_row("encoder", 1.0, 1.0),
            speed_row("span_biaffine", 0.79, 0.85),
            speed_row("span_diffusion", 0.6, 0.39),
        )
    }
    text = page.make_page(parts, {}, quick=False)
    (line,) = lines_of(text, "prediction speed", "`span_biaffine`")
    assert line.endswith("| 0.85 | ≥ 0.85 | yes |")
    (line,) = lines_of(text, "training speed", "`span_biaffine`")
    assert line.endswith("| 0.79 | ≥ 0.8 | **no** |")
    (line,) = lines_of(text, "prediction speed", "`span_diffusion`")
    assert line.endswith("**no** |")
    assert lines_of(text, "| span_biaffine |", "790", "0.79", "850", "0.85")
    assert "smoke test" not in text
    assert "smoke test" in page.make_page(parts, {}, quick=True)


def test_page_compares_models_with_spancat_by_their_speed(page: ModuleType) -> None:
    rows = [speed_row("span_offset", 0.3, 0.2), speed_row("spancat", 0.2, 0.25)]
    parts = {"speed_cnn_sentences_8": speed_part("cnn", *rows)}
    text = page.make_page(parts, {}, quick=False)
    assert lines_of(text, "training speed relative to spancat", "| 1.50 |", "yes")
    assert lines_of(text, "prediction speed relative to spancat", "| 0.80 |", "**no**")
    assert not lines_of(text, "`spancat`", "≥")


def test_page_limits_memory_of_the_longest_document_only(page: ModuleType) -> None:
    about = {"system": "span_offset", "labels": 4, "training_mb": 600.0}
    about.update(loaded_mb=450.0, seconds=1.0)
    rows = [
        {**about, "tokens": 5_000, "memory_mb": 90.0},
        {**about, "tokens": 100_000, "memory_mb": 1501.0},
    ]
    text = page.make_page({"memory_cnn": part(rows, encoder="cnn")}, {}, quick=False)
    (line,) = lines_of(text, "CNN: memory for 100,000 tokens", "`span_offset`")
    assert line.endswith("| 1,501.00 | ≤ 1,500 | **no** |")
    assert lines_of(text, "| span_offset | 4 | 600 | 450 | 90 | 1,501 |")


def test_page_shows_where_parts_differ_in_their_machine(page: ModuleType) -> None:
    row = {"system": "encoder", "ms": 1.0, "to_encoder": 1.0}
    parts = {
        f"latency_{encoder}": part([row], load, encoder=encoder, tokens=25)
        for encoder, load in (("cnn", 0.1), ("minilm", 2.5))
    }
    text = page.make_page(parts, {}, quick=False)
    assert "| load | 0.1 to 2.5 |" in text
    assert "| threads | 1 |" in text


def test_page_limits_memory_of_the_largest_training_with_minilm(
    page: ModuleType, tmp_path: Path
) -> None:
    row = {"model": "span_offset", "seed": 0, "p": 0.5, "r": 0.25, "f": 0.333}
    row |= {"nested_f": None, "ece": 0.1, "seconds": 7.0, "memory_mb": 2_400.0}
    rows = [row, {**row, "memory_mb": 2_501.0}, {**row, "model": "spancat"}]
    accuracy = {
        encoder: part(rows[: 1 + 2 * (encoder == "minilm")], encoder=encoder)
        for encoder in ("cnn", "minilm")
    }
    text = page.make_page({}, accuracy, quick=False)
    (line,) = lines_of(text, "MiniLM: peak memory of a training run")
    assert line.endswith("| `span_offset` | 2,501.00 | ≤ 2,500 | **no** |")


def test_page_takes_accuracy_with_and_without_a_setup(
    page: ModuleType, tmp_path: Path
) -> None:
    row = {"model": "span_offset", "seed": 0, "p": 0.5, "r": 0.25, "f": 0.333}
    row |= {"nested_f": None, "ece": 0.1, "seconds": 7.0, "memory_mb": 900.0}
    old = {"machine": MACHINE, "results": [row]}
    new = part([row], encoder="cnn", epochs=3)
    new["settings"] = ["boundary_smoothing=0"]
    for name, content in (("old", old), ("new", new)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf8")
    text = page.make_page({}, page.read_parts(tmp_path), quick=False)
    assert lines_of(text, "| span_offset | old | - | - | 0 | 50.0 | 25.0 | 33.3 |")
    assert lines_of(text, "| span_offset | cnn | 3 | boundary_smoothing=0 | 0 |")


def test_page_of_nothing_has_no_tables(page: ModuleType) -> None:
    assert "|" not in page.make_page({}, page.read_parts(None), quick=False)


def test_page_has_a_target_for_growth_and_start(page: ModuleType) -> None:
    growth = {"system": "span_diffusion", "documents": 50_000, "growth_mb": 30.0}
    growth.update(early_mb=500.0, last_mb=530.0)
    start = {"system": "span_diffusion", "spacy": 1.0, "package": 0.2}
    start.update(blank=2.0, add_pipe=1.2)
    parts = {"growth": part([growth]), "startup": part([start])}
    text = page.make_page(parts, {}, quick=False)
    assert lines_of(text, "growth over 50,000 documents", "| 30.00 | ≤ 20 | **no** |")
    assert lines_of(text, "import time", "| 0.20 | ≤ 0.3 | yes |")
    assert lines_of(text, "time of add_pipe", "| 1.20 | ≤ 1 | **no** |")
