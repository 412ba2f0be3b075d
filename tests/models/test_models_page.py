"""docs/models.md leads to the files that implement the papers."""

import re
from pathlib import Path

import pytest

import spacy_spanner

PACKAGE = Path(spacy_spanner.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "models.md").read_text(encoding="utf8")
NAMED = sorted(set(re.findall(r"`(\w+/[\w/]+\.py)(?::(\w+))?`", PAGE)))


@pytest.mark.parametrize("path, name", NAMED)
def test_page_of_models_names_files_that_exist(path: str, name: str) -> None:
    code = (PACKAGE / path).read_text(encoding="utf8")
    assert not name or re.search(rf"^(def|class) {name}\b", code, re.MULTILINE)
