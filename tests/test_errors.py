"""Codes are unique, messages can be filled in, and each is raised by some test."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Dict, FrozenSet, List, Optional, Set, Type

import pytest

import spacy_spanner
from spacy_spanner.errors import Errors, Warnings

TESTS = Path(__file__).parent
PACKAGE = Path(spacy_spanner.__file__).parent


def own_codes(messages: Type) -> List[str]:
    return [name for name in vars(messages) if not name.startswith("_")]


def codes_of(messages: Type) -> List[str]:
    """The codes of a class and of the classes that it joins."""
    return [code for one in messages.__mro__ for code in own_codes(one)]


ERRORS, WARNINGS = codes_of(Errors), codes_of(Warnings)
MESSAGES = {
    **{code: getattr(Errors, code) for code in ERRORS},
    **{code: getattr(Warnings, code) for code in WARNINGS},
}


@cache
def found_in(folder: Path, pattern: str) -> FrozenSet[str]:
    """What a pattern with one group finds in the sources of a folder, without this
    file and the lists of messages.
    """
    paths = [*folder.rglob("*.py")]
    left_out = (Path(__file__), *(PACKAGE / "errors").iterdir())
    texts = [path.read_text(encoding="utf8") for path in paths if path not in left_out]
    return frozenset(code for text in texts for code in re.findall(pattern, text))


@cache
def values_given() -> Dict[str, List[Set[Optional[str]]]]:
    """The names of the values that each message gets, for each place of the package."""
    given = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call):
                used = re.fullmatch(
                    r"(Errors|Warnings)\.(\w+)\.format", ast.unparse(node.func)
                )
                if used:
                    names = {keyword.arg for keyword in node.keywords}
                    given[used.group(2)].append(names)
    return given


@pytest.mark.parametrize("code", MESSAGES)
def test_code_is_matched_by_a_test(code: str) -> None:
    assert code in found_in(TESTS, r"\b(S[PW]\d{3})\b")


@pytest.mark.parametrize("code", MESSAGES)
def test_code_is_used_by_the_package(code: str) -> None:
    assert code in found_in(PACKAGE, r"(?:Errors|Warnings)\.(\w+)")


@pytest.mark.parametrize("code", MESSAGES)
def test_code_leads_its_message_once(code: str) -> None:
    assert MESSAGES[code].startswith(f"[{code}] ")
    assert MESSAGES[code].count(f"[{code}]") == 1


@pytest.mark.parametrize("code", MESSAGES)
def test_message_can_be_filled_in(code: str) -> None:
    fields = {name for _, name, _, _ in Formatter().parse(MESSAGES[code]) if name}
    filled = MESSAGES[code].format(**{name: f"<{name}>" for name in fields})
    assert fields
    assert all(f"<{name}>" in filled for name in fields)


@pytest.mark.parametrize("code", MESSAGES)
def test_message_gets_all_its_values_wherever_it_is_used(code: str) -> None:
    fields = {name for _, name, _, _ in Formatter().parse(MESSAGES[code]) if name}
    given = values_given()[code]
    assert given
    assert all(names == fields for names in given)


def test_codes_have_their_prefix_and_rise() -> None:
    for codes, prefix in ((ERRORS, "SP"), (WARNINGS, "SW")):
        assert all(re.fullmatch(rf"{prefix}\d\d\d", code) for code in codes)
        assert len(codes) == len(set(codes))
    for part in (*Errors.__bases__, *Warnings.__bases__):
        assert own_codes(part)
        assert own_codes(part) == sorted(own_codes(part))


def test_codes_are_defined_once() -> None:
    parts = (PACKAGE / "errors").glob("*.py")
    text = "\n".join(part.read_text(encoding="utf8") for part in parts)
    defined = re.findall(r"^    (S[PW]\d{3}) = ", text, flags=re.MULTILINE)
    assert len(defined) == len(set(defined)) == len(MESSAGES)


def test_message_of_unknown_code_is_an_error() -> None:
    with pytest.raises(AttributeError):
        _ = Errors.SP999  # type: ignore[attr-defined]
