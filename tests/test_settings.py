"""Rules of settings, and the settings that all components share."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, List, Optional, get_type_hints

import numpy as np
import pytest

from spacy_spanner.settings import (
    Rule,
    Settings,
    SpanSettings,
    at_least,
    defaults_of,
    describe,
    documented,
    expand,
    fraction,
    multiple_of,
    not_negative,
    one_of,
    optional,
    probabilities,
    probability,
    setting,
    text,
    whole_numbers,
)

NAN = float("nan")

ACCEPTED = [
    (fraction, 0),
    (fraction, 0.0),
    (fraction, 0.999),
    (probability, 0),
    (probability, 1),
    (probability, 0.5),
    (probability, np.float64(0.5)),
    (not_negative, 0),
    (not_negative, 2.5),
    (whole_numbers, [1]),
    (whole_numbers, [3, 1, 2]),
    (probabilities, {}),
    (probabilities, {"PER": 0.0, "ORG": 1}),
    (text, "ents"),
    (at_least(2), 2),
    (at_least(2), 3),
    (at_least(0), 0),
    (one_of(("a", "b")), "b"),
    (multiple_of(3, "heads"), 3),
    (multiple_of(3, "heads"), 9),
    (optional(at_least(1)), None),
    (optional(at_least(1)), 1),
]
REJECTED = [
    (fraction, 1),
    (fraction, -0.1),
    (fraction, True),
    (fraction, "0.5"),
    (fraction, None),
    (fraction, NAN),
    (probability, 1.1),
    (probability, -0.1),
    (probability, False),
    (probability, "1"),
    (probability, NAN),
    (probability, [0.5]),
    (not_negative, -0.1),
    (not_negative, True),
    (not_negative, "1"),
    (not_negative, NAN),
    (not_negative, float("inf")),
    (whole_numbers, []),
    (whole_numbers, [0]),
    (whole_numbers, [1, 1.5]),
    (whole_numbers, 3),
    (whole_numbers, None),
    (probabilities, None),
    (probabilities, 0.5),
    (probabilities, [("PER", 0.5)]),
    (probabilities, {"PER": 0.5, "ORG": 1.5}),
    (probabilities, {"PER": "0.5"}),
    (text, ""),
    (text, None),
    (text, 3),
    (at_least(2), 1),
    (at_least(2), 2.0),
    (at_least(0), True),
    (at_least(0), "1"),
    (at_least(0), None),
    (one_of(("a", "b")), "c"),
    (multiple_of(3, "heads"), 0),
    (multiple_of(3, "heads"), 4),
    (multiple_of(3, "heads"), 3.0),
    (one_of(("a", "b")), ""),
    (one_of(("a", "b")), None),
    (one_of(("a", "b")), ["a"]),
    (optional(at_least(1)), 0),
    (optional(at_least(1)), "1"),
]


@pytest.mark.parametrize("rule, value", ACCEPTED)
def test_rule_accepts(rule: Rule, value: Any) -> None:
    assert rule.accepts(value)


@pytest.mark.parametrize("rule, value", REJECTED)
def test_rule_rejects(rule: Rule, value: Any) -> None:
    assert not rule.accepts(value)


@pytest.mark.parametrize(
    "rule, word",
    [
        (at_least(7), "7"),
        (multiple_of(7, "heads"), "7 heads"),
        (one_of(("flat", "any")), "'flat', 'any'"),
        (optional(at_least(7)), "null"),
    ],
)
def test_rule_says_what_is_expected(rule: Rule, word: str) -> None:
    assert word in rule.expected


@dataclass(frozen=True)
class Checked(Settings):
    """Settings with rules, but for one."""

    free: Any = None
    size: int = setting(2, at_least(1))
    rate: float = setting(0.5, fraction)
    sizes: List[int] = setting([1], whole_numbers)


def test_settings_name_the_first_value_that_breaks_its_rule() -> None:
    with pytest.raises(ValueError, match=r"\[SP002\] Setting 'size'.*at least 1.*0"):
        Checked(size=0, rate=2.0)


def test_settings_accept_defaults_good_values_and_fields_without_a_rule() -> None:
    assert Checked() == Checked(free=None, size=2, rate=0.5, sizes=[1])
    assert Checked(free="any", size=3).size == 3


def test_default_lists_of_settings_are_not_shared() -> None:
    Checked().sizes.append(2)
    assert Checked().sizes == [1]


@pytest.mark.parametrize(
    "name, value",
    [
        ("spans_key", ""),
        ("spans_key", None),
        ("threshold", 1.5),
        ("threshold", -0.5),
        ("threshold", "high"),
        ("label_thresholds", {"PER": 2}),
        ("label_thresholds", None),
        ("overlap", "crossing"),
        ("overlap", None),
        ("set_ents", "on"),
        ("set_ents", True),
        ("window", "paragraph"),
        ("window", None),
        ("max_window", 0),
        ("max_window", 12.5),
        ("stride", -1),
        ("stride", 0.5),
        ("max_cells", 0),
        ("max_cells", 1e6),
        ("seed", -1),
        ("seed", None),
        ("overwrite", "no"),
        ("label_thresholds", {1: 0.5}),
    ],
)
def test_settings_reject_a_wrong_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"SP002.*'{name}'"):
        SpanSettings(**{name: value})


@pytest.mark.parametrize("stride", [8, 9])
def test_settings_reject_a_stride_that_does_not_advance(stride: int) -> None:
    with pytest.raises(
        ValueError, match=r"SP002.*'stride'.*smaller than max_window \(8\)"
    ):
        SpanSettings(max_window=8, stride=stride)


def test_settings_accept_the_largest_stride() -> None:
    assert SpanSettings(max_window=8, stride=7).stride == 7


def test_settings_accept_the_smallest_windows() -> None:
    settings = SpanSettings(max_window=1, stride=0, max_cells=1)
    assert (settings.max_window, settings.stride, settings.max_cells) == (1, 0, 1)


@pytest.mark.parametrize(
    "name, value",
    [
        ("spans_key", "ents"),
        ("label_thresholds", {}),
        ("overlap", "nested"),
        ("set_ents", "off"),
        ("overwrite", True),
        ("window", "sentence"),
        ("max_window", 256),
        ("stride", 64),
    ],
)
def test_settings_have_the_promised_default(name: str, value: Any) -> None:
    assert getattr(SpanSettings(), name) == value


def test_settings_do_not_share_their_mapping() -> None:
    SpanSettings().label_thresholds["PER"] = 0.1
    assert SpanSettings().label_thresholds == {}


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SpanSettings().threshold = 0.1  # type: ignore[misc]


def test_settings_explain_each_of_their_fields() -> None:
    explained = [name for one in describe(SpanSettings) for name in one.names]
    assert explained == [one.name for one in fields(SpanSettings)]


# ------------------------------------------------------------------ made from settings


@dataclass(frozen=True)
class Example:
    """Settings of nothing.

    one, two (int): first line,
        second line.
    three (Optional[str]): with a (remark): and a colon.
    sizes (List[int]): not shared.
    """

    one: int = 1
    two: int = 2
    three: Optional[str] = None
    sizes: List[int] = field(default_factory=lambda: [1])


@dataclass(frozen=True)
class Further:
    """Other settings.

    two (float): not the same as before.
    """

    two: float = 0.5


def expanded(**defaults: Any) -> Any:
    def build(tok2vec: str, **settings: Any) -> Any:
        """Build it.

        tok2vec (str): the encoder.
        RAISES (ValueError): never.
        RETURNS (Any): what it got.
        """
        return tok2vec, settings

    expand(build, Example, Further, **defaults)
    return build


def test_describe_keeps_settings_of_one_text_together() -> None:
    assert list(describe(Example)) == [
        (["one", "two"], "first line, second line."),
        (["three"], "with a (remark): and a colon."),
        (["sizes"], "not shared."),
    ]


def test_documented_reads_arguments_but_no_results() -> None:
    assert documented(expanded()) == {
        "tok2vec": "the encoder.",
        "one": "first line, second line.",
        "two": "not the same as before.",
        "three": "with a (remark): and a colon.",
        "sizes": "not shared.",
    }


def test_documented_finds_nothing_without_a_docstring() -> None:
    assert documented(lambda: None) == {}


def test_defaults_are_not_shared() -> None:
    defaults_of(Example)["sizes"].append(2)
    assert defaults_of(Example) == {"one": 1, "two": 2, "three": None, "sizes": [1]}


def test_expand_gives_the_signature_names_types_and_defaults() -> None:
    build = expanded(one=7)
    parameters = inspect.signature(build).parameters
    assert list(parameters) == ["tok2vec", "one", "two", "three", "sizes"]
    found = {name: (one.annotation, one.default) for name, one in parameters.items()}
    assert found["tok2vec"] == (str, inspect.Parameter.empty)
    assert found["one"] == (int, 7)
    assert found["two"] == (float, 0.5)
    assert found["three"] == (Optional[str], None)
    assert found["sizes"] == (List[int], [1])
    assert get_type_hints(build)["two"] is float


def test_expand_puts_descriptions_between_arguments_and_results() -> None:
    lines = (expanded().__doc__ or "").splitlines()
    assert lines[:3] == ["Build it.", "", "tok2vec (str): the encoder."]
    assert lines[3] == "one, two (int): first line,"
    assert lines[-2].startswith("RAISES") and lines[-1].startswith("RETURNS")


def test_expanded_function_still_takes_what_it_is_given() -> None:
    assert expanded()("x", one=3) == ("x", {"one": 3})
