"""Files of settings say what is tried, and mistakes in them are told at once."""

import random
import re
from pathlib import Path
from typing import Any, Dict

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import load_config, load_model_from_config

from spacy_spanner.jobs.search.space import (
    BASE,
    Space,
    draw,
    make_space,
    read_space,
)
from spacy_spanner.jobs.search.trials import Plan, require_settings
from spacy_spanner.jobs.search.variants import SEED, Variant

CONFIGS = Path(__file__).parents[3] / "configs"
SHIPPED = sorted((CONFIGS / "sweeps").glob("*.yml"))


def test_points_stand_beside_the_grid() -> None:
    space = make_space(
        {
            "title": "t",
            "seeds": [3, 4],
            "grid": {"x.a": [1, 2]},
            "points": [{"x.b": 0}, {"x.a": 1}],
            "later": {"threshold": [0.1, 0.2]},
        }
    )
    assert space.points == [{"x.b": 0}, {"x.a": 1}, {"x.a": 2}]
    assert space.later == [{"threshold": 0.1}, {"threshold": 0.2}]
    variants = space.variants()
    assert [one.name for one in variants] == ["b = 0"] * 2 + ["a = 1"] * 2 + [
        "a = 2"
    ] * 2
    assert variants[1].overrides == {"x.b": 0, SEED: 4}
    assert dict(variants[0].later) == {
        "threshold = 0.1": {"threshold": 0.1},
        "threshold = 0.2": {"threshold": 0.2},
    }


@pytest.mark.parametrize(
    "raw, points",
    [
        ({}, [{}]),
        ({"later": {"threshold": [0.1]}}, [{}]),
        ({"points": [{"a": 1}]}, [{"a": 1}]),
        ({"random": {"a": [7]}, "draws": 3}, [{"a": 7}]),  # equal draws are one
    ],
)
def test_what_is_tried_without_a_grid(raw: Dict[str, Any], points: Any) -> None:
    space = make_space(raw)
    assert space.points == points
    assert space.seeds == [0]
    if points == [{}]:
        assert space.variants()[0].name == BASE


def test_draws_are_combined_with_the_grid_and_repeatable() -> None:
    raw = {
        "grid": {"g": [1, 2]},
        "random": {"r": {"low": 0.1, "high": 0.9}},
        "draws": 3,
    }
    points = make_space(raw).points
    assert len(points) == 6
    assert [point["g"] for point in points] == [1, 2] * 3
    assert len({point["r"] for point in points}) == 3
    assert make_space(raw).points == points
    assert make_space({**raw, "draw_seed": 1}).points != points


