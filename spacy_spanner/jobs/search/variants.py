"""Variants of a training: the same config with some settings that differ."""

from itertools import product
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

SEED = "system.seed"


class Variant(NamedTuple):
    """One training among several.

    name (str): how it is called in tables and figures; seeds of one variant share it.
    overrides (Dict[str, Any]): settings of the config that differ, by dotted name.
    later (Mapping[str, Dict[str, Any]]): changes of the component's settings after
        training, by name: the trained model is scored with each too.
    """

    name: str
    overrides: Dict[str, Any]
    later: Mapping[str, Dict[str, Any]] = MappingProxyType({})


def grid(axes: Mapping[str, Sequence[Any]]) -> List[Dict[str, Any]]:
    """Combine all values of several settings.

    axes (Mapping[str, Sequence[Any]]): values by setting.
    RETURNS (List[Dict[str, Any]]): a value for each setting; the last setting changes
        fastest. Without axes, one combination of nothing.
    """
    return [dict(zip(axes, values)) for values in product(*axes.values())]


def describe(settings: Mapping[str, Any]) -> str:
    """RETURNS (str): settings and values in words, by as much of the end of each name
    as tells them apart.
    """
    names = {name: name.split(".") for name in settings}
    size = 1
    while len({tuple(parts[-size:]) for parts in names.values()}) < len(names):
        size += 1
    short = {name: ".".join(parts[-size:]) for name, parts in names.items()}
    return ", ".join(f"{short[name]} = {value}" for name, value in settings.items())


def sweep(setting: str, values: Sequence[Any]) -> List[Variant]:
    """RETURNS (List[Variant]): one for each value of a setting."""
    return [Variant(describe(point), point) for point in grid({setting: values})]


def with_seeds(variants: Sequence[Variant], seeds: Sequence[int]) -> List[Variant]:
    """RETURNS (List[Variant]): every variant with each seed, one after the other."""
    return [
        variant._replace(overrides={**variant.overrides, SEED: seed})
        for variant in variants
        for seed in seeds
    ]
