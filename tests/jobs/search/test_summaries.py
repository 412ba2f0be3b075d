"""Means and tables over seeds, and the choice, by hand."""

from typing import Any, Dict, List, Optional

import pytest

from spacy_spanner.jobs.search.summaries import (
    Row,
    best_part,
    by_name,
    cells_of,
    choose,
    render,
    summarize,
    table_rows,
)

LATER = {"t = 1": {"t": 1}}


def result(name: str, f: Optional[float], seed: int = 0, **more: Any) -> Dict[str, Any]:
    scores = {"f": f, "p": 0.5, "ece": more.pop("ece", 0.1)}
    return {
        "name": name,
        "overrides": {"a": name, "system.seed": seed},
        "scores": {"dev": scores, "test": {"f": 1.0 - (f or 0.0)}},
        "later": {"t = 1": {"dev": {"f": more.pop("later", 0.0)}}},
        "seconds": 10.0,
        **more,
    }


def rows_of(results: List[Dict[str, Any]], n_seeds: int = 1) -> List[Row]:
    return table_rows(results, n_seeds, {})


def test_table_is_averaged_over_seeds_on_dev() -> None:
    results = [result("x", 0.5, 0, later=0.2), result("x", 0.7, 1, later=0.4)]
    rows = table_rows([*results, result("y", 0.9)], 2, LATER)
    assert [row.name for row in rows] == ["x", "x; t = 1", "y", "y; t = 1"]
    first, changed, single, _ = rows
    assert first.overrides == {"a": "x"} and first.later == {}
    assert first.scores["f"]["mean"] == pytest.approx(0.6)
    assert first.scores["f"]["sd"] == pytest.approx(0.1414, abs=1e-4)
    assert changed.scores["f"]["mean"] == pytest.approx(0.3)
    assert changed.variant == "x" and changed.later == {"t": 1}
    assert (first.n_seeds, first.is_complete, first.seconds) == (2, True, 20.0)
    assert (single.n_seeds, single.is_complete) == (1, False)
    assert single.scores["f"]["sd"] is None


def test_choice_is_the_best_mean_of_complete_rows() -> None:
    results = [
        result("lucky", 0.9, 0),
        result("lucky", 0.2, 1),
        result("good", 0.6, 0),
        result("good", 0.6, 1),
        result("half", 0.99, 0),
    ]
    best = choose(rows_of(results, 2), "f")
    assert best is not None and best.name == "good"


def test_choice_of_equals_is_the_first_and_of_errors_the_smallest() -> None:
    rows = rows_of([result("a", 0.5, ece=0.3), result("b", 0.5, ece=0.1)])
    best, calibrated = choose(rows, "f"), choose(rows, "ece")
    assert best is not None and best.name == "a"
    assert calibrated is not None and calibrated.name == "b"


def test_choice_may_be_a_change_after_training() -> None:
    rows = table_rows([result("a", 0.5, later=0.6)], 1, LATER)
    best = choose(rows, "f")
    assert best is not None and best.later == {"t": 1}


def test_nothing_is_chosen_from_nothing() -> None:
    assert choose([], "f") is None
    assert choose(rows_of([result("a", 0.5)], 2), "f") is None
    assert choose(rows_of([result("a", None)]), "f") is None


def test_stopped_trials_do_not_count() -> None:
    results = [result("a", 0.9, stopped=5), result("b", 0.1)]
    rows = rows_of(results)
    assert [row.name for row in rows] == ["b"]


def test_table_by_hand() -> None:
    rows = rows_of([result("x", 0.5, 0), result("x", 0.7, 1)], 2)
    best = choose(rows, "f")
    cells = ["x *", "2 of 2", "50.0 ± 0.0", "-", "60.0 ± 14.1", "-", "10.0 ± 0.0", "10"]
    assert cells_of(rows, best) == [cells]
    assert cells_of(rows, None)[0][0] == "x"
    lines = render("Title", rows, best).splitlines()
    assert lines[0] == "# Title"
    assert lines[-1] == f"| {' | '.join(cells)} |"


def run_of(f: Any, part: str = "test", name: str = "x") -> Dict[str, Any]:
    scores = {"p": f, "r": f, "f": f, "macro_f": f, "ece": None}
    return {"name": name, "scores": {"dev": {**scores, "f": 0.1}, part: scores}}


def test_summary_by_hand() -> None:
    found = summarize([run_of(0.5), run_of(0.7)])
    assert found["f"]["mean"] == pytest.approx(0.6)
    assert found["f"]["sd"] == pytest.approx(0.02**0.5)
    assert found["ece"] == {"mean": None, "sd": None}
    assert summarize([run_of(0.5)])["f"] == {"mean": 0.5, "sd": None}
    assert summarize([])["f"]["mean"] is None
    assert best_part(run_of(0.5, "dev"))["f"] == 0.5


def test_lengths_are_joined_by_hand() -> None:
    # Found 1 of 2 and 3 of 4 gold spans, 4 of 8 predicted are right: 2 · 4 / (6 + 8).
    one = {"p": 1.0, "r": 0.5, "gold": 2, "predicted": 1}
    four = {"p": 3 / 7, "r": 0.75, "gold": 4, "predicted": 7}
    long = {"p": 0.0, "r": None, "gold": 0, "predicted": 3}
    lengths = {"1": one, "4": four, "10+": long}
    found = best_part({"scores": {"dev": {"by_length": lengths}}})
    assert found["1-4"] == pytest.approx(8 / 14)
    assert found["5-9"] is None
    assert found["10+"] == 0.0


def test_groups_by_name() -> None:
    runs: List[Dict[str, Any]] = [run_of(1, name=name) for name in "aba"]
    sizes = {name: len(group) for name, group in by_name(runs).items()}
    assert sizes == {"a": 2, "b": 1}
