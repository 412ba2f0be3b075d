"""Variants of a config: combined values, names, seeds and sizes."""

from typing import Any, Dict

import pytest

from spacy_spanner.jobs.search.variants import (
    SEED,
    Variant,
    describe,
    grid,
    seed_variants,
    size_variants,
    with_seeds,
)


def test_grid_combines_all_values() -> None:
    assert grid({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]
    assert grid({}) == [{}]


@pytest.mark.parametrize(
    "settings, text",
    [
        ({}, ""),
        ({"a.b.c": 1}, "c = 1"),
        ({"a.b.rate": 1, "a.c.rate": 2}, "b.rate = 1, c.rate = 2"),
        ({"rate": 1, "a.rate": 2}, "rate = 1, a.rate = 2"),
        ({"rate": 0.30000000000000004}, "rate = 0.3"),
    ],
)
def test_settings_in_words(settings: Dict[str, Any], text: str) -> None:
    assert describe(settings) == text


def test_every_variant_is_trained_with_every_seed() -> None:
    variants = [Variant("one", {"a": 1}), Variant("two", {"a": 2, SEED: 9})]
    assert with_seeds(variants, [0, 5]) == [
        Variant("one", {"a": 1, SEED: 0}),
        Variant("one", {"a": 1, SEED: 5}),
        Variant("two", {"a": 2, SEED: 0}),
        Variant("two", {"a": 2, SEED: 5}),
    ]


def test_variants_of_seeds_and_sizes() -> None:
    assert seed_variants([3])[0][:2] == ("seed 3", {"system.seed": 3})
    sizes = size_variants(16, [0, 1])
    limits = [variant.overrides["corpora.train.limit"] for variant in sizes]
    assert limits == [2, 2, 4, 4, 8, 8, 12, 12, 16, 16]
    assert [variant.name for variant in sizes][::4] == ["12.5%", "50.0%", "100.0%"]
    lines = size_variants(16, [0], ("a.b", [1, 2]))
    assert [lines[0].name, lines[5].name] == ["12.5%, b = 1", "12.5%, b = 2"]
    assert lines[5].overrides == {"corpora.train.limit": 2, "a.b": 2, "system.seed": 0}
    assert size_variants(1, [0])[0].overrides["corpora.train.limit"] == 1