@given(
    st.floats(1e-6, 10),
    st.floats(1e-5, 10),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_draws_stay_in_their_range(
    low: float, width: float, log: bool, seed: int
) -> None:
    values = {"low": low, "high": low + width, "log": log}
    assert low <= draw(values, random.Random(seed)) <= low + width


@given(st.integers(1, 20), st.integers(1, 30), st.booleans(), st.integers(0, 10**6))
def test_whole_draws_are_whole(low: int, width: int, log: bool, seed: int) -> None:
    values = {"low": low, "high": low + width, "log": log, "whole": True}
    found = draw(values, random.Random(seed))
    assert isinstance(found, int) and low <= found <= low + width


def test_draws_by_logarithm_favour_no_order_of_magnitude() -> None:
    numbers = random.Random(0)
    values = {"low": 0.0001, "high": 1.0, "log": True}
    below = sum(draw(values, numbers) < 0.01 for _ in range(2000))
    assert 900 < below < 1100
    even = sum(draw({**values, "log": False}, numbers) < 0.01 for _ in range(2000))
    assert even < 60
    ends = [draw({"low": 1, "high": 3, "whole": True}, numbers) for _ in range(900)]
    assert all(240 < ends.count(value) < 360 for value in (1, 2, 3))


@pytest.mark.parametrize(
    "raw",
    [
        {"grids": {}},
        {"grid": {"a": []}},
        {"grid": {"a": 1}},
        {"grid": [1]},
        {"seeds": []},
        {"seeds": [0.5]},
        {"seeds": 3},
        {"random": {"a": {"low": 2, "high": 1}}, "draws": 1},
        {"random": {"a": {"low": 0, "high": 1, "log": True}}, "draws": 1},
        {"random": {"a": {"low": 0}}, "draws": 1},
        {"random": {"a": {"low": 0, "high": 1, "step": 1}}, "draws": 1},
        {"random": {"a": [1]}},
        {"draws": -1},
        {"points": {"a": 1}},
        {"later": {"threshold": 0.1}},
        {"title": 1},
    ],
)
def test_mistakes_in_a_sweep_are_told(raw: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\[SP137\]"):
        make_space(raw)


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yml"
    for content in ("- 1\n- 2\n", "a: [", ""):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"\[SP135\]"):
            read_space(path)
    srsly.write_json(tmp_path / "sweep.json", {"grid": {"a": [1]}})
    assert read_space(tmp_path / "sweep.json").points == [{"a": 1}]


def test_settings_must_exist() -> None:
    plan = Plan(CONFIGS / "biaffine_cnn.cfg", {})
    space = make_space({"grid": {"components.span_biaffine.epsilon": [0.1]}})
    with pytest.raises(ValueError, match=r"\[SP136\] .*epsilon.*span_biaffine.overlap"):
        require_settings(plan, space.variants())
    nowhere = [Variant("x", {"components.span_none.threshold": 0.1})]
    with pytest.raises(ValueError, match=r"\[SP136\] .*components.span_biaffine"):
        require_settings(plan, nowhere)
    require_settings(plan._replace(overrides={"training.max_steps": 3}), [])


def test_settings_that_a_config_leaves_to_their_defaults_exist(tmp_path: Path) -> None:
    config = load_config(CONFIGS / "biaffine_cnn.cfg")
    del config["components"]["span_biaffine"]["boundary_smoothing"]
    config.to_disk(tmp_path / "config.cfg")
    setting = "components.span_biaffine.boundary_smoothing"
    require_settings(Plan(tmp_path / "config.cfg", {}), [Variant("x", {setting: 0.1})])


def config_for(path: Path, space: Space) -> Path:
    """Find the config that a file of settings is meant for."""
    if path.stem.startswith("rates_"):
        return CONFIGS / f"biaffine_{path.stem[len('rates_') :]}.cfg"
    stem = "biaffine" if path.stem == "seeds" else path.stem
    return CONFIGS / f"{stem}_cnn.cfg"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_sweeps_name_settings_and_values_that_exist(path: Path) -> None:
    space = read_space(path)
    assert space.title
    config = config_for(path, space)
    require_settings(Plan(config, {}), space.variants())
    for point in space.points:
        block = load_config(config, overrides=point, interpolate=True)
        if "minilm" in config.stem:
            continue
        nlp = load_model_from_config(block)  # checks the values
        pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
        for changes in space.later:
            assert set(changes) <= set(pipe.cfg)
            pipe.cfg.update(changes)
            _ = pipe.codec, pipe.settings  # check the values


def test_grids_of_the_papers_ship() -> None:
    assert {path.stem for path in SHIPPED} >= {
        "biaffine",
        "diffusion",
        "locate_label",
        "offset",
        "rates_cnn",
        "rates_minilm",
        "seeds",
    }
    sizes = {path.stem: len(read_space(path).variants()) for path in SHIPPED}
    assert sizes["biaffine"] == 3 * (3 * 2 + 1)
    assert sizes["locate_label"] == 3 * 3
    assert len(read_space(CONFIGS / "sweeps/locate_label.yml").later) == 16


def test_documented_sweep_is_one() -> None:
    text = (CONFIGS.parent / "docs" / "training.md").read_text(encoding="utf8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    space = make_space(srsly.yaml_loads(block))
    assert len(space.points) == 1 + 8 * 6 and len(space.later) == 3
    require_settings(Plan(CONFIGS / "biaffine_cnn.cfg", {}), space.variants())
