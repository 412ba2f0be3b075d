"""The settings that a search tries: files with grids, random draws and points.

    title: "span_biaffine: boundary smoothing"
    seeds: [0, 1, 2]
    grid: {components.span_biaffine.smoothing_distance: [1, 2]}
    random: {training.optimizer.learn_rate: {low: 0.0001, high: 0.01, log: true}}
    draws: 10
    points: [{components.span_biaffine.boundary_smoothing: 0.0}]
    later: {threshold: [0.2, 0.3, 0.4]}

Names are those of the config, as on the command line. The grid is combined with each
draw; `points` are tried in addition. Settings under `later` are those of the component,
changed after training: every trained model is scored with all their combinations.
"""

import math
import random
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple

import srsly

from ...errors import Errors
from ...settings import Rule, at_least, is_number, one_of
from .variants import Variant, describe, grid, with_seeds


class Space(NamedTuple):
    """The settings that a search tries.

    title (str): of the table.
    points (List[Dict[str, Any]]): settings of the config, by dotted name.
    seeds (List[int]): every point is trained with each.
    later (List[Dict[str, Any]]): settings of the component, changed after training.
    """

    title: str
    points: List[Dict[str, Any]]
    seeds: List[int]
    later: List[Dict[str, Any]]

    def variants(self) -> List[Variant]:
        """RETURNS (List[Variant]): one training for each point and seed."""
        later = {describe(changes): changes for changes in self.later}
        one_each = [Variant(describe(p) or BASE, p, later) for p in self.points]
        return with_seeds(one_each, self.seeds)


BASE = "as configured"
DEFAULTS: Dict[str, Any] = {
    "title": "",
    "seeds": [0],
    "grid": {},
    "random": {},
    "draws": 0,
    "draw_seed": 0,
    "points": [],
    "later": {},
}
RANGE = {"low": None, "high": None, "log": False, "whole": False}


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_range(value: Any) -> bool:
    if _is_values(value):
        return True
    if not isinstance(value, dict) or not set(value) <= set(RANGE):
        return False
    low: Any = value.get("low")
    high: Any = value.get("high")
    ordered = is_number(low) and is_number(high) and low < high
    return ordered and (low > 0 or not value.get("log", False))


def _each(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(accepts, value.values()))


RULES = {
    "title": Rule("a string", lambda value: isinstance(value, str)),
    "seeds": Rule(
        "a list of integers",
        lambda value: _is_values(value) and all(type(seed) is int for seed in value),
    ),
    "grid": Rule("a list of values for each setting", _each(_is_values)),
    "random": Rule(
        "a list of values for each setting, or low and high (above 0 with log: true)",
        _each(_is_range),
    ),
    "draws": at_least(0),
    "draw_seed": at_least(0),
    "points": Rule(
        "a list of mappings of settings to values",
        lambda value: (
            isinstance(value, list) and all(isinstance(point, dict) for point in value)
        ),
    ),
    "later": Rule("a list of values for each setting", _each(_is_values)),
}


def read_space(path: Path) -> Space:
    """Read a YAML or JSON file of settings to try.

    RAISES (ValueError): SP135 for a file that cannot be read, SP137 for a part that is
        not what it must be.
    """
    try:
        raw = srsly.read_yaml(path) if path.suffix != ".json" else srsly.read_json(path)
    except (OSError, ValueError) as error:
        raise ValueError(Errors.SP135.format(path=path, problem=error)) from error
    if not isinstance(raw, dict):
        raise ValueError(Errors.SP135.format(path=path, problem="it is not a mapping"))
    return make_space(raw)


def make_space(raw: Dict[str, Any]) -> Space:
    """RETURNS (Space): the settings to try; see `read_space`."""
    for name in raw:
        _require("each name", one_of(tuple(DEFAULTS)), name)
    parts = {**DEFAULTS, **raw}
    for name, rule in RULES.items():
        _require(name, rule, parts[name])
    if parts["random"]:
        _require("draws", at_least(1), parts["draws"])
    numbers = random.Random(parts["draw_seed"])
    draws = [
        {name: draw(values, numbers) for name, values in parts["random"].items()}
        for _ in range(parts["draws"] if parts["random"] else 1)
    ]
    combined = [{**drawn, **point} for drawn in draws for point in grid(parts["grid"])]
    if not (parts["grid"] or parts["random"]) and parts["points"]:
        combined = []  # a list of points says all
    points = [*parts["points"], *combined]
    distinct = [point for i, point in enumerate(points) if point not in points[:i]]
    later = grid(parts["later"]) if parts["later"] else []
    return Space(parts["title"], distinct, parts["seeds"], later)


def _require(name: str, rule: Rule, value: Any) -> None:
    if not rule.accepts(value):
        message = Errors.SP137.format(name=name, expected=rule.expected, value=value)
        raise ValueError(message)


def draw(values: Any, numbers: random.Random) -> Any:
    """Draw one of a list of values, or a number of four digits.

    values (Any): a list; or `low` and `high`, with `log` for equal chances of equal
        ratios, and `whole` for whole numbers, both ends included.
    """
    if isinstance(values, list):
        return numbers.choice(values)
    chosen = {**RANGE, **values}
    low, high = chosen["low"], chosen["high"]
    if chosen["whole"]:
        low, high = low - 0.5, high + 0.5
    if chosen["log"]:
        low = max(low, math.nextafter(0.0, 1.0))
        found = math.exp(numbers.uniform(math.log(low), math.log(high)))
    else:
        found = numbers.uniform(low, high)
    if chosen["whole"]:
        return min(max(round(found), chosen["low"]), chosen["high"])
    return min(max(float(f"{found:.4g}"), chosen["low"]), chosen["high"])
