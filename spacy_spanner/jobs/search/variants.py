"""Variants of a training: the same config with some settings that differ."""

from itertools import product
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...evaluation.tables import readable

SEED, LIMIT = "system.seed", "corpora.train.limit"
FRACTIONS = (0.125, 0.25, 0.5, 0.75, 1.0)


class Variant(NamedTuple):
    """One training among several.

    name (str): its name in tables and figures; all seeds of a variant share it.
    overrides (Dict[str, Any]): settings of the config that differ, by dotted name.
    later (Mapping[str, Dict[str, Any]]): changes of the component's settings after
        training, by name: the trained model is scored with each too.
    """

    name: str
    overrides: Dict[str, Any]
    later: Mapping[str, Dict[str, Any]] = MappingProxyType({})


def grid(axes: Mapping[str, Sequence[Any]]) -> List[Dict[str, Any]]:
    """Combine all values of several settings; the last setting changes fastest.

    RETURNS (List[Dict[str, Any]]): a value for each setting; without any, one of none.
    """
    return [dict(zip(axes, values)) for values in product(*axes.values())]


def describe(settings: Mapping[str, Any]) -> str:
    """RETURNS (str): settings and values in words, with as much of the end of each name
    as makes them distinct.
    """
    names = {name: name.split(".") for name in settings}
    size = 1
    while len({tuple(parts[-size:]) for parts in names.values()}) < len(names):
        size += 1
    short = {name: ".".join(parts[-size:]) for name, parts in names.items()}
    shown = readable(dict(settings))
    return ", ".join(f"{short[name]} = {value}" for name, value in shown.items())


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


def seed_variants(seeds: Sequence[int]) -> List[Variant]:
    """RETURNS (List[Variant]): one training for each seed."""
    return [Variant(f"seed {seed}", {SEED: seed}) for seed in seeds]


def size_variants(
    n_docs: int,
    seeds: Sequence[int],
    axis: Optional[Tuple[str, Sequence[Any]]] = None,
    fractions: Sequence[float] = FRACTIONS,
) -> List[Variant]:
    """RETURNS (List[Variant]): one training for each seed, value of the setting, and
    share of the documents, the first ones of all `n_docs`.

    axis (Optional[Tuple[str, Sequence[Any]]]): a setting and its values.
    """
    limits = {f"{x:.1%}": max(1, round(x * n_docs)) for x in fractions}
    sizes = [Variant(name, {LIMIT: limit}) for name, limit in limits.items()]
    if axis is not None:
        sizes = [
            Variant(f"{size.name}, {one.name}", {**size.overrides, **one.overrides})
            for one in sweep(*axis)
            for size in sizes
        ]
    return with_seeds(sizes, seeds)
