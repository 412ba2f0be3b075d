"""The text of a config: it reads back, and comments stand where they belong."""

from typing import Any, Dict

import pytest
from spacy.util import load_config_from_str

from spacy_spanner.preflight.config_text import config_text, value_text

CONFIG: Dict[str, Any] = {
    "training": {"seed": "${system.seed}", "score_weights": {}, "rate": 0.00005},
    "system": {"seed": 0},
    "extra": {"names": ["ä", "b"], "path": None, "inner": {"@x": "y.v1", "on": True}},
}


def test_text_reads_back() -> None:
    text = config_text(CONFIG, "A config", {})
    assert load_config_from_str(text, interpolate=False) == CONFIG


def test_sections_are_in_order_and_comments_above() -> None:
    comments = {
        "system": {"seed": "one\ntwo"},
        "extra.inner": {"": "a block " * 20, "on": "a switch"},
        "elsewhere": {"seed": "not here"},
    }
    lines = config_text(CONFIG, "A config\n" + "long " * 30, comments).splitlines()
    assert lines[:2] == ["# A config", "# " + "long " * 30]
    heads = [line for line in lines if line.startswith("[")]
    assert heads == [
        "[system]",
        "[training]",
        "[training.score_weights]",
        "[extra]",
        "[extra.inner]",
    ]
    place = lines.index("seed = 0")
    assert lines[place - 2 : place] == ["# one", "# two"]
    place = lines.index("[extra.inner]")
    assert lines[place - 3] == ""
    assert all(
        line.startswith("# a") or "block" in line for line in lines[place - 2 : place]
    )
    assert max(map(len, lines[2:])) <= 88
    assert lines[lines.index("on = true") - 1] == "# a switch"
    assert "not here" not in "\n".join(lines)


@pytest.mark.parametrize(
    "value, expected",
    [
        (1e-8, "0.00000001"),
        (1.0, "1.0"),
        (20_000, "20000"),
        (None, "null"),
        (True, "true"),
        ("a b", '"a b"'),
        ("${paths.train}", "${paths.train}"),
        ("a ${paths.train}", '"a ${paths.train}"'),
        ([1, 2], "[1, 2]"),
    ],
)
def test_value_text(value: Any, expected: str) -> None:
    assert value_text(value) == expected
